// The white space of JSON, and beside the marks of a template.
#pragma once

#include <string_view>

namespace forge::chat {

inline constexpr std::string_view kBlanks = " \t\r\n";

}  // namespace forge::chat
