// Unicode's normal form C (NFC): one spelling of each text that can be spelt in several ways.
//
//   e U+0301               ->  U+00E9           a letter and its accent are one character
//   U+212B (angstrom)      ->  U+00C5           of two equal characters, the one that is preferred
//   a U+0301 U+0323        ->  U+1EA1 U+0301    marks in an order that is the same for all
//   U+1112 U+1161 U+11AB   ->  U+D55C           the letters of a Korean syllable
//
// A model that was trained on texts in this form knows the tokens of U+00E9, and hardly ever saw
// those of an e with U+0301 after it. Nearly all text is in this form already.
//
// How: each character is taken apart, marks are sorted by their classes, and what there is then is
// put together again. What is known of characters comes from utf8proc (2.8: Unicode 15). A later
// version of Unicode changes nothing but for characters that an earlier one did not have. Hugging
// Face's `tokenizers` 0.23 does the same with the characters of Unicode 9, of 2016: marks that are
// newer it leaves where they are. Source: https://www.unicode.org/reports/tr15/.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>

namespace forge::text::detail {

/// At most this many bytes of a text become one byte of its normal form C: U+1FBE U+0308 U+0301, of
/// 7 bytes, are U+0390, of 2.
inline constexpr std::size_t kComposedBytesMax = 4;

/// The others of Unicode's four normal forms: taken apart and not put together (D), and with
/// characters that only look different as those that they stand for (KC, KD: U+FB01 is "fi").
enum class NormalForm { c, d, kc, kd };

/// `text` in this form. Bytes that are not valid UTF-8 stay as they are, and what is before and
/// after them is composed as two texts. O(n log m) for n bytes and at most m marks in a row; where
/// all is ASCII, a look at each byte.
std::string normal_form(std::string text, NormalForm form);
inline std::string composed(std::string text) {
  return normal_form(std::move(text), NormalForm::c);
}

/// Each character as its lower case has it.
std::string lower_case(std::string_view text);

/// `text` without its combining marks (Unicode's general category M).
std::string without_marks(std::string_view text);

}  // namespace forge::text::detail
