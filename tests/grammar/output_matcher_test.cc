// Grammars as requests say them: alternatives, fixed text around JSON, parts behind a mark.
#include "forge/grammar/output_matcher.h"

#include <gtest/gtest.h>

#include <random>

#include "grammar/small_vocabulary.h"

namespace forge::grammar {
namespace {

using testing::check_mask;
using testing::check_reading;
using testing::has;
using testing::small_vocabulary;
using Mask = std::vector<std::uint32_t>;

Grammar one_of(const std::vector<Grammar::Enclosed>& forms) {
  auto grammar = Grammar::one_of(forms);
  EXPECT_TRUE(grammar.has_value()) << (grammar ? "" : to_string(grammar.error()));
  return grammar ? *grammar : Grammar::json_object();
}

Grammar schema_of(const std::string& text) { return *Grammar::from_json_schema(text); }

// ---- Text around JSON ---------------------------------------------------------------------------

TEST(EnclosedGrammar, has_its_text_around_a_value_and_white_space_between) {
  const Grammar call = one_of({{"<a>\n", schema_of(R"({"type": "object"})"), "\n</a>"}});
  for (const char* const text : {"<a>\n{}\n</a>", "<a>\n {\"x\": [1]} \n\n</a>"}) {
    EXPECT_TRUE(testing::accepts(call, text)) << text;
    check_reading(call, text);
  }
  for (const char* const text :
       {"", "{}", "<a>{}\n</a>", "<a>\n{}", "<a>\n{}\n</a> ", "<a>\n{}\n</a", "<a>\n1\n</a>"}) {
    EXPECT_FALSE(testing::accepts(call, text)) << text;
    check_reading(call, text);
  }
  Matcher matcher(call);
  ASSERT_TRUE(matcher.accept("<a>\n{}\n</a>").has_value());
  EXPECT_TRUE(matcher.is_complete());
}

TEST(EnclosedGrammar, may_be_one_of_a_row) {
  const Grammar::Enclosed f{"f", schema_of(R"({"type": "object"})"), "."};
  const Grammar::Enclosed g{"g", schema_of(R"({"const": ["x"]})"), ";"};
  const std::vector<Grammar::Enclosed> forms{f, g};
  const Grammar row = *Grammar::one_of(forms, OutputRow{"[", ", ", "]"});
  for (const char* const text : {"[f{}.]", "[g[\"x\"];]", "[f{}., g[\"x\"];, f{\"a\": 1}.]"}) {
    EXPECT_TRUE(testing::accepts(row, text)) << text;
    check_reading(row, text);
  }
  for (const char* const text : {"", "[]", "f{}.", "[f{}.", "[f{}.,]", "[f{}.f{}.]", "[, f{}.]"}) {
    EXPECT_FALSE(testing::accepts(row, text)) << text;
    check_reading(row, text);
  }
  const Grammar bare = *Grammar::one_of(forms, OutputRow{});
  EXPECT_TRUE(testing::accepts(bare, "f{}.g[\"x\"];f{}."));
  check_reading(bare, "f{}.g[\"x\"];f{}.");
  const std::vector<Grammar::Enclosed> numbers{{"n", schema_of(R"({"type": "integer"})"), ""}};
  EXPECT_FALSE(Grammar::one_of(numbers, OutputRow{"", ",", ""}).has_value());
}

TEST(EnclosedGrammar, of_alternatives_is_a_text_of_any) {
  const Grammar calls =
      one_of({{"<f>", schema_of(R"({"properties": {"a": {"type": "integer"}},
                                                   "additionalProperties": false,
                                                   "type": "object"})"),
               "."},
              {"<g>", schema_of(R"({"items": {"const": "x"}, "type": "array"})"), "."},
              {"", schema_of(R"({"type": "integer"})"), ""}});
  for (const char* const text : {"<f>{\"a\": 1}.", "<g>[\"x\",\"x\"].", "12", " 7 "}) {
    EXPECT_TRUE(testing::accepts(calls, text)) << text;
    check_reading(calls, text);
  }
  for (const char* const text : {"<f>[].", "<g>{}.", "<f>{\"b\": 1}.", "12.", "<h>"}) {
    EXPECT_FALSE(testing::accepts(calls, text)) << text;
    check_reading(calls, text);
  }
}

TEST(EnclosedGrammar, refuses_what_would_not_end_by_itself_or_is_no_json) {
  const auto refusal = [](std::vector<Grammar::Enclosed> forms) {
    return Grammar::one_of(forms).error().message;
  };
  EXPECT_EQ(refusal({{"", schema_of("true"), "!"}}),
            "text behind a value that may be a number, true, false or null");
  EXPECT_EQ(refusal({{"", *Grammar::from_regex("a"), ""}}),
            "text around a grammar that is not of JSON");
  EXPECT_EQ(refusal({}), "nothing is valid: no text matches");
}

// ---- The compiler -------------------------------------------------------------------------------

OutputGrammar output_of(GrammarKind kind, std::string text = "", std::string after = "") {
  return {{{kind, std::move(text)}}, std::move(after)};
}

/// Tokens of text, one of which is a control token, and the end.
class OutputTest : public ::testing::Test {
 protected:
  std::vector<std::string> texts_ = testing::small_tokens();
  OutputCompiler compiler_{[this] {
    VocabularyTokens tokens = testing::views_of(texts_);
    tokens.tokens.insert(tokens.tokens.end(),
                         {"", "<call>", "<call>{", ">[", "l>{\"a", "}<call>x"});
    return tokens;
  }};
  std::uint32_t eos_ = static_cast<std::uint32_t>(texts_.size() - 1);
  std::uint32_t control_ = eos_ + 1;
  std::uint32_t call_ = eos_ + 2;

  OutputMatcher matcher(const OutputGrammar& output) {
    auto compiled = compiler_.compile(output);
    EXPECT_TRUE(compiled.has_value()) << (compiled ? "" : to_string(compiled.error().error));
    return OutputMatcher(*compiled);
  }
  /// Reads bytes as tokens of one byte.
  static void read(OutputMatcher& matcher, std::string_view text) {
    for (const char c : text) {
      ASSERT_TRUE(matcher.accept_token(static_cast<unsigned char>(c)).has_value()) << text;
    }
  }
  static Mask mask_of(const OutputMatcher& matcher) {
    Mask mask(matcher.mask_words());
    EXPECT_TRUE(matcher.fill_mask(mask).has_value());
    return mask;
  }
  OutputError refusal(const OutputGrammar& output) { return compiler_.compile(output).error(); }
};

TEST_F(OutputTest, is_compiled_once_as_long_as_it_stays) {
  const OutputGrammar first = output_of(GrammarKind::regex, "a+");
  const auto compiled = compiler_.compile(first);
  EXPECT_EQ(*compiler_.compile(first), *compiled);
  for (std::size_t i = 0; i < OutputCompiler::kGrammarsMax; ++i) {
    ASSERT_TRUE(compiler_.compile(output_of(GrammarKind::choice, std::to_string(i))).has_value());
    if (i > 10) continue;
    EXPECT_EQ(*compiler_.compile(first), *compiled);
  }
  EXPECT_EQ(*compiler_.compile(first), *compiled);  // choice 0 is gone instead
  for (std::size_t i = 0; i < OutputCompiler::kGrammarsMax; ++i) {
    ASSERT_TRUE(compiler_.compile(output_of(GrammarKind::regex, std::to_string(i))).has_value());
  }
  const auto again = compiler_.compile(first);  // what stayed meanwhile has pushed it out
  EXPECT_NE(*again, *compiled);
  EXPECT_EQ((*again)->vocabulary, (*compiled)->vocabulary);
}

TEST_F(OutputTest, says_which_form_is_refused_and_why) {
  EXPECT_EQ(to_string(refusal(output_of(GrammarKind::json_schema, R"({"minLength": -1})")).error),
            "at /minLength: minLength is not accepted; accepted is an integer, 0 or above");
  EXPECT_EQ(refusal({{{GrammarKind::json_object}, {GrammarKind::json_schema, "3"}}, ""}).form, 1U);
  EXPECT_EQ(refusal({{{GrammarKind::choice, "a"}, {GrammarKind::choice, ""}}, ""}),
            (OutputError{1, {GrammarError::Kind::invalid, "", "a choice is empty or not UTF-8"}}));
  EXPECT_EQ(refusal({{{GrammarKind::regex, "a"}, {GrammarKind::regex, "b"}}, ""}).error.message,
            "alternatives are all of JSON, or all choices");
  EXPECT_EQ(refusal({{{GrammarKind::regex, "a", "<"}}, ""}).error.message,
            "text around a form that is not of JSON");
  EXPECT_EQ(refusal(output_of(GrammarKind::json_object, "", "\xff")).error.message,
            "text that is not UTF-8");
  EXPECT_EQ(refusal({}).error.message, "there is no form; at least one");
}

// ---- Without a mark -----------------------------------------------------------------------------

TEST_F(OutputTest, without_a_mark_is_bound_from_its_first_token_to_its_end) {
  OutputMatcher matcher = this->matcher(output_of(GrammarKind::json_object));
  EXPECT_FALSE(matcher.is_free());
  EXPECT_FALSE(has(mask_of(matcher), 'a'));
  EXPECT_FALSE(has(mask_of(matcher), eos_));
  EXPECT_EQ(matcher.accept_token('a').error().kind, MatchError::Kind::refused);
  read(matcher, "{}");
  // White space would still be of the grammar, but says nothing more.
  Mask end(matcher.mask_words());
  end[eos_ / 32] = 1U << eos_ % 32;
  EXPECT_EQ(mask_of(matcher), end);
  EXPECT_EQ(matcher.accept_token(' ').error().kind, MatchError::Kind::refused);
  ASSERT_TRUE(matcher.accept_token(eos_).has_value());
  Mask mask(matcher.mask_words());
  EXPECT_EQ(matcher.fill_mask(mask).error().kind, MatchError::Kind::no_token);
}

TEST_F(OutputTest, a_limit_that_a_text_meets_is_not_forgotten) {
  // Arrays of arrays, each of one of 40 kinds: after "[[" there are 40 * 40 ways to have read it.
  const auto any_of = [](auto make) {
    std::string schemas;
    for (int i = 1; i <= 40; ++i) schemas += (i == 1 ? "" : ", ") + make(std::to_string(i));
    return "{\"anyOf\": [" + schemas + "]}";
  };
  const std::string inner = any_of([](const std::string& least) {
    return R"({"type": "array", "items": {"const": 1}, "minItems": )" + least + "}";
  });
  const std::string outer = any_of([&](const std::string& least) {
    return R"({"type": "array", "minItems": )" + least + R"(, "items": )" + inner + "}";
  });
  const auto compiled = compiler_.compile(output_of(GrammarKind::json_schema, outer));
  ASSERT_TRUE(compiled.has_value()) << to_string(compiled.error().error);
  OutputMatcher matcher(*compiled);
  ASSERT_TRUE(matcher.accept_token('[').has_value());
  EXPECT_EQ(matcher.accept_token('[').error().kind, MatchError::Kind::limit);
  Mask mask(matcher.mask_words());
  EXPECT_EQ(matcher.fill_mask(mask).error().kind, MatchError::Kind::limit);
  EXPECT_FALSE(matcher.is_free());
}

// ---- Behind a mark ------------------------------------------------------------------------------

TEST_F(OutputTest, behind_a_mark_is_bound_until_its_part_is_complete) {
  OutputMatcher matcher = this->matcher(output_of(GrammarKind::json_object, "", "<call>"));
  read(matcher, "I <call");
  ASSERT_TRUE(matcher.accept_token(control_).has_value());  // it stands for no text
  EXPECT_TRUE(has(mask_of(matcher), 'x'));
  EXPECT_TRUE(has(mask_of(matcher), eos_));
  read(matcher, ">");
  EXPECT_FALSE(has(mask_of(matcher), 'x'));
  EXPECT_FALSE(has(mask_of(matcher), eos_));
  EXPECT_FALSE(has(mask_of(matcher), control_));
  read(matcher, "{\"a\": {}");
  EXPECT_FALSE(has(mask_of(matcher), 'x'));
  read(matcher, "}");
  EXPECT_TRUE(has(mask_of(matcher), 'x'));
  EXPECT_TRUE(has(mask_of(matcher), control_));
  read(matcher, "x <<call>{}<call>");
  EXPECT_FALSE(has(mask_of(matcher), 'x'));
}

TEST_F(OutputTest, tokens_that_open_a_part_and_go_on_wrongly_are_left_out) {
  const OutputMatcher start = matcher(output_of(GrammarKind::json_object, "", "<call>"));
  const Mask mask = mask_of(start);
  EXPECT_TRUE(has(mask, call_));
  EXPECT_TRUE(has(mask, call_ + 1));   // <call>{
  EXPECT_TRUE(has(mask, call_ + 2));   // >[ is free text here
  EXPECT_FALSE(has(mask, call_ + 4));  // }<call>x
  EXPECT_FALSE(start.is_free());
  OutputMatcher later = start;
  read(later, "<cal");
  EXPECT_TRUE(has(mask_of(later), call_ + 3));  // l>{"a
  read(later, "l");
  EXPECT_FALSE(has(mask_of(later), call_ + 2));
  EXPECT_EQ(later.accept_token(call_ + 2).error().kind, MatchError::Kind::refused);
}

/// What the mask says is what accept_token() says, of every token, whatever was said before.
TEST_F(OutputTest, a_mask_is_what_each_token_says) {
  const OutputForm call{GrammarKind::json_schema,
                        R"({"properties": {"a": {"type": "integer"}}, "type": "object",
                            "additionalProperties": false})",
                        "", ">"};
  for (const OutputGrammar& output :
       {output_of(GrammarKind::json_object, "", "<call>"), OutputGrammar{{call}, "aab"},
        output_of(GrammarKind::regex, "[ab]{2}", "a"), OutputGrammar{{call}, ""}}) {
    std::mt19937 random(5);
    OutputMatcher matcher = this->matcher(output);
    for (int step = 0; step < 200; ++step) {
      const Mask mask = mask_of(matcher);
      std::vector<std::uint32_t> fits;
      for (std::uint32_t token = 0; token < 32 * mask.size(); ++token) {
        if (token > call_ + 4) continue;
        OutputMatcher next = matcher;
        const bool taken = next.accept_token(token).has_value();
        ASSERT_EQ(taken, has(mask, token)) << "token " << token << " step " << step;
        // What tests want to come across comes more often.
        const bool is_text = token >= 'a' && token <= 'b';
        if (taken && token != eos_)
          fits.insert(fits.end(), is_text || token > eos_ ? 20 : 1, token);
      }
      if (matcher.is_free()) {
        EXPECT_EQ(std::ranges::count(mask, ~0U), static_cast<std::ptrdiff_t>(mask.size()));
      }
      if (fits.empty()) break;
      ASSERT_TRUE(matcher.accept_token(fits[random() % fits.size()]).has_value());
    }
  }
}

TEST_F(OutputTest, a_copy_is_a_bookmark) {
  OutputMatcher matcher = this->matcher(output_of(GrammarKind::json_object, "", "<call>"));
  read(matcher, "<call>{");
  const OutputMatcher bookmark = matcher;
  const Mask before = mask_of(matcher);
  read(matcher, "} <");
  EXPECT_NE(mask_of(matcher), before);
  EXPECT_EQ(mask_of(bookmark), before);
}

}  // namespace
}  // namespace forge::grammar
