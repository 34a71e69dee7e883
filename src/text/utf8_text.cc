#include "utf8_text.h"

#include <algorithm>

namespace forge::text::detail {
namespace {

bool is_continuation(char c) { return (static_cast<unsigned char>(c) & 0xC0U) == 0x80; }

bool is_space(std::uint32_t point) {
  constexpr std::uint32_t kOthers[] = {0x20,   0x85,   0xA0,   0x1680, 0x2028,
                                       0x2029, 0x202F, 0x205F, 0x3000};
  return (point >= 0x09 && point <= 0x0D) || (point >= 0x2000 && point <= 0x200A) ||
         std::find(std::begin(kOthers), std::end(kOthers), point) != std::end(kOthers);
}

struct Form {
  std::uint32_t lowest;  // code point; what is below has a shorter form
  std::size_t bytes;
};

/// The form that a lead byte announces; of no bytes if no character begins so.
Form form_of(unsigned char lead) {
  if (lead >= 0xC2 && lead <= 0xDF) return {0x80, 2};
  if (lead >= 0xE0 && lead <= 0xEF) return {0x800, 3};
  if (lead >= 0xF0 && lead <= 0xF4) return {0x10000, 4};
  return {0, 0};
}

bool starts_with_character(std::string_view text, const Form& form) {
  if (form.bytes == 0 || text.size() < form.bytes) return false;
  if (!std::all_of(text.begin() + 1, text.begin() + static_cast<std::ptrdiff_t>(form.bytes),
                   is_continuation)) {
    return false;
  }
  const std::uint32_t point = first_code_point(text);
  return point >= form.lowest && point <= 0x10FFFF && (point < 0xD800 || point > 0xDFFF);
}

}  // namespace

std::uint32_t first_code_point(std::string_view text) {
  const auto lead = static_cast<unsigned char>(text[0]);
  const std::size_t bytes = character_bytes(text[0]);
  if (bytes == 1) return lead;
  std::uint32_t point = lead & (0xFFU >> (bytes + 1));
  for (std::size_t i = 1; i < bytes; ++i) {
    point = point << 6U | (static_cast<unsigned char>(text[i]) & 0x3FU);
  }
  return point;
}

void append_utf8(std::string& out, std::uint32_t code_point) {
  const auto tail = [&](unsigned shift) {
    out.push_back(static_cast<char>(0x80U | (code_point >> shift & 0x3FU)));
  };
  if (code_point < 0x80) {
    out.push_back(static_cast<char>(code_point));
  } else if (code_point < 0x800) {
    out.push_back(static_cast<char>(0xC0U | code_point >> 6U));
    tail(0);
  } else if (code_point < 0x10000) {
    out.push_back(static_cast<char>(0xE0U | code_point >> 12U));
    tail(6);
    tail(0);
  } else {
    out.push_back(static_cast<char>(0xF0U | code_point >> 18U));
    tail(12);
    tail(6);
    tail(0);
  }
}

bool is_valid_utf8(std::string_view bytes) {
  std::size_t at = 0;
  while (at < bytes.size()) {
    const auto lead = static_cast<unsigned char>(bytes[at]);
    if (lead < 0x80) {
      ++at;
      continue;
    }
    const Form form = form_of(lead);
    if (!starts_with_character(bytes.substr(at), form)) return false;
    at += form.bytes;
  }
  return true;
}

std::size_t trailing_space(std::string_view text) {
  std::size_t end = text.size();
  while (end > 0) {
    std::size_t start = end - 1;
    while (start > 0 && is_continuation(text[start])) --start;
    if (!is_space(first_code_point(text.substr(start)))) break;
    end = start;
  }
  return text.size() - end;
}

std::size_t leading_space(std::string_view text) {
  std::size_t at = 0;
  while (at < text.size() && is_space(first_code_point(text.substr(at)))) {
    at += character_bytes(text[at]);
  }
  return at;
}

}  // namespace forge::text::detail
