// Numbers as Python reads and computes them.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "value.h"

namespace forge::chat::detail {

/// The value of digits that are a floating-point number; too large is infinity, too small 0.
double double_of_digits(std::string_view digits);

/// int(text, base) and float(text); nothing where Python refuses the text.
/// Errors (raised): the integer needs more than 64 bits.
std::optional<std::int64_t> parse_integer(std::string_view text, int base);
std::optional<double> parse_double(std::string_view text);

/// int(value): towards 0. Errors (raised): OverflowError or ValueError.
std::int64_t truncated(double value);

/// a + b and so on, of numbers. Errors (raised): the integer needs more than 64 bits; a division by
/// zero.
Value arithmetic(std::string_view op, const Value& a, const Value& b);
Value negated(const Value& a);

/// round(value, digits), half to even of the decimal value; `digits` may be below 0.
double rounded(double value, std::int64_t digits);

}  // namespace forge::chat::detail
