#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "executor/driver.h"
#include "forge/cpu/cpu_executor.h"

namespace forge::executor {
namespace {

using testing::Driver;
using testing::MakeTarget;
using testing::Output;
using testing::request_of;

constexpr std::size_t kTokens = 16;

ExecutorOptions options_of(std::uint32_t block_size = 16) {
  return {.cache = {.num_blocks = 1024 / block_size, .block_size = block_size},
          .digest_logits = true};
}

/// Requests that differ in length, greedy and sampled.
std::vector<Request> some_requests() {
  std::vector<Request> requests{request_of("Hello, my name is"),
                                request_of("Once upon a time", 0.8F, 7), request_of("\xFF\x80\x01"),
                                request_of("1 2 3 4 5 6 7 8 9 10 11 12 13", 1.0F, 9)};
  SamplingParams& told = requests[3].sampling;
  told.logprobs = 2;
  told.prompt_logprobs = true;
  told.margins = true;
  return requests;
}

/// The request alone: prompt in one slice, then one token a step.
Output alone(const MakeTarget& target, const Request& request,
             const ExecutorOptions& options = options_of()) {
  Driver driver(target, options);
  driver.begin(1, request);
  driver.decode_to(1, kTokens);
  return driver.result(1);
}

/// The same on the CPU: what it has to be.
Output golden(const Request& request) { return alone(testing::cpu_target(), request); }

class ModelExecutorTest : public testing::TargetTest {};

TEST_P(ModelExecutorTest, a_decode_yields_one_token_and_one_digest_a_step) {
  Driver driver(target(), options_of());
  driver.begin(1, request_of("abc"));
  const StepResult& result = driver.step({driver.decode(1)});
  ASSERT_EQ(result.slices.size(), 1U);
  EXPECT_EQ(result.slices[0], (SliceResult{SeqId(1), 0, 1, FinishSignal::none, 0}));
  EXPECT_EQ(result.tokens.size(), 1U);
  EXPECT_EQ(result.logits.size(), 1U);
}

TEST_P(ModelExecutorTest, digests_are_left_out_unless_asked_for) {
  ExecutorOptions options = options_of();
  options.digest_logits = false;
  Driver driver(target(), options);
  driver.begin(1, request_of("abc"));
  EXPECT_TRUE(driver.step({driver.decode(1)}).logits.empty());
}

TEST_P(ModelExecutorTest, a_chunk_that_ends_before_the_last_known_token_yields_nothing) {
  Driver driver(target(), options_of());
  driver.begin(1, request_of("abcdef"));
  const StepResult& result = driver.step({driver.chunk(1, 4)});
  EXPECT_EQ(result.slices[0], (SliceResult{SeqId(1), 0, 0, FinishSignal::none, 0}));
  EXPECT_TRUE(result.tokens.empty());
}

TEST_P(ModelExecutorTest, chunked_prefill_changes_nothing) {
  for (const Request& request : some_requests()) {
    const Output expected = golden(request);
    for (const std::uint32_t size : {1U, 2U, 5U}) {
      Driver driver(target(), options_of());
      driver.begin(1, request);
      const auto length = static_cast<std::uint32_t>(request.prompt.size());
      for (std::uint32_t done = 0; done < length; done += size) {
        driver.step({driver.chunk(1, std::min(size, length - done))});
      }
      driver.decode_to(1, kTokens);
      EXPECT_EQ(driver.result(1), expected) << "chunks of " << size;
    }
  }
}

TEST_P(ModelExecutorTest, a_batch_of_several_changes_nothing) {
  const auto requests = some_requests();
  Driver driver(target(), options_of());
  // Each joins a step later than the one before, so decodes meet prompts.
  std::vector<std::uint64_t> running;
  for (std::size_t step = 0; driver.output(4).size() < kTokens; ++step) {
    if (step < requests.size()) {
      driver.begin(step + 1, requests[step]);
      running.push_back(step + 1);
    }
    std::vector<Slice> slices;
    for (const std::uint64_t seq : running) {
      if (driver.output(seq).size() < kTokens) slices.push_back(driver.decode(seq));
    }
    driver.step(slices);
  }
  for (std::size_t i = 0; i < requests.size(); ++i) {
    EXPECT_EQ(driver.result(i + 1), golden(requests[i])) << "request " << i;
  }
}

TEST_P(ModelExecutorTest, block_size_changes_nothing) {
  for (const Request& request : some_requests()) {
    for (const std::uint32_t block_size : {1U, 4U, 128U}) {
      EXPECT_EQ(alone(target(), request, options_of(block_size)), golden(request));
    }
  }
}

TEST_P(ModelExecutorTest, resume_by_recompute_changes_nothing) {
  for (const Request& request : some_requests()) {
    Driver driver(target(), options_of());
    driver.begin(1, request);
    for (const std::size_t count : {3U, 4U, 13U}) {
      driver.decode_to(1, count);
      driver.preempt(1);
      driver.begin(count + 100, request_of("someone else takes the blocks meanwhile"));
      driver.step({driver.decode(count + 100)});
    }
    driver.decode_to(1, kTokens);
    EXPECT_EQ(driver.result(1), golden(request));
  }
}

TEST_P(ModelExecutorTest, a_prompt_longer_than_a_slab_changes_nothing) {
  Request request = request_of(std::string(600, 'x') + "yz");
  request.sampling.logprobs = 1;
  request.sampling.prompt_logprobs = true;  // logits of all rows, more than a slab has room for
  Driver whole(target(), options_of()), pieces(testing::cpu_target(), options_of());
  whole.begin(1, request);
  whole.decode_to(1, 3);
  pieces.begin(1, request);
  for (int i = 0; i < 6; ++i) pieces.step({pieces.chunk(1, 100)});
  pieces.decode_to(1, 3);
  EXPECT_EQ(whole.result(1), pieces.result(1));
}

TEST_P(ModelExecutorTest, eos_ends_a_sequence_unless_its_request_ignores_it) {
  ExecutorOptions options = options_of();
  const Output unending = golden(request_of("Hello"));
  options.eos = {TokenId(1u << 20), unending.tokens[5]};
  const auto first = std::find(unending.tokens.begin(), unending.tokens.end(), options.eos[1]);
  Request request = request_of("Hello");
  EXPECT_EQ(alone(target(), request, options), unending);
  request.ignore_eos = false;
  Driver driver(target(), options);
  driver.begin(1, request);
  driver.decode_to(1, kTokens);
  EXPECT_TRUE(driver.ended(1));
  EXPECT_EQ(driver.output(1), std::vector<TokenId>(unending.tokens.begin(), first + 1));
}

TEST_P(ModelExecutorTest, the_memory_of_a_finished_sequence_serves_the_next) {
  Driver driver(target(), options_of());
  driver.begin(1, request_of("abc"));
  driver.decode_to(1, 5);
  driver.finish(1);
  driver.begin(2, request_of("xyz"));
  driver.decode_to(2, kTokens);
  EXPECT_EQ(driver.result(2), golden(request_of("xyz")));
}

TEST_P(ModelExecutorTest, an_empty_plan_is_answered_by_an_empty_result) {
  Driver driver(target(), options_of());
  driver.step({});
  const StepResult& result = driver.step({});
  EXPECT_EQ(result.step, StepId(1));
  EXPECT_TRUE(result.slices.empty());
}

TEST(ExecutorOptionsTest, options_out_of_range_are_named) {
  ExecutorOptions options;
  options.draft_layers = 5;
  EXPECT_EQ(validate(options, 4).error(), (ConfigError{"draft_layers", "5", "1 .. 4"}));
  options = {};
  options.cache.num_blocks = 0;
  EXPECT_EQ(validate(options, 4).error(), (ConfigError{"num_blocks", "0", "1 .. 4194304"}));
  options = {};
  options.cache.num_host_blocks = 1U << 25;
  EXPECT_EQ(validate(options, 4).error(),
            (ConfigError{"num_host_blocks", "33554432", "0 .. 4194304"}));
}

FORGE_FOR_EACH_TARGET(ModelExecutorTest);

}  // namespace
}  // namespace forge::executor
