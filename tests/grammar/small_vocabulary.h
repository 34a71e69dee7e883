// A small vocabulary for tests, and what must hold of every grammar while a text is read.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "forge/core/check.h"
#include "forge/grammar/matcher.h"

namespace forge::grammar::testing {

/// All bytes, then tokens that cross from one part of JSON to the next, characters and parts of
/// them; the last token is the end.
inline std::vector<std::string> small_tokens() {
  std::vector<std::string> tokens;
  for (int byte = 0; byte < 256; ++byte) tokens.emplace_back(1, static_cast<char>(byte));
  for (const char* const token : {"\":",          "\",",      "\"}",
                                  "{\"",          "[{",       "]}",
                                  "}]",           "},",       "],",
                                  "[\"",          "\"]",      "\":\"",
                                  "\",\"",        "true",     "false",
                                  "null",         " true",    ": ",
                                  ", ",           "\n  ",     "  ",
                                  "[[",           "]]",       "}}",
                                  "[]",           "{}",       "\"\"",
                                  "12",           "123",      "0.",
                                  ".0",           "e+",       "-1",
                                  "1,",           "2]",       "3}",
                                  "ab",           "abc",      "foo",
                                  "bar",          " foo",     "foo\"",
                                  "bar\":",       "a\"",      "\"a",
                                  "\"foo",        "\"foo\":", "\\u",
                                  "\\u00",        "00e9",     "\\n",
                                  "\\\"",         "61",       "\xC3\xA9",
                                  "\xE2\x82",     "\x82\xAC", "\xF0\x9F\x98\x80",
                                  "\xF0\x9F",     "a\xC3",    "\"foo\":1,\"bar\":",
                                  "\"\":\"\",\"", "1e3",      "1.5",
                                  "2024-",        "-01",      ":3"}) {
    tokens.emplace_back(token);
  }
  tokens.emplace_back();
  return tokens;
}

inline VocabularyTokens views_of(const std::vector<std::string>& tokens) {
  VocabularyTokens views;
  views.tokens.assign(tokens.begin(), tokens.end());
  views.eos = {static_cast<std::uint32_t>(tokens.size() - 1)};
  return views;
}

inline const Vocabulary& small_vocabulary() {
  static const std::vector<std::string> kTokens = small_tokens();
  static const Vocabulary kVocabulary(views_of(kTokens));
  return kVocabulary;
}

inline bool accepts(const Grammar& grammar, std::string_view text) {
  Matcher matcher(grammar);
  return matcher.accept(text).has_value() && matcher.can_end();
}

inline bool has(const std::vector<std::uint32_t>& mask, std::uint32_t token) {
  return (mask[token / 32] >> token % 32 & 1U) != 0;
}

/// The mask must be what each token says when it is tried byte by byte.
inline void check_mask(const Matcher& matcher, const Vocabulary& vocabulary) {
  std::vector<std::uint32_t> mask(vocabulary.mask_words());
  const auto filled = matcher.fill_mask(vocabulary, mask);
  FORGE_CHECK(filled.has_value(), filled ? "" : filled.error().message);
  for (std::uint32_t token = 0; token < vocabulary.size(); ++token) {
    bool fits = matcher.can_end();
    if (!vocabulary.is_eos(token)) {
      Matcher copy = matcher;
      fits = !vocabulary.bytes_of(token).empty() &&
             copy.accept(vocabulary.bytes_of(token)).has_value();
    }
    FORGE_CHECK(fits == has(mask, token), "token ", token, " fits ", static_cast<int>(fits));
  }
}

/// Reads `text` as far as it goes, with a look at the masks where it begins, in the middle and
/// where it stops; then a closing text must end it.
inline void check_reading(const Grammar& grammar, std::string_view text) {
  Matcher matcher(grammar);
  check_mask(matcher, small_vocabulary());
  for (std::size_t i = 0; i < text.size() && i < 200; ++i) {
    const auto read = matcher.accept(text.substr(i, 1));
    if (!read && read.error().kind == MatchError::Kind::limit) return;
    if (!read) break;
    if (i == text.size() / 2) check_mask(matcher, small_vocabulary());
  }
  check_mask(matcher, small_vocabulary());
  // Its beginning is one of a text; all of it ends one.
  for (int round = 0; round < 100 && !matcher.can_end(); ++round) {
    const std::string rest = matcher.closing_text(500);
    FORGE_CHECK(!rest.empty());
    const auto read = matcher.accept(rest);
    FORGE_CHECK(read.has_value(), rest);
  }
}

}  // namespace forge::grammar::testing
