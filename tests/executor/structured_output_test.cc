// Outputs of a grammar: on each target the same tokens and logits as on the CPU, of the grammar,
// with drafts and without, through preemptions; and how they end where nothing fits.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "executor/byte_grammars.h"
#include "executor/driver.h"

namespace forge::executor {
namespace {

using testing::Driver;
using testing::MakeTarget;
using ::testing::MatchesRegex;
using testing::Output;
using testing::output_of;
using testing::request_of;

constexpr std::size_t kTokens = 40;

ExecutorOptions options_of(std::uint32_t drafts) {
  return {.cache = {.num_blocks = 64, .block_size = 4},
          .drafts = drafts,
          .digest_logits = true,
          .check_kv = true,
          .grammars = testing::byte_grammars()};
}

Request bound(OutputGrammar output, float temperature = 0, std::uint64_t seed = 1) {
  Request request = request_of("The answer", temperature, seed);
  request.ignore_eos = false;
  request.sampling.grammar = std::move(output);
  return request;
}

std::string text_of(const Output& output) {
  std::string text;
  for (const TokenId token : output.tokens) text += text::ByteTokenizer().bytes_of(token);
  return text;
}

Output decoded(const MakeTarget& target, const Request& request, std::uint32_t drafts = 0) {
  Driver driver(target, options_of(drafts));
  driver.begin(1, request);
  driver.decode_to(1, kTokens, drafts);
  return driver.result(1);
}

testing::Drafting ngrams() {
  return {.model = {}, .drafter = [] { return std::make_unique<NgramDrafter>(); }};
}

struct Case {
  OutputGrammar output;
  const char* text;  ///< what every output matches
};
const std::vector<Case>& cases() {
  static const std::vector<Case> kCases{
      {output_of(GrammarKind::regex, "(ab|ba){3,8}!"), "(ab|ba)*!"},
      {{{{GrammarKind::choice, "yes"}, {GrammarKind::choice, "yesterday"}}, ""}, "yes(terday)?"},
      {output_of(GrammarKind::json_schema, R"({"enum": ["red", "green", 7]})"),
       "[ \t\r\n]*(\"red\"|\"green\"|7)[ \t\r\n]*"},
      {{{{GrammarKind::json_schema, R"({"items": {"const": 1}, "maxItems": 3, "type": "array"})",
          "<", ">"}},
        ""},
       "<[ 1,\t\r\n]*\\[[] 1,\t\r\n]*>?"}};
  return kCases;
}

class StructuredOutput : public testing::TargetTest {};

TEST_P(StructuredOutput, is_of_its_grammar_and_the_same_on_every_target) {
  for (const Case& each : cases()) {
    for (const float temperature : {0.0F, 1.5F}) {
      Request request = bound(each.output, temperature, 3);
      const Output golden = decoded(testing::cpu_target(), request);
      if (each.output.forms[0].kind != GrammarKind::json_schema) {
        EXPECT_THAT(text_of(golden), MatchesRegex(each.text));
      }
      EXPECT_EQ(decoded(target(), request), golden);
      request.sampling.top_k = 3;
      request.sampling.frequency_penalty = 0.5F;
      request.sampling.margins = true;
      EXPECT_EQ(decoded(target(), request), decoded(testing::cpu_target(), request));
    }
  }
}

TEST_P(StructuredOutput, drafts_of_the_host_change_no_token_and_no_logit) {
  for (const Case& each : cases()) {
    for (const float temperature : {0.0F, 1.5F}) {
      Request request = bound(each.output, temperature, 3);
      request.sampling.margins = true;
      const Output golden = decoded(testing::cpu_target(), request);
      for (const std::uint32_t drafts : {1U, 5U}) {
        EXPECT_EQ(decoded(target(ngrams()), request, drafts), golden) << drafts << " drafts";
      }
    }
  }
  // Of a text that repeats itself, drafts are kept.
  Driver driver(target(ngrams()), options_of(4));
  driver.begin(1, bound(output_of(GrammarKind::regex, "(abc){13}")));
  driver.decode_to(1, kTokens, 4);
  EXPECT_GT(driver.executor().speculation().accepted, 20U);
}

TEST_P(StructuredOutput, asks_for_no_drafts_where_a_pass_would_propose_them) {
  const auto asked = [](const MakeTarget& target) {
    Driver driver(target, options_of(4));
    driver.begin(1, bound(output_of(GrammarKind::regex, "a{20}")));
    driver.begin(2, request_of("free"));
    for (int step = 0; step < 4; ++step) driver.step({driver.decode(1), driver.decode(2)});
    const StepResult& result = driver.step({driver.decode(1), driver.decode(2)});
    return std::vector{result.slices[0].drafts, result.slices[1].drafts};
  };
  EXPECT_EQ(asked(target()), (std::vector{0U, 4U}));
  EXPECT_EQ(asked(target(ngrams())).front(), 4U) << "aaaa goes on like this";
}

TEST_P(StructuredOutput, shares_a_batch_with_outputs_that_are_free_and_survives_preemption) {
  const Request answer = bound(cases()[0].output, 1.2F, 4);
  const Request free = request_of("Hello", 0.8F, 1);
  Driver driver(target(), options_of(0));
  driver.begin(1, answer);
  driver.begin(2, free);
  driver.step({driver.chunk(1, 4), driver.decode(2)});
  driver.step({driver.decode(2), driver.decode(1)});
  for (int step = 0; step < 3; ++step) driver.step({driver.decode(1), driver.decode(2)});
  driver.preempt(1);
  driver.step({driver.decode(2)});
  driver.decode_to(1, kTokens);
  EXPECT_EQ(driver.result(1), decoded(testing::cpu_target(), answer));
  const auto alone = decoded(testing::cpu_target(), free).tokens;
  EXPECT_TRUE(std::equal(driver.output(2).begin(), driver.output(2).end(), alone.begin()));
}

TEST_P(StructuredOutput, is_free_until_its_mark) {
  // Most tokens of the random model are letters: one of them comes soon.
  const OutputGrammar output = output_of(GrammarKind::regex, "[0-9]{4}", "e");
  Request request = bound(output, 1.5F, 9);
  const auto told = [&](const MakeTarget& target, std::uint32_t drafts) {
    Driver driver(target, options_of(drafts));
    driver.begin(1, request);
    driver.decode_to(1, 220, drafts);
    return driver.result(1);
  };
  const Output golden = told(testing::cpu_target(), 0);
  const std::string text = text_of(golden);
  std::size_t parts = 0;
  for (std::size_t at = text.find('e'); at != std::string::npos; at = text.find('e', at + 1)) {
    const std::string part = text.substr(at + 1, 4);
    EXPECT_EQ(part.find_first_not_of("0123456789"), std::string::npos) << part;
    ++parts;
  }
  EXPECT_GT(parts, 0U);
  EXPECT_NE(text.find_first_not_of("e0123456789"), std::string::npos);
  EXPECT_EQ(told(target(), 0), golden);
  EXPECT_EQ(told(target(ngrams()), 3), golden);
}

/// Of a vocabulary without the digits.
TEST_P(StructuredOutput, ends_with_an_error_where_no_token_leads_on) {
  ExecutorOptions options = options_of(3);
  options.grammars = std::make_shared<grammar::OutputCompiler>([] {
    grammar::VocabularyTokens vocabulary;
    for (std::uint32_t token = 0; token < 320; ++token) {
      const std::string_view bytes = text::ByteTokenizer().bytes_of(TokenId(token));
      const bool is_digit = !bytes.empty() && bytes[0] >= '0' && bytes[0] <= '9';
      vocabulary.tokens.push_back(is_digit ? std::string_view() : bytes);
    }
    vocabulary.eos = {0};
    return vocabulary;
  });
  for (const std::uint32_t drafts : {0U, 3U}) {
    Driver driver(target(ngrams()), options);
    driver.begin(1, bound(output_of(GrammarKind::regex, "aaaaa5")));
    driver.step({driver.decode(1)});
    StepResult last;
    while (!driver.ended(1)) last = driver.step({driver.decode(1, drafts)});
    EXPECT_EQ(text_of(driver.result(1)), "aaaaa");
    EXPECT_EQ(last.slices, (std::vector{SliceResult{SeqId(1), 0, 0, FinishSignal::no_token, 0}}));
  }
}

TEST_P(StructuredOutput, is_refused_where_it_cannot_be) {
  const MakeTarget make = target();
  ExecutorOptions without = options_of(0);
  without.grammars = nullptr;
  const Request request = bound(output_of(GrammarKind::regex, "a"));
  EXPECT_EQ(make(without)->refuses(request), Executor::kNoGrammars);
  EXPECT_EQ(make(without)->refuses(request_of("free")), std::nullopt);

  const auto executor = make(options_of(0));
  EXPECT_EQ(executor->refuses(request), std::nullopt);
  EXPECT_EQ(
      executor->refuses(bound(output_of(GrammarKind::json_schema, R"({"minimum": "1"})"))),
      "the grammar of the output is refused: at /minimum: minimum is not accepted; accepted is "
      "a number of at most 1000 digits");
  Request goes_on = request;
  goes_on.ignore_eos = true;
  EXPECT_EQ(executor->refuses(goes_on),
            "the grammar of the output is refused: ignore_eos would have it go on behind its end");
}

FORGE_FOR_EACH_TARGET(StructuredOutput);

}  // namespace
}  // namespace forge::executor
