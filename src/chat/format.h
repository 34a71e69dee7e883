// Python's two ways to format: text % values, and text.format(values).
#pragma once

#include <string>
#include <string_view>

#include "interpreter.h"

namespace forge::chat::detail {

/// format % values, where a tuple has several values and a dict has named ones.
Value percent_format(Interpreter& interpreter, const Value& format, const Value& values);

/// text.format(...): fields with attributes, items, conversions and specifications.
Value brace_format(Interpreter& interpreter, const Value& format, const Arguments& arguments);

/// A number to so many digits: kinds e, f, g and their capitals, and %.
std::string double_text(double value, char kind, int precision, bool alternate);

/// An integer to a base, without a sign.
std::string integer_text(std::int64_t value, char kind);

/// Fills `text` up to `width` characters. `align` is one of < > ^ =; the last fills after the sign.
struct Padding {
  std::string fill = " ";
  char align = '<';
  std::int64_t width = 0;
};
std::string padded(Budget& budget, std::string text, const Padding& padding);

/// "123" with `separator` between groups of three digits; a fraction stays as it is.
std::string grouped(const std::string& digits, char separator);

}  // namespace forge::chat::detail
