// Masks, copies, closings and errors of a sequence.
#include "forge/grammar/matcher.h"

#include <gtest/gtest.h>

#include <random>
#include <thread>

#include "grammar/json_forms.h"
#include "grammar/small_vocabulary.h"
#include "grammar/suite.h"

namespace forge::grammar {
namespace {

using testing::check_mask;
using testing::has;
using testing::small_vocabulary;
using Mask = std::vector<std::uint32_t>;

Grammar schema(const std::string& text) {
  auto grammar = Grammar::from_json_schema(text);
  EXPECT_TRUE(grammar.has_value()) << text << (grammar ? "" : to_string(grammar.error()));
  return grammar ? *grammar : Grammar::json_object();
}

Mask mask_of(const Matcher& matcher, const Vocabulary& vocabulary) {
  Mask mask(vocabulary.mask_words());
  EXPECT_TRUE(matcher.fill_mask(vocabulary, mask).has_value());
  return mask;
}

constexpr const char* kSchemas[] = {
    "{}",
    R"({"type": "string", "minLength": 2, "maxLength": 5})",
    R"({"type": "string", "pattern": "^[a-cé]+\\d*$", "maxLength": 4})",
    R"({"type": "object", "properties": {"foo": {"type": "integer"}, "bar": {"enum": ["a", null]}},
        "required": ["foo"], "additionalProperties": false})",
    R"({"type": "object", "properties": {"foo": {"type": "number"}}, "maxProperties": 2,
        "minProperties": 1, "required": ["bar"]})",
    R"({"type": "object", "propertyNames": {"enum": ["a", "ab", "abc"]}, "minProperties": 2})",
    R"({"type": "object", "patternProperties": {"^a": {"type": "null"}},
        "additionalProperties": {"type": "boolean"}})",
    R"({"type": "array", "prefixItems": [{"const": 1.50}], "items": {"type": "integer",
        "minimum": -3, "maximum": 12}, "minItems": 1, "maxItems": 3})",
    R"({"anyOf": [{"properties": {"a": {"const": 1}}, "required": ["a"]},
                  {"properties": {"a": {"type": "string"}, "b": {"type": "array"}}}],
        "type": "object"})",
    R"({"contains": {"const": "ab"}, "maxContains": 1, "items": {"type": "string"}})",
    R"({"$ref": "#/$defs/n", "$defs": {"n": {"type": "object", "required": ["v"],
        "properties": {"v": {"type": "integer"}, "c": {"items": {"$ref": "#/$defs/n"},
        "type": "array"}}, "additionalProperties": false}}})",
    R"({"type": "number", "multipleOf": 0.25, "exclusiveMinimum": -1, "maximum": 2.5})",
    R"({"type": "string", "format": "date"})",
    R"({"type": "string", "minLength": 3})",
    R"({"not": {"type": ["string", "number"]}})",
};

/// Random tokens that the mask allows, with a look at the whole mask now and then.
TEST(Matcher, a_mask_is_what_each_token_says_byte_by_byte) {
  for (const char* const text : kSchemas) {
    const Grammar grammar = schema(text);
    std::mt19937 random(7);
    for (int round = 0; round < 4; ++round) {
      Matcher matcher(grammar);
      for (int step = 0; step < 25 && !matcher.has_ended(); ++step) {
        if (step % 5 == round) check_mask(matcher, small_vocabulary());
        const Mask mask = mask_of(matcher, small_vocabulary());
        std::vector<std::uint32_t> fits;
        for (std::uint32_t token = 0; token < small_vocabulary().size(); ++token) {
          if (has(mask, token)) fits.push_back(token);
        }
        ASSERT_TRUE(
            matcher.accept_token(small_vocabulary(), fits[random() % fits.size()]).has_value())
            << text;
      }
    }
  }
}

TEST(Matcher, a_mask_does_not_depend_on_the_cache) {
  const auto tokens = testing::small_tokens();
  const Vocabulary without(testing::views_of(tokens), 0);
  const Vocabulary tiny(testing::views_of(tokens), 3000);
  for (const char* const text : kSchemas) {
    Matcher matcher(schema(text));
    for (int step = 0; step < 12 && !matcher.has_ended(); ++step) {
      const Mask mask = mask_of(matcher, small_vocabulary());
      EXPECT_EQ(mask, mask_of(matcher, without)) << text;
      EXPECT_EQ(mask, mask_of(matcher, tiny)) << text;
      EXPECT_LE(tiny.cached_bytes(), 3000U);
      Mask closing(mask.size());
      ASSERT_TRUE(matcher.fill_closing_mask(tiny, closing).has_value());
      std::uint32_t token = 0;
      while (!has(closing, token)) ++token;
      ASSERT_TRUE(matcher.accept_token(tiny, token).has_value());
    }
  }
  EXPECT_EQ(without.cached_bytes(), 0U);
}

TEST(Matcher, a_copy_is_a_bookmark) {
  Matcher matcher(schema(kSchemas[3]));
  ASSERT_TRUE(matcher.accept(R"({"foo": 1, "ba)").has_value());
  const Matcher bookmark = matcher;
  const Mask before = mask_of(matcher, small_vocabulary());
  ASSERT_TRUE(matcher.accept(R"(r": null})").has_value());
  EXPECT_TRUE(matcher.can_end());
  matcher = bookmark;
  EXPECT_FALSE(matcher.can_end());
  EXPECT_EQ(mask_of(matcher, small_vocabulary()), before);
  Matcher again(schema(kSchemas[3]));
  ASSERT_TRUE(again.accept(R"({"foo": 1, "ba)").has_value());
  EXPECT_EQ(mask_of(again, small_vocabulary()), before);
}

TEST(Matcher, a_token_is_read_as_a_whole_or_not_at_all) {
  Matcher matcher(schema(kSchemas[3]));
  const Vocabulary vocabulary({.tokens = {"{\"foo\"", ":1", "}", "", ",x", "a"}, .eos = {3}});
  ASSERT_TRUE(matcher.accept_token(vocabulary, 0).has_value());
  ASSERT_TRUE(matcher.accept_token(vocabulary, 1).has_value());
  const auto refused = matcher.accept_token(vocabulary, 4);
  ASSERT_FALSE(refused.has_value());
  EXPECT_EQ(refused.error().kind, MatchError::Kind::refused);
  EXPECT_EQ(refused.error().accepted, 1U);
  EXPECT_FALSE(matcher.accept_token(vocabulary, 3).has_value());
  EXPECT_FALSE(matcher.accept_token(vocabulary, 99).has_value());
  ASSERT_TRUE(matcher.accept_token(vocabulary, 2).has_value());
  ASSERT_TRUE(matcher.accept_token(vocabulary, 3).has_value());
  EXPECT_TRUE(matcher.has_ended());
  EXPECT_FALSE(matcher.accept("x").has_value());
}

TEST(Matcher, a_text_is_complete_where_nothing_may_follow) {
  const std::tuple<Grammar, const char*, bool> kRows[] = {
      {Grammar::json_object(), "{}", true},
      {Grammar::json_object(), "{} \n", true},
      {Grammar::json_object(), "{", false},
      {schema(R"({"type": "integer"})"), "12", false},  // 123 may be meant
      {schema(R"({"type": "integer"})"), "12 ", true},
      {*Grammar::from_regex("ab*"), "a", false},
      {*Grammar::from_regex("ab?"), "ab", true},
  };
  for (const auto& [grammar, text, expected] : kRows) {
    Matcher matcher(grammar);
    ASSERT_TRUE(matcher.accept(text).has_value());
    EXPECT_EQ(matcher.is_complete(), expected) << text;
  }
}

TEST(Matcher, a_mask_without_tokens_is_an_error) {
  const Vocabulary vocabulary({.tokens = {"{", "a", ""}, .eos = {2}});
  Matcher matcher(Grammar::json_object());
  Mask mask(1);
  ASSERT_TRUE(matcher.fill_mask(vocabulary, mask).has_value());
  EXPECT_EQ(mask[0], 1U);
  ASSERT_TRUE(matcher.accept("{").has_value());
  const auto filled = matcher.fill_mask(vocabulary, mask);
  ASSERT_FALSE(filled.has_value());
  EXPECT_EQ(filled.error().kind, MatchError::Kind::no_token);
  EXPECT_EQ(filled.error().message,
            "no token of the vocabulary fits; expected '\"', '}' or white space");
  EXPECT_EQ(mask[0], 0U);
}

TEST(Matcher, says_what_it_expected) {
  Matcher matcher(schema(kSchemas[3]));
  const auto read = matcher.accept(R"({"foo": 1.5})");
  ASSERT_FALSE(read.has_value());
  EXPECT_EQ(read.error().accepted, 11U);
  EXPECT_EQ(matcher.expected(), "'0' to '9', 'E' or 'e'");
}

TEST(Matcher, a_line_is_indented_by_so_much_for_each_level_that_is_open) {
  for (const std::size_t depth : {1U, 40U}) {
    const std::string begin = std::string(depth, '[') + "\n";
    const std::string indent(kIndentMax * depth, ' ');
    EXPECT_TRUE(Matcher(schema("{}")).accept(begin + indent + "1").has_value());
    EXPECT_FALSE(Matcher(schema("{}")).accept(begin + indent + " ").has_value());
  }
}

TEST(Matcher, an_array_may_be_nested_as_deep_as_the_text_is_long) {
  Matcher matcher(schema("{}"));
  ASSERT_TRUE(matcher.accept(std::string(200000, '[')).has_value());
  const Matcher copy = matcher;
  ASSERT_TRUE(matcher.accept(std::string(200000, ']')).has_value());
  EXPECT_TRUE(matcher.can_end());
  EXPECT_EQ(copy.closing_text(10), "]]]]]]]]]]");
}

/// Random tokens at first, then those that close; the text must be valid JSON and of the grammar.
std::string walked(const Grammar& grammar, unsigned seed, int free_tokens) {
  const Vocabulary& vocabulary = small_vocabulary();
  Matcher matcher(grammar);
  Mask mask(vocabulary.mask_words());
  std::mt19937 random(seed);
  std::string text;
  for (int step = 0; step < 3000; ++step) {
    const auto filled = step < free_tokens ? matcher.fill_mask(vocabulary, mask)
                                           : matcher.fill_closing_mask(vocabulary, mask);
    EXPECT_TRUE(filled.has_value()) << text << (filled ? "" : filled.error().message);
    std::vector<std::uint32_t> fits;
    for (std::uint32_t token = 0; token < vocabulary.size(); ++token) {
      if (has(mask, token)) fits.push_back(token);
    }
    if (fits.empty()) return text;
    const std::uint32_t token = fits[random() % fits.size()];
    EXPECT_TRUE(matcher.accept_token(vocabulary, token).has_value());
    text += vocabulary.bytes_of(token);
    if (matcher.has_ended()) return text;
  }
  ADD_FAILURE() << "no end: " << text.substr(0, 300);
  return text;
}

TEST(Matcher, a_walk_ends) {
  for (const char* const text : kSchemas) {
    const Grammar grammar = schema(text);
    for (unsigned seed = 0; seed < 20; ++seed) {
      const std::string walk = walked(grammar, seed, static_cast<int>(seed) * 3);
      EXPECT_TRUE(nlohmann::json::accept(walk)) << text << "\n" << walk;
      Matcher again(grammar);
      EXPECT_TRUE(again.accept(walk).has_value() && again.can_end()) << walk;
    }
  }
}

TEST(Matcher, extra_a_walk_of_every_schema_of_the_suite_ends) {
  if (!testing::has_suite()) GTEST_SKIP() << "an extra test: there is no " << FORGE_JSON_SCHEMA;
  int walks = 0;
  for (const auto& entry : testing::read_suite(FORGE_JSON_SCHEMA)) {
    const auto grammar = Grammar::from_json_schema(entry.schema.dump());
    if (!grammar) continue;
    for (unsigned seed = 0; seed < 3; ++seed) {
      const std::string walk = walked(*grammar, seed, 20);
      EXPECT_TRUE(nlohmann::json::accept(walk)) << entry.schema << "\n" << walk;
      ++walks;
    }
  }
  EXPECT_GT(walks, 900);
}

TEST(Matcher, closes_what_a_text_is_in) {
  const std::pair<const char*, const char*> kClosings[][3] = {
      {{kSchemas[3], ""}, {"{", "\"foo\":0}"}, {"", "{\"foo\":0}"}},
  };
  for (const auto& row : kClosings) {
    for (const auto& [text, rest] : {row[1], row[2]}) {
      Matcher matcher(schema(row[0].first));
      ASSERT_TRUE(matcher.accept(text).has_value());
      EXPECT_EQ(matcher.closing_text(100), rest);
    }
  }
}

TEST(Matcher, choices_and_objects) {
  const std::vector<std::string> choices = {"red", "green", "gr\xC3\xA9"};
  Matcher matcher(*Grammar::from_choice(choices));
  ASSERT_TRUE(matcher.accept("gr").has_value());
  EXPECT_EQ(matcher.expected(), "'e' or 0xc3");
  ASSERT_TRUE(matcher.accept("een").has_value());
  EXPECT_TRUE(matcher.can_end());
  EXPECT_FALSE(matcher.accept("s").has_value());
  EXPECT_EQ(Grammar::from_choice({}).error().kind, GrammarError::Kind::empty);
  Matcher object(Grammar::json_object());
  EXPECT_TRUE(object.accept(R"({"a": [1, {"b": null}]})").has_value());
  EXPECT_TRUE(object.can_end());
}

/// Arrays of arrays, each of which may be one of two kinds: each "[" doubles the ways to read it.
const char* const kDoubling = R"({"$ref": "#/$defs/a", "$defs": {"a": {"anyOf": [
    {"type": "array", "items": {"$ref": "#/$defs/a"}, "minItems": 1},
    {"type": "array", "items": {"$ref": "#/$defs/a"}, "maxItems": 3}]}}})";

TEST(Matcher, ways_to_read_a_text_are_bounded) {
  Matcher matcher(schema(kDoubling));
  ASSERT_TRUE(matcher.accept("[[[[[[[[[").has_value());
  const auto read = matcher.accept("[");
  ASSERT_FALSE(read.has_value());
  EXPECT_EQ(read.error().kind, MatchError::Kind::limit);
  EXPECT_EQ(read.error().message, "the grammar has more than 512 ways to read the text");
}

TEST(Matcher, steps_of_a_mask_are_bounded) {
  std::vector<std::string> tokens;
  for (std::size_t length = 1; length <= 40; ++length) tokens.emplace_back(length, '[');
  tokens.emplace_back();
  const Vocabulary vocabulary(testing::views_of(tokens));
  const Matcher matcher(schema(kDoubling));
  Mask mask(vocabulary.mask_words());
  const auto filled = matcher.fill_mask(vocabulary, mask);
  ASSERT_FALSE(filled.has_value());
  EXPECT_EQ(filled.error().kind, MatchError::Kind::limit);
  EXPECT_EQ(filled.error().message, "a mask needs more than 20000000 steps");
  EXPECT_EQ(mask, Mask(vocabulary.mask_words(), 0));
}

TEST(Matcher, threads_share_a_vocabulary) {
  const auto tokens = testing::small_tokens();
  const Vocabulary vocabulary(testing::views_of(tokens), 20'000);
  const auto masks_of = [](const Matcher& start, const Vocabulary& of) {
    std::vector<Mask> masks;
    Matcher matcher = start;
    for (const char c : std::string(R"({"foo": 1.5, "bar": "\u00e9x", "b": [null]})")) {
      if (!matcher.accept({&c, 1})) break;
      masks.push_back(mask_of(matcher, of));
    }
    return masks;
  };
  for (const char* const text : {"{}", kSchemas[4], kSchemas[8]}) {
    const Matcher start(schema(text));
    const auto expected = masks_of(start, small_vocabulary());
    std::vector<std::vector<Mask>> found(4);
    std::vector<std::thread> threads;
    threads.reserve(found.size());
    for (auto& masks : found) threads.emplace_back([&] { masks = masks_of(start, vocabulary); });
    for (std::thread& thread : threads) thread.join();
    for (const auto& masks : found) EXPECT_EQ(masks, expected) << text;
  }
}

TEST(Matcher, cases_of_a_schema_are_bounded) {
  std::string text = R"({"anyOf": [)";
  for (int i = 0; i < 600; ++i) {
    text += (i == 0 ? "" : ",") + std::string(R"({"type": "array", "minItems": )") +
            std::to_string(i + 1) + "}";
  }
  const auto grammar = Grammar::from_json_schema(text + "]}");
  ASSERT_FALSE(grammar.has_value());
  EXPECT_EQ(to_string(grammar.error()), "combines into more than the accepted 256 cases");
}

}  // namespace
}  // namespace forge::grammar
