#include "alphabet.h"

#include "utf8_text.h"

namespace forge::text::detail {
namespace {

constexpr bool spells_itself(std::uint32_t byte) {
  return (byte >= 0x21 && byte <= 0x7E) || (byte >= 0xA1 && byte <= 0xAC) ||
         (byte >= 0xAE && byte <= 0xFF);
}

/// [byte]: its character.
constexpr std::array<std::uint32_t, 256> all_spellings() {
  std::array<std::uint32_t, 256> points{};
  std::uint32_t next = 0x100;
  for (std::uint32_t byte = 0; byte < 256; ++byte) {
    points[byte] = spells_itself(byte) ? byte : next++;
  }
  return points;
}
constexpr std::array<std::uint32_t, 256> kSpellings = all_spellings();

/// [character]: its byte, or -1.
constexpr std::array<std::int16_t, 0x144> all_bytes() {
  std::array<std::int16_t, 0x144> bytes{};
  for (std::int16_t& byte : bytes) byte = -1;
  for (std::size_t byte = 0; byte < 256; ++byte) {
    bytes[kSpellings[byte]] = static_cast<std::int16_t>(byte);
  }
  return bytes;
}
constexpr std::array<std::int16_t, 0x144> kBytes = all_bytes();

std::optional<unsigned> hex_digit(char c) {
  if (c >= '0' && c <= '9') return static_cast<unsigned>(c - '0');
  if (c >= 'A' && c <= 'F') return static_cast<unsigned>(c - 'A') + 10U;
  return std::nullopt;
}

}  // namespace

std::string spelling_of_byte(unsigned char byte) {
  std::string out;
  append_utf8(out, kSpellings[byte]);
  return out;
}

std::optional<std::string> bytes_of_spelling(std::string_view spelling) {
  std::string bytes;
  for (std::size_t at = 0; at < spelling.size(); at += character_bytes(spelling[at])) {
    const std::uint32_t point = first_code_point(spelling.substr(at));
    if (point >= kBytes.size() || kBytes[point] < 0) return std::nullopt;
    bytes.push_back(static_cast<char>(kBytes[point]));
  }
  return bytes;
}

std::optional<unsigned char> byte_of_fallback(std::string_view spelling) {
  if (spelling.size() != 6 || !spelling.starts_with("<0x") || spelling[5] != '>') {
    return std::nullopt;
  }
  const auto high = hex_digit(spelling[3]);
  const auto low = hex_digit(spelling[4]);
  if (!high || !low) return std::nullopt;
  return static_cast<unsigned char>(*high * 16 + *low);
}

std::optional<unsigned char> Alphabet::missing_byte(std::string_view bytes) const {
  for (const char c : bytes) {
    const auto byte = static_cast<unsigned char>(c);
    if (!bytes_[byte]) return byte;
  }
  return std::nullopt;
}

std::optional<unsigned char> Alphabet::append_symbols(std::string_view text,
                                                      Symbols& symbols) const {
  return by_characters_ ? append_characters(text, symbols) : append_bytes(text, symbols);
}

std::optional<unsigned char> Alphabet::append_bytes(std::string_view text, Symbols& symbols) const {
  bool after_unknown = false;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    const bool known = bytes_[byte].has_value();
    if (!known && !unknown_) return byte;
    if (known) symbols.push_back(*bytes_[byte]);
    if (!known && !(fuse_unknown_ && after_unknown)) symbols.push_back(*unknown_);
    after_unknown = !known;
  }
  return std::nullopt;
}

std::optional<unsigned char> Alphabet::append_characters(std::string_view text,
                                                         Symbols& symbols) const {
  bool after_unknown = false;
  std::size_t bytes = 0;
  for (std::size_t at = 0; at < text.size(); at += bytes) {
    bytes = character_bytes(text[at]);
    const std::string_view character = text.substr(at, bytes);
    if (const auto* symbol = characters_.find(first_code_point(character))) {
      symbols.push_back(*symbol);
      after_unknown = false;
      continue;
    }
    const auto missing = missing_byte(character);
    if (missing && !unknown_) return missing;
    if (!missing) {
      for (const char c : character) symbols.push_back(*bytes_[static_cast<unsigned char>(c)]);
    } else if (!(fuse_unknown_ && after_unknown)) {
      symbols.push_back(*unknown_);
    }
    after_unknown = missing.has_value();
  }
  return std::nullopt;
}

}  // namespace forge::text::detail
