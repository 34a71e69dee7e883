#include "serve_counts.h"

#include <algorithm>

namespace forge::serve {

void ServeCounts::add_answer(const Asked& asked, unsigned status) {
  const bool is_other = method_label(asked.method) == method_label(http::verb::unknown);
  ++answers[{asked.route, is_other ? http::verb::unknown : asked.method, status / 100}];
}

void ServeCounts::add_request(const CompletionRequest& request,
                              std::span<const std::uint32_t> tokens) {
  for (std::size_t first = 0; first < tokens.size(); first += request.best_of) {
    choices.add(request.n);
    longest_choice.add(std::ranges::max(tokens.subspan(first, request.best_of)));
  }
}

std::string_view method_label(http::verb method) {
  switch (method) {
    case http::verb::get:
    case http::verb::head:
    case http::verb::post:
    case http::verb::delete_:
    case http::verb::options:
      return view(http::to_string(method));
    default:
      return "other";
  }
}

}  // namespace forge::serve
