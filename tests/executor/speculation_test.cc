// Drafts change no bit of what comes out, on any target: each output is compared with that of the
// CPU without speculation.
#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "executor/driver.h"
#include "forge/reference/tiny_config.h"

namespace forge::executor {
namespace {

using testing::Driver;
using testing::MakeTarget;
using testing::Output;
using testing::request_of;

constexpr std::size_t kTokens = 24;

ExecutorOptions options_of(std::uint32_t drafts) {
  return {.cache = {.num_blocks = 64, .block_size = 4}, .drafts = drafts, .digest_logits = true};
}

Output decode(const MakeTarget& target, const Request& request, const ExecutorOptions& options) {
  Driver driver(target, options);
  driver.begin(1, request);
  driver.decode_to(1, kTokens, options.drafts);
  return driver.result(1);
}

/// The request on the CPU without drafts.
Output golden(const Request& request) {
  return decode(testing::cpu_target(), request, options_of(0));
}

class Speculation : public testing::TargetTest {};

TEST_P(Speculation, shared_noise_gives_the_same_tokens_and_logits_for_any_draft) {
  for (const float temperature : {0.0F, 1.2F}) {
    const Request request = request_of("The quick brown fox", temperature, 5);
    const Output plain = golden(request);
    ASSERT_EQ(plain.tokens.size(), kTokens);
    for (const std::uint32_t k : {1U, 4U, 8U}) {
      for (const int layers : {1, 3}) {
        ExecutorOptions options = options_of(k);
        options.draft_layers = layers;
        EXPECT_EQ(decode(target(), request, options), plain)
            << "temperature " << temperature << " drafts " << k << " layers " << layers;
      }
    }
  }
}

TEST_P(Speculation, each_step_of_the_pipeline_gives_the_same_tokens_and_logits_with_drafts) {
  const std::vector<SamplingParams> ways{
      {.temperature = 1.2F, .seed = 5, .top_k = 4},
      {.temperature = 1.2F, .seed = 5, .top_p = 0.5F, .min_p = 0.05F},
      {.logit_bias = {{TokenId(101), 3.0F}, {TokenId(120), -100.0F}}},
      {.repetition_penalty = 1.5F, .presence_penalty = 1.0F, .frequency_penalty = 0.5F},
      {.temperature = 0.9F, .seed = 5, .repetition_penalty = 0.7F, .top_k = 9, .top_p = 0.9F},
      {.temperature = 0.9F, .seed = 6, .top_p = 0.9F, .logprobs = 3, .margins = true}};
  std::vector<Output> outputs;
  for (const SamplingParams& way : ways) {
    Request request = request_of("The quick brown fox");
    request.sampling = way;
    outputs.push_back(golden(request));
    for (const std::uint32_t k : {0U, 1U, 5U}) {
      EXPECT_EQ(decode(target(), request, options_of(k)), outputs.back())
          << "way " << outputs.size() << " drafts " << k;
    }
  }
  for (std::size_t i = 1; i < outputs.size(); ++i) EXPECT_NE(outputs[i], outputs[0]);
}

TEST_P(Speculation, a_batch_with_different_numbers_of_drafts_changes_nothing) {
  const std::vector<Request> requests = {request_of("Hello", 0.8F, 1), request_of("abc"),
                                         request_of("In the beginning", 1.0F, 3)};
  Driver driver(target(), options_of(5));
  std::vector<Slice> slices;
  for (std::uint64_t i = 0; i < 3; ++i) {
    driver.begin(i + 1, requests[i]);
    slices.push_back(driver.decode(i + 1));
  }
  driver.step(slices);
  for (std::uint32_t step = 0; step < 12; ++step) {
    slices.clear();
    for (std::uint64_t i = 0; i < 3; ++i) {
      slices.push_back(driver.decode(i + 1, (step + static_cast<std::uint32_t>(i) * 2) % 6));
    }
    driver.step(slices);
  }
  for (std::uint64_t i = 0; i < 3; ++i) {
    const Output plain = golden(requests[i]);
    const std::size_t count = std::min(plain.tokens.size(), driver.output(i + 1).size());
    ASSERT_GE(count, 13U);
    for (std::size_t t = 0; t < count; ++t) {
      ASSERT_EQ(driver.output(i + 1)[t], plain.tokens[t]) << "request " << i << " token " << t;
      ASSERT_EQ(driver.digests(i + 1)[t], plain.digests[t]) << "request " << i << " token " << t;
    }
  }
}

TEST_P(Speculation, a_preemption_between_rounds_changes_nothing) {
  const Request request = request_of("The quick brown fox", 0.8F, 5);
  Driver driver(target(), options_of(4));
  driver.begin(1, request);
  for (const std::size_t count : {7U, 21U, 22U}) {
    driver.decode_to(1, count, 4);
    driver.preempt(1);
  }
  driver.decode_to(1, kTokens, 4);
  EXPECT_EQ(driver.result(1), golden(request));
}

TEST_P(Speculation, eos_inside_a_run_of_drafts_ends_the_sequence_and_drops_the_rest) {
  // Draft and target are one model, so every draft is accepted and eos is met as a draft.
  ExecutorOptions options = options_of(8);
  options.draft_layers = reference::TinyConfig().layers;
  Request request = request_of("Hello", 1.0F, 3);
  const Output unending = golden(request);
  request.ignore_eos = false;
  for (const std::size_t index : {3U, 10U, 20U}) {
    options.eos = {unending.tokens[index]};
    Driver driver(target(), options);
    driver.begin(1, request);
    driver.decode_to(1, kTokens, 8);
    const auto first = std::find(unending.tokens.begin(), unending.tokens.end(), options.eos[0]);
    EXPECT_TRUE(driver.ended(1));
    EXPECT_EQ(driver.output(1), std::vector<TokenId>(unending.tokens.begin(), first + 1));
  }
}

TEST_P(Speculation, a_draft_in_the_step_of_a_whole_prompt_changes_nothing) {
  const Request request = request_of("The quick brown fox jumps", 0.8F, 5);
  Driver driver(target(), options_of(4));
  driver.begin(1, request);
  driver.step({driver.decode(1, 4)});
  driver.decode_to(1, kTokens, 4);
  EXPECT_EQ(driver.result(1), golden(request));
}

TEST_P(Speculation, the_wish_for_drafts_is_the_option_until_the_end) {
  Driver driver(target(), options_of(3));
  Request request = request_of("Hello");
  driver.begin(1, request);
  EXPECT_EQ(driver.step({driver.decode(1)}).slices[0].drafts, 3U);
}

TEST_P(Speculation, a_target_that_drafts_for_itself_is_accepted_whole) {
  ExecutorOptions options = options_of(4);
  options.draft_layers = reference::TinyConfig().layers;
  Driver driver(target(), options);
  driver.begin(1, request_of("Hello", 0.9F, 2));
  driver.decode_to(1, 51, 4);
  EXPECT_EQ(driver.executor().speculation(), (SpeculationStatistics{10, 40, 40, 50}));
}

FORGE_FOR_EACH_TARGET(Speculation);

}  // namespace
}  // namespace forge::executor
