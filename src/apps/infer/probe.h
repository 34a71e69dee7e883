// --probe URL: asks a server how it is, as the health check of a container does, which need not
// have curl for it.
#pragma once

#include "http_url.h"

namespace forge::apps {

/// Asks for the URL's path, or /health/ready where it has none. Prints the answer's body, or to
/// stderr why there is none within 5 seconds. Returns the exit status: 0 for an answer of 200 to
/// 299, else 1. Whose certificate the server has does not matter: it is told nothing.
int probe(const HttpUrl& url);

}  // namespace forge::apps
