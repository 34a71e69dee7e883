#include "numbers.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <limits>
#include <string>

#include "string_literal.h"
#include "unicode.h"

namespace forge::chat::detail {
namespace {

[[noreturn]] void too_large() {
  raise(Exception::limit, "an integer needs more than 64 bits, which is not supported");
}

std::int64_t floor_division(std::int64_t a, std::int64_t b) {
  if (b == -1) {
    if (a == std::numeric_limits<std::int64_t>::min()) too_large();
    return -a;
  }
  const std::int64_t quotient = a / b;
  return a % b != 0 && (a < 0) != (b < 0) ? quotient - 1 : quotient;
}

std::int64_t floor_remainder(std::int64_t a, std::int64_t b) {
  if (b == -1) return 0;
  const std::int64_t remainder = a % b;
  return remainder != 0 && (remainder < 0) != (b < 0) ? remainder + b : remainder;
}

double floor_remainder(double a, double b) {
  const double remainder = std::fmod(a, b);
  if (remainder == 0) return std::copysign(0.0, b);
  return (remainder < 0) != (b < 0) ? remainder + b : remainder;
}

double floor_division(double a, double b) {
  const double remainder = std::fmod(a, b);
  double quotient = (a - remainder) / b;
  if (remainder != 0 && (remainder < 0) != (b < 0)) quotient -= 1;
  if (quotient == 0) return std::copysign(0.0, a / b);
  const double whole = std::floor(quotient);
  return quotient - whole > 0.5 ? whole + 1 : whole;
}

Value power(std::int64_t base, std::int64_t exponent) {
  if (exponent < 0) {
    if (base == 0) raise(Exception::other, "0.0 cannot be raised to a negative power");
    return Value(std::pow(static_cast<double>(base), static_cast<double>(exponent)));
  }
  if (base == 0 || base == 1) return Value(exponent == 0 ? std::int64_t{1} : base);
  if (base == -1) return Value(std::int64_t{exponent % 2 == 0 ? 1 : -1});
  std::int64_t result = 1;
  for (; exponent > 0; --exponent) {
    if (__builtin_mul_overflow(result, base, &result)) too_large();
  }
  return Value(result);
}

Value integer_arithmetic(std::string_view op, std::int64_t a, std::int64_t b) {
  std::int64_t result = 0;
  bool overflow = false;
  if (op == "+") {
    overflow = __builtin_add_overflow(a, b, &result);
  } else if (op == "-") {
    overflow = __builtin_sub_overflow(a, b, &result);
  } else if (op == "*") {
    overflow = __builtin_mul_overflow(a, b, &result);
  } else if (op == "**") {
    return power(a, b);
  } else {
    if (b == 0) {
      raise(Exception::other, op == "/"   ? "division by zero"
                              : op == "%" ? "integer modulo by zero"
                                          : "integer division or modulo by zero");
    }
    if (op == "/") return Value(static_cast<double>(a) / static_cast<double>(b));
    result = op == "%" ? floor_remainder(a, b) : floor_division(a, b);
  }
  if (overflow) too_large();
  return Value(result);
}

Value double_power(double a, double b) {
  if (a == 0 && b < 0) raise(Exception::other, "0.0 cannot be raised to a negative power");
  if (a < 0 && std::floor(b) != b && std::isfinite(b)) {
    raise(Exception::other, "complex numbers are not supported");
  }
  const double result = std::pow(a, b);
  if (std::isinf(result) && std::isfinite(a) && std::isfinite(b)) {
    raise(Exception::overflow, "(34, 'Numerical result out of range')");
  }
  return Value(result);
}

/// Digits as Python accepts them in int() and float(): white space around them, "_" between two.
std::optional<std::string> plain_digits(std::string_view text) {
  text = strip_left(strip_right(text));
  std::string digits;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '_') {
      digits += text[i];
      continue;
    }
    const bool between = i > 0 && i + 1 < text.size() && digit_value(text[i - 1]) < 36 &&
                         digit_value(text[i + 1]) < 36;
    if (!between) return std::nullopt;
  }
  return digits;
}

}  // namespace

double double_of_digits(std::string_view digits) {
  double value = 0;
  const auto read = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  if (read.ec != std::errc::result_out_of_range) return value;
  const std::size_t e = digits.find_first_of("eE");
  const bool is_small =
      e == std::string_view::npos ? digits.starts_with("0") : digits.substr(e + 1).starts_with("-");
  return is_small ? 0.0 : std::numeric_limits<double>::infinity();
}

std::optional<std::int64_t> parse_integer(std::string_view text, int base) {
  const auto plain = plain_digits(text);
  if (!plain) return std::nullopt;
  std::string_view digits = *plain;
  const bool negative = digits.starts_with('-');
  if (negative || digits.starts_with('+')) digits.remove_prefix(1);
  if (digits.size() > 2 && digits[0] == '0') {
    const char letter = static_cast<char>(digits[1] | 0x20);
    const int said = letter == 'x' ? 16 : letter == 'o' ? 8 : letter == 'b' ? 2 : 0;
    if (said != 0 && (base == said || base == 0)) {
      base = said;
      digits.remove_prefix(2);
    }
  }
  if (base == 0) base = 10;
  const bool valid = !digits.empty() && std::all_of(digits.begin(), digits.end(),
                                                    [&](char c) { return digit_value(c) < base; });
  if (!valid) return std::nullopt;
  std::int64_t value = 0;
  for (const char c : digits) {
    const int digit = negative ? -digit_value(c) : digit_value(c);
    if (__builtin_mul_overflow(value, base, &value) ||
        __builtin_add_overflow(value, digit, &value)) {
      too_large();
    }
  }
  return value;
}

std::optional<double> parse_double(std::string_view text) {
  const auto plain = plain_digits(text);
  if (!plain) return std::nullopt;
  std::string digits = lower(*plain);
  const bool negative = digits.starts_with('-');
  if (negative || digits.starts_with('+')) digits.erase(0, 1);
  double value = 0;
  if (digits == "inf" || digits == "infinity") {
    value = std::numeric_limits<double>::infinity();
  } else if (digits == "nan") {
    value = std::numeric_limits<double>::quiet_NaN();
  } else {
    if (digits.empty() || digits.find_first_not_of("0123456789.e+-") != std::string::npos ||
        digits[0] == '+' || digits[0] == '-') {
      return std::nullopt;
    }
    if (digits[0] == '.') digits.insert(0, "0");
    double unused = 0;
    const auto read = std::from_chars(digits.data(), digits.data() + digits.size(), unused);
    if (read.ptr != digits.data() + digits.size() || digits == "0.") return std::nullopt;
    value = double_of_digits(digits);
  }
  return negative ? -value : value;
}

std::int64_t truncated(double value) {
  if (std::isnan(value)) raise(Exception::value, "cannot convert float NaN to integer");
  if (std::isinf(value)) raise(Exception::overflow, "cannot convert float infinity to integer");
  constexpr double kTwoTo63 = 9223372036854775808.0;
  if (value >= kTwoTo63 || value < -kTwoTo63) too_large();
  return static_cast<std::int64_t>(value);
}

Value arithmetic(std::string_view op, const Value& a, const Value& b) {
  if (a.is_integer() && b.is_integer()) return integer_arithmetic(op, a.integer(), b.integer());
  const double x = a.floating();
  const double y = b.floating();
  if (op == "+") return Value(x + y);
  if (op == "-") return Value(x - y);
  if (op == "*") return Value(x * y);
  if (op == "**") return double_power(x, y);
  if (y == 0) {
    raise(Exception::other, op == "/"   ? "float division by zero"
                            : op == "%" ? "float modulo"
                                        : "float floor division by zero");
  }
  if (op == "/") return Value(x / y);
  return Value(op == "%" ? floor_remainder(x, y) : floor_division(x, y));
}

Value negated(const Value& a) {
  if (!a.is_integer()) return Value(-a.floating());
  return integer_arithmetic("-", 0, a.integer());
}

double rounded(double value, std::int64_t digits) {
  if (!std::isfinite(value)) return value;
  constexpr std::int64_t kMost = 330;
  if (digits > kMost) return value;
  if (digits < -kMost) return std::copysign(0.0, value);
  if (digits < 0) {
    // Decimal digits are cut from the exact value, which is an integer's.
    const double scale = std::pow(10.0, static_cast<double>(-digits));
    const double scaled = value / scale;
    double whole = std::nearbyint(scaled);
    if (std::fabs(scaled - std::trunc(scaled)) == 0.5) whole = 2 * std::nearbyint(scaled / 2);
    return whole * scale;
  }
  std::array<char, 700> buffer{};
  const auto [end, error] = std::to_chars(buffer.data(), buffer.data() + buffer.size(), value,
                                          std::chars_format::fixed, static_cast<int>(digits));
  double result = 0;
  std::from_chars(buffer.data(), end, result);
  return result;
}

}  // namespace forge::chat::detail
