// The value of a text in quotes, whose escapes are Python's.
#pragma once

#include <string>
#include <string_view>
#include <tl/expected.hpp>

namespace forge::chat::detail {

/// 0 .. 35 for a digit or an ASCII letter, else 36.
int digit_value(char c);

/// The value of what stands between the quotes. Errors: an escape is cut short, is of a character
/// that UTF-8 cannot say, or is \N.
tl::expected<std::string, std::string> string_literal(std::string_view text);

}  // namespace forge::chat::detail
