// Text from a file, for a message about it.
#pragma once

#include <string>
#include <string_view>

namespace forge::formats::detail {

/// At most 64 bytes of `text`, what is not printable ASCII as \xNN.
std::string printable(std::string_view text);

/// The same in quotes: 'llama.block_count'.
inline std::string shown(std::string_view text) { return "'" + printable(text) + "'"; }

}  // namespace forge::formats::detail
