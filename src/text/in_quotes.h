// Text from a file, for a message about it.
#pragma once

#include <string>
#include <string_view>

namespace forge::text::detail {

/// At most 64 bytes of `text` in quotes, what is not printable ASCII as \xNN.
std::string in_quotes(std::string_view text);

}  // namespace forge::text::detail
