// UTF-8 to characters and back.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace forge::grammar {

/// nullopt where `text` is not UTF-8.
inline std::optional<std::u32string> characters_of(std::string_view text) {
  std::u32string result;
  result.reserve(text.size());
  for (std::size_t i = 0; i < text.size();) {
    const auto lead = static_cast<unsigned char>(text[i]);
    const int more = lead < 0x80 ? 0 : lead < 0xC2 ? -1 : lead < 0xE0 ? 1 : lead < 0xF0 ? 2 : 3;
    if (more < 0 || lead > 0xF4 || i + static_cast<std::size_t>(more) >= text.size()) {
      return std::nullopt;
    }
    constexpr unsigned kLeadBits[] = {0x7F, 0x1F, 0x0F, 0x07};
    char32_t c = lead & kLeadBits[more];
    for (int k = 1; k <= more; ++k) {
      const auto byte = static_cast<unsigned char>(text[i + static_cast<std::size_t>(k)]);
      if ((byte & 0xC0U) != 0x80) return std::nullopt;
      c = c << 6 | (byte & 0x3FU);
    }
    constexpr char32_t kLeast[] = {0, 0x80, 0x800, 0x10000};
    if (c < kLeast[more] || c > 0x10FFFF || (c >= 0xD800 && c <= 0xDFFF)) return std::nullopt;
    result.push_back(c);
    i += static_cast<std::size_t>(more) + 1;
  }
  return result;
}

inline void append_utf8(std::string& out, char32_t c) {
  const auto byte = [&](char32_t bits) { out.push_back(static_cast<char>(bits)); };
  if (c < 0x80) {
    byte(c);
  } else if (c < 0x800) {
    byte(0xC0 | c >> 6), byte(0x80 | (c & 0x3F));
  } else if (c < 0x10000) {
    byte(0xE0 | c >> 12), byte(0x80 | (c >> 6 & 0x3F)), byte(0x80 | (c & 0x3F));
  } else {
    byte(0xF0 | c >> 18), byte(0x80 | (c >> 12 & 0x3F));
    byte(0x80 | (c >> 6 & 0x3F)), byte(0x80 | (c & 0x3F));
  }
}

}  // namespace forge::grammar
