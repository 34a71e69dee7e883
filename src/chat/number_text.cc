// Numbers as formats want them.
#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>

#include "format.h"
#include "unicode.h"

namespace forge::chat::detail {
namespace {

/// Without the zeros at the end of the fraction, and without the point if nothing is left of it.
void cut_zeros(std::string& text) {
  const std::size_t e = text.find_first_of("eE");
  std::string exponent = e == std::string::npos ? "" : text.substr(e);
  if (e != std::string::npos) text.resize(e);
  if (text.find('.') != std::string::npos) {
    text.erase(text.find_last_not_of('0') + 1);
    if (text.back() == '.') text.pop_back();
  }
  text += exponent;
}

std::string with_format(double value, std::chars_format format, int precision) {
  std::string buffer(static_cast<std::size_t>(precision) + 400, '\0');
  const auto [end, error] =
      std::to_chars(buffer.data(), buffer.data() + buffer.size(), value, format, precision);
  buffer.resize(static_cast<std::size_t>(end - buffer.data()));
  return buffer;
}

std::string general(double value, int precision, bool alternate) {
  precision = std::max(precision, 1);
  std::string scientific = with_format(value, std::chars_format::scientific, precision - 1);
  const std::size_t e = scientific.find('e');
  int exponent = 0;
  const char* const digits = scientific.data() + e + (scientific[e + 1] == '+' ? 2 : 1);
  std::from_chars(digits, scientific.data() + scientific.size(), exponent);
  constexpr int kLeast = -4;
  const bool is_fixed = exponent >= kLeast && exponent < precision;
  std::string text = is_fixed
                         ? with_format(value, std::chars_format::fixed, precision - 1 - exponent)
                         : std::move(scientific);
  if (!alternate) cut_zeros(text);
  return text;
}

}  // namespace

std::string double_text(double value, char kind, int precision, bool alternate) {
  const bool is_capital = kind == 'E' || kind == 'F' || kind == 'G';
  std::string text;
  if (std::isnan(value)) {
    text = "nan";
  } else if (std::isinf(value)) {
    text = value < 0 ? "-inf" : "inf";
  } else if (kind == 'e' || kind == 'E') {
    text = with_format(value, std::chars_format::scientific, precision);
  } else if (kind == 'g' || kind == 'G') {
    text = general(value, precision, alternate);
  } else {
    text = with_format(value, std::chars_format::fixed, precision);
  }
  return is_capital ? upper(text) : text;
}

std::string integer_text(std::int64_t value, char kind) {
  std::array<char, 70> buffer{};
  const int base = kind == 'x' || kind == 'X' ? 16 : kind == 'o' ? 8 : kind == 'b' ? 2 : 10;
  const std::uint64_t size =
      value < 0 ? 0 - static_cast<std::uint64_t>(value) : static_cast<std::uint64_t>(value);
  const auto end = std::to_chars(buffer.data(), buffer.data() + buffer.size(), size, base).ptr;
  std::string text(buffer.data(), end);
  return kind == 'X' ? upper(text) : text;
}

std::string padded(Budget& budget, std::string text, const Padding& padding) {
  const auto size = static_cast<std::int64_t>(count_characters(text));
  if (size >= padding.width) return text;
  const auto missing = static_cast<std::uint64_t>(padding.width - size);
  budget.make(missing, padding.fill.size());
  const auto fill = [&](std::uint64_t count) {
    std::string out;
    out.reserve(count * padding.fill.size());
    for (std::uint64_t i = 0; i < count; ++i) out += padding.fill;
    return out;
  };
  if (padding.align == '<') return text + fill(missing);
  if (padding.align == '^') return fill(missing / 2) + text + fill(missing - missing / 2);
  const bool after_sign =
      padding.align == '=' && !text.empty() && (text[0] == '-' || text[0] == '+' || text[0] == ' ');
  if (after_sign) return text.substr(0, 1) + fill(missing) + text.substr(1);
  return fill(missing) + text;
}

std::string grouped(const std::string& digits, char separator) {
  std::size_t end = 0;
  while (end < digits.size() && digits[end] >= '0' && digits[end] <= '9') ++end;
  std::string out;
  for (std::size_t i = 0; i < end; ++i) {
    if (i > 0 && (end - i) % 3 == 0) out += separator;
    out += digits[i];
  }
  return out + digits.substr(end);
}

}  // namespace forge::chat::detail
