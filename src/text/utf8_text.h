// Characters of text that is valid UTF-8.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace forge::text::detail {

inline constexpr std::size_t kCharacterBytesMax = 4;

/// Bytes of the character that begins with `lead`.
inline std::size_t character_bytes(char lead) {
  const auto byte = static_cast<unsigned char>(lead);
  return byte < 0x80 ? 1 : byte < 0xE0 ? 2 : byte < 0xF0 ? 3 : 4;
}

/// The code point of the first character. Requires: text is not empty.
std::uint32_t first_code_point(std::string_view text);

/// Requires: a code point that UTF-8 can say.
void append_utf8(std::string& out, std::uint32_t code_point);

/// Whether no part of `bytes` is ill-formed (utf8_stream.h).
bool is_valid_utf8(std::string_view bytes);

/// Bytes of white space (Unicode property White_Space) at the end or the start of `text`.
std::size_t trailing_space(std::string_view text);
std::size_t leading_space(std::string_view text);

}  // namespace forge::text::detail
