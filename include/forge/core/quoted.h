// Text from outside, as a message shows it: one line of printable ASCII, cut if it is long.
//
// Names of a file's tensors, keys of JSON, paths of requests and values of flags all come from
// outside. A message that took them as they are could be forged, or fill a log.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace forge {

inline constexpr std::size_t kShownBytes = 64;

/// The first kShownBytes of `text`, with each byte that is not printable ASCII as \xNN; "..."
/// follows if there are more.
std::string printable(std::string_view text);

/// The same in quotes: 'llama.block_count'.
inline std::string in_quotes(std::string_view text) { return "'" + printable(text) + "'"; }

}  // namespace forge
