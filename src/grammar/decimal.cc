#include "decimal.h"

#include <algorithm>

namespace forge::grammar {

std::optional<Decimal> decimal_of(std::string_view text) {
  constexpr std::size_t kDigitsMax = 1000;
  Decimal result;
  if (text.starts_with('-')) {
    result.negative = true;
    text.remove_prefix(1);
  }
  const std::size_t mark = std::min(text.find_first_of("eE"), text.size());
  std::string_view exponent_text = text.substr(std::min(mark + 1, text.size()));
  text = text.substr(0, mark);
  const std::size_t point = std::min(text.find('.'), text.size());
  std::string digits(text.substr(0, point));
  if (point < text.size()) digits += text.substr(point + 1);
  const std::size_t leading = std::min(digits.find_first_not_of('0'), digits.size());
  const bool is_zero = leading == digits.size();
  if (is_zero) return Decimal();

  const bool down = exponent_text.starts_with('-');
  if (down || exponent_text.starts_with('+')) exponent_text.remove_prefix(1);
  std::size_t exponent = 0;
  for (const char c : exponent_text) {
    exponent = std::min(std::size_t{1'000'000}, exponent * 10 + static_cast<std::size_t>(c - '0'));
  }
  if (digits.size() + exponent > kDigitsMax) return std::nullopt;
  // The point moves within zeros on both sides.
  digits = std::string(exponent, '0') + digits + std::string(exponent, '0');
  const std::size_t at = down ? point : point + 2 * exponent;
  result.whole = digits.substr(0, at);
  result.fraction = digits.substr(at);
  result.whole.erase(0, std::min(result.whole.find_first_not_of('0'), result.whole.size()));
  result.fraction.erase(result.fraction.find_last_not_of('0') + 1);
  return result;
}

}  // namespace forge::grammar
