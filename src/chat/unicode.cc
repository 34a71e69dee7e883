#include "unicode.h"

#include <utf8proc.h>

#include <algorithm>
#include <array>

#include "long_cases.h"

namespace forge::chat::detail {
namespace {

struct CodeRange {
  std::uint32_t first;
  std::uint32_t last;
};

/// Digits that are no decimal digits: superscripts, digits in circles.
constexpr std::array<CodeRange, 20> kOtherDigits = {{
    {0x00B2, 0x00B3},   {0x00B9, 0x00B9},   {0x1369, 0x1371},   {0x19DA, 0x19DA},
    {0x2070, 0x2070},   {0x2074, 0x2079},   {0x2080, 0x2089},   {0x2460, 0x2468},
    {0x2474, 0x247C},   {0x2488, 0x2490},   {0x24EA, 0x24EA},   {0x24F5, 0x24FD},
    {0x24FF, 0x24FF},   {0x2776, 0x277E},   {0x2780, 0x2788},   {0x278A, 0x2792},
    {0x10A40, 0x10A43}, {0x10E60, 0x10E68}, {0x11052, 0x1105A}, {0x1F100, 0x1F10A},
}};

utf8proc_category_t category(std::uint32_t code) {
  return utf8proc_category(static_cast<utf8proc_int32_t>(code));
}

const LongCase* long_case(std::uint32_t code) {
  const auto* const found = std::lower_bound(
      std::begin(kLongCases), std::end(kLongCases), code,
      [](const LongCase& entry, std::uint32_t wanted) { return entry.character < wanted; });
  return found != std::end(kLongCases) && found->character == code ? found : nullptr;
}

void append_upper(std::string& out, std::uint32_t code) {
  if (const LongCase* const entry = code < 0x80 ? nullptr : long_case(code)) {
    out += entry->upper;
    return;
  }
  append_character(
      out, static_cast<std::uint32_t>(utf8proc_toupper(static_cast<utf8proc_int32_t>(code))));
}

void append_title(std::string& out, std::uint32_t code) {
  if (const LongCase* const entry = code < 0x80 ? nullptr : long_case(code)) {
    out += entry->title;
    return;
  }
  append_character(
      out, static_cast<std::uint32_t>(utf8proc_totitle(static_cast<utf8proc_int32_t>(code))));
}

/// Marks that do not begin or end a word: what Unicode calls case-ignorable, as far as text has it.
bool is_ignored_by_case(std::uint32_t code) {
  const auto kind = category(code);
  return kind == UTF8PROC_CATEGORY_MN || kind == UTF8PROC_CATEGORY_ME ||
         kind == UTF8PROC_CATEGORY_CF || kind == UTF8PROC_CATEGORY_LM ||
         kind == UTF8PROC_CATEGORY_SK || code == '\'' || code == '.' || code == ':' ||
         code == 0xB7 || code == 0x2019 || code == 0x2018 || code == 0x2024 || code == 0x2027;
}

/// A sigma is final after a cased character where none follows.
bool is_final_sigma(std::string_view text, std::size_t at) {
  bool before = false;
  for (std::string_view left = text.substr(0, at); !left.empty();) {
    const Character character = last_character(left);
    left.remove_suffix(character.bytes);
    if (is_ignored_by_case(character.code)) continue;
    before = is_cased(character.code);
    break;
  }
  if (!before) return false;
  for (std::string_view right = text.substr(at + 2); !right.empty();) {
    const Character character = first_character(right);
    right.remove_prefix(character.bytes);
    if (is_ignored_by_case(character.code)) continue;
    return !is_cased(character.code);
  }
  return true;
}

/// Appends the lower case of the character at `at`. What follows and precedes decides on a sigma.
void append_lower(std::string& out, std::string_view text, std::size_t at, std::uint32_t code) {
  constexpr std::uint32_t kCapitalSigma = 0x3A3;
  constexpr std::uint32_t kDottedCapitalI = 0x130;
  if (code == kDottedCapitalI) {
    out += "i\xCC\x87";
  } else if (code == kCapitalSigma) {
    append_character(out, is_final_sigma(text, at) ? 0x3C2 : 0x3C3);
  } else {
    append_character(
        out, static_cast<std::uint32_t>(utf8proc_tolower(static_cast<utf8proc_int32_t>(code))));
  }
}

template <class Append>
std::string mapped(std::string_view text, const Append& append) {
  std::string out;
  out.reserve(text.size());
  for (std::size_t at = 0; at < text.size();) {
    const Character character = first_character(text.substr(at));
    append(out, at, character.code);
    at += character.bytes;
  }
  return out;
}

}  // namespace

Character first_character(std::string_view text) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const std::size_t bytes = std::min(character_bytes(text[0]), text.size());
  if (bytes == 1) return {byte(0), 1};
  std::uint32_t code = byte(0) & (0x7FU >> bytes);
  for (std::size_t i = 1; i < bytes; ++i) code = code << 6 | (byte(i) & 0x3FU);
  return {code, bytes};
}

Character last_character(std::string_view text) {
  std::size_t at = text.size() - 1;
  while (at > 0 && (static_cast<unsigned char>(text[at]) & 0xC0U) == 0x80) --at;
  return first_character(text.substr(at));
}

void append_character(std::string& out, std::uint32_t code) {
  if (code < 0x80) {
    out += static_cast<char>(code);
    return;
  }
  std::array<utf8proc_uint8_t, 4> bytes{};
  const auto size = utf8proc_encode_char(static_cast<utf8proc_int32_t>(code), bytes.data());
  for (utf8proc_ssize_t i = 0; i < size; ++i) {
    out += static_cast<char>(bytes[static_cast<std::size_t>(i)]);
  }
}

std::size_t first_ill_formed(std::string_view text) {
  for (std::size_t at = 0; at < text.size();) {
    if (static_cast<unsigned char>(text[at]) < 0x80) {
      ++at;
      continue;
    }
    utf8proc_int32_t code = 0;
    const auto size = utf8proc_iterate(reinterpret_cast<const utf8proc_uint8_t*>(text.data()) + at,
                                       static_cast<utf8proc_ssize_t>(text.size() - at), &code);
    if (size <= 0) return at;
    at += static_cast<std::size_t>(size);
  }
  return std::string_view::npos;
}

std::size_t count_characters(std::string_view text) {
  return static_cast<std::size_t>(std::count_if(text.begin(), text.end(), [](char c) {
    return (static_cast<unsigned char>(c) & 0xC0U) != 0x80;
  }));
}

bool is_space(std::uint32_t code) {
  return (code >= 0x09 && code <= 0x0D) || (code >= 0x1C && code <= 0x20) || code == 0x85 ||
         code == 0xA0 || code == 0x1680 || (code >= 0x2000 && code <= 0x200A) || code == 0x2028 ||
         code == 0x2029 || code == 0x202F || code == 0x205F || code == 0x3000;
}

bool is_alpha(std::uint32_t code) {
  const auto kind = category(code);
  return kind >= UTF8PROC_CATEGORY_LU && kind <= UTF8PROC_CATEGORY_LO;
}

bool is_decimal(std::uint32_t code) { return category(code) == UTF8PROC_CATEGORY_ND; }

bool is_digit(std::uint32_t code) {
  if (is_decimal(code)) return true;
  return std::any_of(kOtherDigits.begin(), kOtherDigits.end(),
                     [&](CodeRange range) { return code >= range.first && code <= range.last; });
}

bool is_numeric(std::uint32_t code) {
  const auto kind = category(code);
  return kind == UTF8PROC_CATEGORY_ND || kind == UTF8PROC_CATEGORY_NL ||
         kind == UTF8PROC_CATEGORY_NO;
}

bool is_upper(std::uint32_t code) {
  return utf8proc_isupper(static_cast<utf8proc_int32_t>(code)) != 0 &&
         category(code) != UTF8PROC_CATEGORY_LT;
}

bool is_lower(std::uint32_t code) {
  return utf8proc_islower(static_cast<utf8proc_int32_t>(code)) != 0;
}

bool is_cased(std::uint32_t code) {
  return is_upper(code) || is_lower(code) || category(code) == UTF8PROC_CATEGORY_LT;
}

bool is_printable(std::uint32_t code) {
  if (code == ' ') return true;
  switch (category(code)) {
    case UTF8PROC_CATEGORY_CC:
    case UTF8PROC_CATEGORY_CF:
    case UTF8PROC_CATEGORY_CS:
    case UTF8PROC_CATEGORY_CO:
    case UTF8PROC_CATEGORY_CN:
    case UTF8PROC_CATEGORY_ZL:
    case UTF8PROC_CATEGORY_ZP:
    case UTF8PROC_CATEGORY_ZS:
      return false;
    default:
      return true;
  }
}

bool is_name_character(std::uint32_t code) {
  return code == '_' || is_alpha(code) || is_numeric(code) ||
         category(code) == UTF8PROC_CATEGORY_MN || category(code) == UTF8PROC_CATEGORY_MC;
}

std::string upper(std::string_view text) {
  return mapped(text, [](std::string& out, std::size_t /*at*/, std::uint32_t code) {
    append_upper(out, code);
  });
}

std::string lower(std::string_view text) {
  return mapped(text, [&](std::string& out, std::size_t at, std::uint32_t code) {
    append_lower(out, text, at, code);
  });
}

std::string swap_case(std::string_view text) {
  return mapped(text, [&](std::string& out, std::size_t at, std::uint32_t code) {
    if (is_upper(code)) {
      append_lower(out, text, at, code);
    } else if (is_lower(code)) {
      append_upper(out, code);
    } else {
      append_character(out, code);
    }
  });
}

std::string capitalized(std::string_view text) {
  return mapped(text, [&](std::string& out, std::size_t at, std::uint32_t code) {
    if (at == 0) {
      append_title(out, code);
    } else {
      append_lower(out, text, at, code);
    }
  });
}

std::string title(std::string_view text) {
  bool in_word = false;
  return mapped(text, [&](std::string& out, std::size_t at, std::uint32_t code) {
    if (in_word) {
      append_lower(out, text, at, code);
    } else {
      append_title(out, code);
    }
    in_word = is_cased(code);
  });
}

std::string case_folded(std::string_view text) {
  return mapped(text, [](std::string& out, std::size_t /*at*/, std::uint32_t code) {
    std::array<utf8proc_int32_t, 8> folded{};
    int boundary = 0;
    const auto count = utf8proc_decompose_char(static_cast<utf8proc_int32_t>(code), folded.data(),
                                               folded.size(), UTF8PROC_CASEFOLD, &boundary);
    for (utf8proc_ssize_t i = 0; i < count; ++i) {
      append_character(out, static_cast<std::uint32_t>(folded[static_cast<std::size_t>(i)]));
    }
  });
}

bool is_in_case(std::string_view text, bool upper_case) {
  bool any = false;
  while (!text.empty()) {
    const Character character = first_character(text);
    text.remove_prefix(character.bytes);
    if (!is_cased(character.code)) continue;
    if (!(upper_case ? is_upper(character.code) : is_lower(character.code))) return false;
    any = true;
  }
  return any;
}

std::string_view strip_left(std::string_view text) {
  while (!text.empty()) {
    const Character character = first_character(text);
    if (!is_space(character.code)) break;
    text.remove_prefix(character.bytes);
  }
  return text;
}

std::string_view strip_right(std::string_view text) {
  while (!text.empty()) {
    const Character character = last_character(text);
    if (!is_space(character.code)) break;
    text.remove_suffix(character.bytes);
  }
  return text;
}

std::vector<std::string_view> split_lines(std::string_view text, bool keep_ends) {
  std::vector<std::string_view> lines;
  std::size_t start = 0;
  for (std::size_t at = 0; at < text.size();) {
    const Character character = first_character(text.substr(at));
    const std::uint32_t code = character.code;
    const std::size_t end = at;
    at += character.bytes;
    const bool ends = (code >= 0x0A && code <= 0x0D) || (code >= 0x1C && code <= 0x1E) ||
                      code == 0x85 || code == 0x2028 || code == 0x2029;
    if (!ends) continue;
    if (code == '\r' && at < text.size() && text[at] == '\n') ++at;
    lines.push_back(text.substr(start, (keep_ends ? at : end) - start));
    start = at;
  }
  if (start < text.size()) lines.push_back(text.substr(start));
  return lines;
}

}  // namespace forge::chat::detail
