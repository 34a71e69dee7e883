#include "serve_counts.h"

#include <algorithm>

namespace forge::serve {

namespace {

/// "GET"; "other" for a method that no route takes.
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

}  // namespace

void ServeCounts::add_answer(const Asked& asked, unsigned status) {
  ++answers[{asked.route, method_label(asked.method), status / 100}];
}

void ServeCounts::add_message(const Route& route, unsigned status) {
  ++answers[{&route, kWebSocketMethod, status / 100}];
}

void ServeCounts::add_request(const CompletionRequest& request,
                              std::span<const std::uint32_t> tokens) {
  for (std::size_t first = 0; first < tokens.size(); first += request.best_of) {
    choices.add(request.n);
    longest_choice.add(std::ranges::max(tokens.subspan(first, request.best_of)));
  }
}

}  // namespace forge::serve
