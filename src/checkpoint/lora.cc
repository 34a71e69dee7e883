#include "forge/checkpoint/lora.h"

#include <charconv>
#include <cmath>
#include <optional>
#include <system_error>

#include "forge/core/quoted.h"

namespace forge::checkpoint {
namespace {

/// nullopt: it is not a finite number and nothing else.
std::optional<double> number_in(const std::string& text) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  const bool is_whole = error == std::errc() && end == text.data() + text.size();
  return is_whole && std::isfinite(value) ? std::optional(value) : std::nullopt;
}

}  // namespace

tl::expected<LoraSource, std::string> parse_lora(const std::string& text) {
  LoraSource out{.path = text};
  const std::size_t colon = text.rfind(':');
  if (colon != text.npos && text.find('/', colon) == text.npos) {
    const std::string scale = text.substr(colon + 1);
    const auto value = number_in(scale);
    if (!value) {
      return tl::unexpected("the scale " + in_quotes(scale) +
                            " of an adapter, accepted: a finite number, as in DIR:0.5");
    }
    out = {.path = text.substr(0, colon), .scale = *value};
  }
  if (out.path.empty()) {
    return tl::unexpected(in_quotes(text) + ", accepted: the folder of an adapter, DIR or DIR:0.5");
  }
  return out;
}

}  // namespace forge::checkpoint
