// What forge-infer says of itself at its start: the model and its memory to stderr, and to stdout
// where to ask it.
#pragma once

#include <string>

#include "forge/runtime/open.h"
#include "forge/serve/address.h"
#include "infer_options.h"

namespace forge::apps {

/// "http://127.0.0.1:8080", "unix:/run/forge/http.sock".
std::string place_of(const serve::Address& address, const InferOptions& options);

/// A line that says what runs where, and within which limits; then what memory it took, and what
/// was assumed of a file.
void print_model(Runtime& runtime, const InferOptions& options);

/// The line "listening on ...", the address of the page, and a request to try.
void print_welcome(const serve::Address& address, const std::string& model_id,
                   const InferOptions& options);

}  // namespace forge::apps
