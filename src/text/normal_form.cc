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
void take_apart(Point point, std::vector<Point>& points) {
  Point parts[8];  // at most four, of Greek vowels
  int boundclass = UTF8PROC_BOUNDCLASS_START;
  const utf8proc_ssize_t count =
      utf8proc_decompose_char(point, parts, static_cast<utf8proc_ssize_t>(std::size(parts)),
                              UTF8PROC_DECOMPOSE, &boundclass);
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

/// Puts parts together, appends the characters to `out`, and leaves no parts.
void append_composed(std::vector<Point>& points, std::string& out) {
  order_marks(points);
  const utf8proc_ssize_t count =
      utf8proc_normalize_utf32(points.data(), static_cast<utf8proc_ssize_t>(points.size()),
                               static_cast<utf8proc_option_t>(UTF8PROC_COMPOSE | UTF8PROC_STABLE));
  FORGE_CHECK(count >= 0, "composing failed with ", count);
  points.resize(static_cast<std::size_t>(count));
  for (const Point point : points) append_utf8(out, static_cast<std::uint32_t>(point));
  points.clear();
}

bool is_ascii(char byte) { return static_cast<unsigned char>(byte) < 0x80; }

}  // namespace

std::string composed(std::string text) {
  if (std::ranges::all_of(text, is_ascii)) return text;
  const auto* const bytes = reinterpret_cast<const utf8proc_uint8_t*>(text.data());
  std::string out;
  std::vector<Point> points;
  for (std::size_t at = 0; at < text.size();) {
    Point point = 0;
    const utf8proc_ssize_t length =
        utf8proc_iterate(bytes + at, static_cast<utf8proc_ssize_t>(text.size() - at), &point);
    if (length < 1) {  // a byte that begins no character
      append_composed(points, out);
      out += text[at++];
      continue;
    }
    if (point == kNoFinalConsonant) append_composed(points, out);
    take_apart(point, points);
    at += static_cast<std::size_t>(length);
  }
  append_composed(points, out);
  return out;
}

}  // namespace forge::text::detail
