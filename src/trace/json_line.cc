#include "json_line.h"

#include <nlohmann/json.hpp>

#include "forge/json/parse.h"

namespace forge::trace::detail {

tl::expected<nlohmann::json, TraceError> parse_line(std::string_view text,
                                                    const TracePlace& place) {
  return json::parse(text, TraceReader::kMaxDepth).map_error([&](const json::ParseError& error) {
    return TraceError{place.line, place.byte + error.byte.value_or(0), error.message};
  });
}

}  // namespace forge::trace::detail
