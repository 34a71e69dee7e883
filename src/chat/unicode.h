// What Python's str knows of characters: case, kinds, white space, lines. Text is valid UTF-8.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace forge::chat::detail {

/// Bytes of the character that begins with `lead`.
inline std::size_t character_bytes(char lead) {
  const auto byte = static_cast<unsigned char>(lead);
  return byte < 0x80 ? 1 : byte < 0xE0 ? 2 : byte < 0xF0 ? 3 : 4;
}

/// The first character of `text` and how many bytes it has. Requires: `text` is not empty.
struct Character {
  std::uint32_t code = 0;
  std::size_t bytes = 0;
};
Character first_character(std::string_view text);
/// The last one. Requires: `text` is not empty.
Character last_character(std::string_view text);

void append_character(std::string& out, std::uint32_t code);

/// The position of the first byte that is not well-formed UTF-8; npos where all of `text` is.
std::size_t first_ill_formed(std::string_view text);

std::size_t count_characters(std::string_view text);

bool is_space(std::uint32_t code);
bool is_alpha(std::uint32_t code);
bool is_decimal(std::uint32_t code);
bool is_digit(std::uint32_t code);
bool is_numeric(std::uint32_t code);
bool is_upper(std::uint32_t code);
bool is_lower(std::uint32_t code);
bool is_cased(std::uint32_t code);
bool is_printable(std::uint32_t code);
/// Whether a name may have it after its first character.
bool is_name_character(std::uint32_t code);

std::string upper(std::string_view text);
std::string lower(std::string_view text);
std::string swap_case(std::string_view text);
std::string capitalized(std::string_view text);
/// As str.title() has it: a word is a run of cased characters.
std::string title(std::string_view text);
/// Whether a character has case and all that have are of this one.
bool is_in_case(std::string_view text, bool upper_case);
std::string case_folded(std::string_view text);

/// `text` without white space at its start and its end.
std::string_view strip_left(std::string_view text);
std::string_view strip_right(std::string_view text);

/// The lines of str.splitlines(), with what ends them or without.
std::vector<std::string_view> split_lines(std::string_view text, bool keep_ends);

}  // namespace forge::chat::detail
