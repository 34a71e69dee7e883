#include "normal_form.h"

#include <utf8proc.h>

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <vector>

#include "forge/core/check.h"
#include "utf8_text.h"

namespace forge::text::detail {
namespace {

using Point = utf8proc_int32_t;

/// Joins nothing that is before it. But it is next to the consonants that end a Korean syllable,
/// and utf8proc 2.8 takes it for one and loses it.
constexpr Point kNoFinalConsonant = 0x11A7;

/// Appends what `point` is made of, itself if it has no parts.
void take_apart(Point point, bool compatible, std::vector<Point>& points) {
  Point parts[32];  // at most four, of Greek vowels; 18 of U+FDFA, which stands for words
  int boundclass = UTF8PROC_BOUNDCLASS_START;
  const utf8proc_ssize_t count = utf8proc_decompose_char(
      point, parts, static_cast<utf8proc_ssize_t>(std::size(parts)),
      static_cast<utf8proc_option_t>(UTF8PROC_DECOMPOSE | (compatible ? UTF8PROC_COMPAT : 0)),
      &boundclass);
  FORGE_CHECK(count >= 1 && count <= static_cast<utf8proc_ssize_t>(std::size(parts)),
              "the character ", point, " has ", count, " parts");
  points.insert(points.end(), parts, parts + count);
}

/// Sorts each run of marks. utf8proc would, too, but by exchanging neighbours, in the square of the
/// length of a run.
void order_marks(std::vector<Point>& points) {
  const auto class_of = [](Point point) { return utf8proc_get_property(point)->combining_class; };
  const auto is_mark = [&](Point point) { return class_of(point) != 0; };
  auto begin = std::find_if(points.begin(), points.end(), is_mark);
  while (begin != points.end()) {
    const auto end = std::find_if_not(begin, points.end(), is_mark);
    std::stable_sort(begin, end, [&](Point a, Point b) { return class_of(a) < class_of(b); });
    begin = std::find_if(end, points.end(), is_mark);
  }
}

/// Puts parts together, if the form asks for it, appends the characters to `out`, and leaves no
/// parts.
void append_ordered(std::vector<Point>& points, bool compose, std::string& out) {
  order_marks(points);
  if (compose) {
    const utf8proc_ssize_t count = utf8proc_normalize_utf32(
        points.data(), static_cast<utf8proc_ssize_t>(points.size()),
        static_cast<utf8proc_option_t>(UTF8PROC_COMPOSE | UTF8PROC_STABLE));
    FORGE_CHECK(count >= 0, "composing failed with ", count);
    points.resize(static_cast<std::size_t>(count));
  }
  for (const Point point : points) append_utf8(out, static_cast<std::uint32_t>(point));
  points.clear();
}

bool is_ascii(char byte) { return static_cast<unsigned char>(byte) < 0x80; }

/// A character, or a byte that begins none.
struct Character {
  Point point = -1;
  std::size_t bytes = 1;
};

Character first_character(std::string_view text) {
  Point point = 0;
  const utf8proc_ssize_t length =
      utf8proc_iterate(reinterpret_cast<const utf8proc_uint8_t*>(text.data()),
                       static_cast<utf8proc_ssize_t>(text.size()), &point);
  if (length < 1) return {};
  return {point, static_cast<std::size_t>(length)};
}

}  // namespace

std::string normal_form(std::string text, NormalForm form) {
  if (std::ranges::all_of(text, is_ascii)) return text;
  const bool compose = form == NormalForm::c || form == NormalForm::kc;
  const bool compatible = form == NormalForm::kc || form == NormalForm::kd;
  std::string out;
  std::vector<Point> points;
  for (std::size_t at = 0; at < text.size();) {
    const auto [point, bytes] = first_character(std::string_view(text).substr(at));
    if (point < 0) {
      append_ordered(points, compose, out);
      out += text[at++];
      continue;
    }
    if (point == kNoFinalConsonant) append_ordered(points, compose, out);
    take_apart(point, compatible, points);
    at += bytes;
  }
  append_ordered(points, compose, out);
  return out;
}

std::string lower_case(std::string_view text) {
  constexpr Point kCapitalIWithDot = 0x130;  // the one whose lower case is two characters
  std::string out;
  out.reserve(text.size());
  for (std::size_t at = 0; at < text.size();) {
    const auto [point, bytes] = first_character(text.substr(at));
    if (point < 0) {
      out += text[at];
    } else if (point == kCapitalIWithDot) {
      out += "i\u0307";
    } else {
      append_utf8(out, static_cast<std::uint32_t>(utf8proc_tolower(point)));
    }
    at += bytes;
  }
  return out;
}

std::string without_marks(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (std::size_t at = 0; at < text.size();) {
    const auto [point, bytes] = first_character(text.substr(at));
    const auto category = point < 0 ? UTF8PROC_CATEGORY_CN : utf8proc_category(point);
    const bool is_mark = category == UTF8PROC_CATEGORY_MN || category == UTF8PROC_CATEGORY_MC ||
                         category == UTF8PROC_CATEGORY_ME;
    if (!is_mark) out += text.substr(at, bytes);
    at += bytes;
  }
  return out;
}

}  // namespace forge::text::detail
