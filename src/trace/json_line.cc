#include "json_line.h"

#include <algorithm>

namespace forge::trace::detail {
namespace {

/// Deepest nesting of brackets outside strings. A parser pays for depth with memory (and, when
/// the value is used, stack), so depth is bounded before it runs.
int depth(std::string_view text) {
  int open = 0;
  int deepest = 0;
  bool in_string = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (in_string) {
      if (c == '\\') ++i;
      if (c == '"') in_string = false;
    } else if (c == '"') {
      in_string = true;
    } else if (c == '[' || c == '{') {
      deepest = std::max(deepest, ++open);
    } else if (c == ']' || c == '}') {
      --open;
    }
  }
  return deepest;
}

}  // namespace

tl::expected<nlohmann::json, TraceError> parse_line(std::string_view text,
                                                    const TracePlace& place) {
  const auto error = [&](std::uint64_t within, std::string message) {
    return tl::unexpected(TraceError{place.line, place.byte + within, std::move(message)});
  };
  if (depth(text) > TraceReader::kMaxDepth) {
    return error(0, "nested deeper than " + std::to_string(TraceReader::kMaxDepth));
  }
  try {
    return nlohmann::json::parse(text);
  } catch (const nlohmann::json::parse_error& e) {
    return error(e.byte > 0 ? e.byte - 1 : 0, "not JSON");
  } catch (const nlohmann::json::exception&) {  // a number beyond a double
    return error(0, "not JSON that can be read");
  }
}

}  // namespace forge::trace::detail
