// Regular expressions against what they mean, and those that are refused.
#include <gtest/gtest.h>

#include <functional>
#include <random>

#include "grammar/small_vocabulary.h"

namespace forge::grammar {
namespace {

using testing::accepts;

std::string json_quoted(const std::string& text) {
  std::string result = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') result += '\\';
    result += c;
  }
  return result + "\"";
}

/// A regular expression and what it means: from a set of places in a text, a bit each, to the set
/// of places at which a match that begins at one of them may end. Texts are shorter than 31
/// characters.
struct Meant {
  using Ends = std::function<std::uint32_t(std::uint32_t begins, const std::string& text)>;
  std::string regex;
  Ends ends;

  bool matches(const std::string& text) const { return (ends(1, text) >> text.size() & 1U) != 0; }
  bool is_found_in(const std::string& text) const {
    return ends((2U << text.size()) - 1, text) != 0;
  }
};

class RegexMaker {
 public:
  explicit RegexMaker(unsigned seed) : random_(seed) {}

  Meant regex(int depth) {
    Meant result = part(depth);
    for (int parts = below(3); parts > 0; --parts) {
      Meant next = part(depth);
      result = {result.regex + next.regex,
                [a = result.ends, b = next.ends](std::uint32_t begins, const std::string& text) {
                  return b(a(begins, text), text);
                }};
    }
    if (depth == 0 || below(3) != 0) return result;
    Meant other = regex(depth - 1);
    return {result.regex + "|" + other.regex,
            [a = result.ends, b = other.ends](std::uint32_t begins, const std::string& text) {
              return a(begins, text) | b(begins, text);
            }};
  }
  /// Perhaps with an anchor at either side.
  Meant anchored(Meant of) {
    of.regex = "(?:" + of.regex + ")";
    if (below(2) == 0) {
      of = {"^" + of.regex, [a = of.ends](std::uint32_t begins, const std::string& text) {
              return a(begins & 1U, text);
            }};
    }
    if (below(2) == 0) {
      of = {of.regex + "$", [a = of.ends](std::uint32_t begins, const std::string& text) {
              return a(begins, text) & 1U << text.size();
            }};
    }
    return of;
  }
  std::string text() {
    std::string result;
    for (int length = below(7); length > 0; --length) result += "abcx1_ -"[below(8)];
    return result;
  }

 private:
  int below(int limit) { return static_cast<int>(random_() % static_cast<unsigned>(limit)); }

  Meant atom() {
    // Of the characters of text().
    static constexpr std::pair<const char*, const char*> kAtoms[] = {
        {"a", "a"},        {"b", "b"},         {"c", "c"},          {"x", "x"},
        {".", "abcx1_ -"}, {"[ab]", "ab"},     {"[^a]", "bcx1_ -"}, {"\\d", "1"},
        {"\\w", "abcx1_"}, {"[a-c1]", "abc1"}, {"\\S", "abcx1_-"},  {"\\s", " "}};
    const auto& [regex, characters] = kAtoms[below(12)];
    return {regex,
            [of = std::string_view(characters)](std::uint32_t begins, const std::string& text) {
              std::uint32_t ends = 0;
              for (std::size_t i = 0; i < text.size(); ++i) {
                if (of.find(text[i]) != std::string_view::npos)
                  ends |= (begins >> i & 1U) << (i + 1);
              }
              return ends;
            }};
  }
  Meant part(int depth) {
    constexpr int kEver = 40;
    struct Repeat {
      const char* mark;
      int least;
      int most;
    };
    static constexpr Repeat kRepeats[] = {{"", 1, 1},       {"", 1, 1},        {"", 1, 1},
                                          {"*", 0, kEver},  {"+", 1, kEver},   {"?", 0, 1},
                                          {"{2}", 2, 2},    {"{1,2}", 1, 2},   {"{0,3}", 0, 3},
                                          {"*?", 0, kEver}, {"{2,}", 2, kEver}};
    Meant of = atom();
    if (depth > 0 && below(3) == 0) {
      of = regex(depth - 1);
      of.regex = (below(2) == 0 ? "(" : "(?:") + of.regex + ")";
    }
    const Repeat& repeat = kRepeats[below(11)];
    of.regex += repeat.mark;
    return {of.regex, [a = of.ends, &repeat](std::uint32_t begins, const std::string& text) {
              std::uint32_t ends = repeat.least == 0 ? begins : 0;
              for (int count = 1; count <= repeat.most && begins != 0; ++count) {
                begins = a(begins, text);
                if (count >= repeat.least) ends |= begins;
              }
              return ends;
            }};
  }

  std::mt19937 random_;
};

TEST(Regex, random_ones_match_what_they_mean) {
  RegexMaker maker(11);
  int matched = 0;
  for (int round = 0; round < 400; ++round) {
    const Meant regex = maker.regex(2);
    const Meant anchored = maker.anchored(regex);
    const auto whole = Grammar::from_regex(regex.regex);
    const auto some = Grammar::from_json_schema(R"({"type": "string", "pattern": )" +
                                                json_quoted(anchored.regex) + "}");
    ASSERT_TRUE(whole.has_value() && some.has_value()) << regex.regex << " " << anchored.regex;
    for (int i = 0; i < 40; ++i) {
      const std::string text = maker.text();
      const bool matches = regex.matches(text);
      EXPECT_EQ(accepts(*whole, text), matches) << regex.regex << " of " << text;
      EXPECT_EQ(accepts(*some, json_quoted(text)), anchored.is_found_in(text))
          << anchored.regex << " in " << text;
      matched += matches ? 1 : 0;
    }
  }
  EXPECT_GT(matched, 1000);
}

TEST(Regex, characters_are_those_of_unicode) {
  const std::tuple<const char*, const char*, bool> kRows[] = {
      {"\\u00e9.", "\xC3\xA9\xF0\x9F\x98\x80", true},
      {"[\\u{1F600}-\\u{1F64F}]", "\xF0\x9F\x98\x80", true},
      {"\\ud83d\\ude00", "\xF0\x9F\x98\x80", true},
      {".", "\n", false},
      {".", "\xE2\x80\xA8", false},
      {"\\s", "\xC2\xA0", true},
      {"[^]", "\n", true},
      {"\\x41\\cJ\\0?", "A\n", true},
      {"a{,2}", "a{,2}", true},
      {"[\\b]", "\b", true},
      {"(?<year>\\d{4})", "2024", true},
      {"a$b|^c", "c", true},
      {"a$b|^c", "ab", false},
      {"\\/\\-", "/-", true},
  };
  for (const auto& [regex, text, expected] : kRows) {
    const auto grammar = Grammar::from_regex(regex);
    ASSERT_TRUE(grammar.has_value()) << regex << ": " << to_string(grammar.error());
    EXPECT_EQ(accepts(*grammar, text), expected) << regex;
  }
}

TEST(Regex, what_no_automaton_does_is_refused_by_name) {
  const std::pair<const char*, const char*> kRows[] = {
      {"a(?=b)", "look-ahead (?= or (?!, which is not supported"},
      {"(?<!a)b", "look-behind (?<= or (?<!, which is not supported"},
      {"(a)\\1", "a back reference \\1 .. \\9, which is not supported"},
      {"\\bx", "a word boundary \\b, which is not supported"},
      {"\\p{L}", "a property \\p{..}, which is not supported"},
      {"(a", "an unmatched '('"},
      {"a)", "an unmatched ')'"},
      {"[a", "an unmatched '['"},
      {"*", "nothing to repeat before '*', '+', '?' or '{'"},
      {"a**", "nothing to repeat before '*', '+', '?' or '{'"},
      {"[b-a]", "a range in [ ] whose first is above its last"},
      {"[\\d-z]", "a range in [ ] of which an end is a class"},
      {"a{3,2}", "a count whose least is above its most"},
      {"\\a", "an unknown escape '\\a'"},
      {"a\\", "a '\\' at the end"},
      {"\\u12", "an escape \\u without four hexadecimal digits"},
  };
  for (const auto& [regex, fault] : kRows) {
    const auto grammar = Grammar::from_regex(regex);
    ASSERT_FALSE(grammar.has_value()) << regex;
    EXPECT_TRUE(grammar.error().message.ends_with(" has " + std::string(fault)))
        << grammar.error().message;
  }
}

TEST(Regex, work_is_bounded) {
  for (const char* const regex : {"(a{1000}){1000}", "((){1000000}){1000000}", "(.*a.{20}){3}",
                                  "(a|b|ab)*c{0,1000000}", ".*y.{9}z.{9}"}) {
    const auto grammar = Grammar::from_regex(regex, {.steps_max = 100'000});
    ASSERT_FALSE(grammar.has_value()) << regex;
    EXPECT_EQ(grammar.error().message, "compiling takes more than the accepted 100000 steps");
  }
  const auto nothing = Grammar::from_regex("a^b");
  EXPECT_EQ(nothing.error().kind, GrammarError::Kind::empty);
}

}  // namespace
}  // namespace forge::grammar
