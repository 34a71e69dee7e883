// CORS: what a page of another site may ask, and read of the answer. Off without --cors-origin.
//
//   what the page's browser sends        what it gets
//   a preflight: OPTIONS, with Origin    204: the methods and the fields that it may send
//   a request, with Origin               its answer, marked as one that the page may read
//
// A preflight has an Access-Control-Request-Method, too. Browsers send no key with it, so none is
// asked for. An origin that is not allowed is answered as if there were no CORS: the browser keeps
// that from the page. Credentials of the browser's own (cookies) are never allowed; a page sends a
// key of its own. An allowed origin is no operator: where operators need no key (access.h), their
// routes have no CORS.
//
// Source: WHATWG Fetch, section "CORS protocol". Thread contract: pure functions.
#pragma once

#include <optional>
#include <string>

#include "forge/serve/http_options.h"
#include "http_types.h"
#include "reply.h"

namespace forge::serve {

/// What Access-Control-Allow-Origin says in the answer to this header; nothing where the answer is
/// not for a page. `has_keys`: the server asks for keys.
std::string allowed_origin(const HttpHeader& header, const HttpOptions& options, bool has_keys);

/// The answer to a preflight for a known path from an allowed origin; nothing if it is none.
std::optional<Reply> answer_preflight(const HttpHeader& header, const HttpOptions& options,
                                      bool has_keys);

}  // namespace forge::serve
