// Reply: a whole answer: JSON unless a header says otherwise, but for its framing ready to be sent.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "forge/engine/engine_loop.h"
#include "forge/serve/api_error.h"
#include "http_types.h"

namespace forge::serve {

struct Reply {
  unsigned status = 200;
  std::string body;
  std::vector<std::pair<http::field, std::string>> headers = {};
  /// Those that http::field has no name for.
  std::vector<std::pair<std::string, std::string>> named_headers = {};
};

Reply reply_of(const ApiError& error);
/// 503 for what this server cannot run now or any more, 400 for a request that never could be.
Reply reply_of(const engine::LoopError& error);

}  // namespace forge::serve
