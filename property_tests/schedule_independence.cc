// A request's tokens and logits depend on the request alone (DESIGN's second promise).
//
// Random requests run together under random batch sizes, cache sizes, block sizes and drafts, while
// "hogs" come and go at random steps: big requests that take blocks away and so force
// preemptions at those steps. Each request must come out as it does alone, in a roomy cache,
// without speculation: the same tokens, and logits that are equal bit for bit.
#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <map>

#include "forge/cpu/cpu_executor.h"
#include "forge/engine/engine.h"
#include "forge/text/byte_tokeniser.h"

namespace forge {
namespace {

constexpr int kLayers = 3;

struct Output {
  std::vector<TokenId> tokens;
  std::vector<std::uint64_t> logits;
  FinishReason finish = FinishReason::none;
  friend bool operator==(const Output&, const Output&) = default;
};

std::ostream& operator<<(std::ostream& out, const Output& output) {
  for (std::size_t i = 0; i < output.tokens.size(); ++i) {
    out << output.tokens[i].value << '/' << std::hex << output.logits[i] << std::dec << ' ';
  }
  return out << "finish " << static_cast<int>(output.finish);
}

/// An engine whose outputs are collected by sequence.
class Run {
 public:
  Run(const SchedulerConfig& config, const CpuExecutorOptions& options)
      : executor_(options), engine_(config, executor_) {}

  SeqId submit(const Request& request) {
    const auto seq = engine_.submit(request);
    RC_ASSERT(seq.has_value());
    return *seq;
  }
  void cancel(SeqId seq) { (void)engine_.cancel(seq); }

  void step() {
    const auto [plan, result] = engine_.step();
    preemptions_ += plan.preempted.size();
    for (const Finish& finish : plan.finished) outputs_[finish.seq].finish = finish.reason;
    for (const SliceResult& slice : result.slices) {
      Output& output = outputs_[slice.seq];
      for (std::uint32_t i = slice.first_token; i < slice.first_token + slice.token_count; ++i) {
        output.tokens.push_back(result.tokens[i]);
        output.logits.push_back(result.logits[i]);
      }
    }
  }

  bool has_work() const { return engine_.has_work(); }
  const Output& output(SeqId seq) { return outputs_[seq]; }
  std::size_t preemptions() const { return preemptions_; }

 private:
  CpuExecutor executor_;
  Engine engine_;
  std::map<SeqId, Output> outputs_;
  std::size_t preemptions_ = 0;
};

Request random_request() {
  const auto temperature = *rc::gen::element(0.0F, 0.7F, 1.5F);
  Request request{
      .max_new_tokens = *rc::gen::resize(100, rc::gen::inRange<std::uint32_t>(1, 24)),
      .sampling = {.temperature = temperature, .seed = *rc::gen::arbitrary<std::uint64_t>()},
      .ignore_eos = *rc::gen::arbitrary<bool>()};
  const auto length = *rc::gen::resize(100, rc::gen::inRange(1, 40));
  for (int i = 0; i < length; ++i) {
    request.prompt.push_back(
        ByteTokeniser::token_of(*rc::gen::resize(100, rc::gen::arbitrary<unsigned char>())));
  }
  return request;
}

Output alone(const Request& request) {
  Run run({.num_blocks = 8, .block_size = 16, .max_batch_size = 1}, {.model = {.layers = kLayers},
                                                                     .num_blocks = 8,
                                                                     .block_size = 16,
                                                                     .draft_layers = 1,
                                                                     .digest_logits = true});
  const SeqId seq = run.submit(request);
  while (run.has_work()) run.step();
  return run.output(seq);
}

/// A request as large as the cache allows; it never ends by itself within a test.
Request hog(const SchedulerConfig& config) {
  const std::uint32_t capacity = config.num_blocks * config.block_size;
  const auto prompt = *rc::gen::resize(100, rc::gen::inRange<std::uint32_t>(1, capacity / 2 + 1));
  return {.prompt = std::vector<TokenId>(prompt, TokenId{33}),
          .max_new_tokens = capacity - prompt,
          .ignore_eos = true};
}

/// One random run; returns its number of preemptions.
std::size_t compare_with_alone() {
  const auto block_size = *rc::gen::element<std::uint32_t>(1, 3, 16);
  const auto num_blocks = (64 + *rc::gen::inRange<std::uint32_t>(0, 100)) / block_size + 1;
  const auto max_batch_size = *rc::gen::resize(100, rc::gen::inRange<std::uint32_t>(1, 9));
  const SchedulerConfig config{num_blocks, block_size, max_batch_size};
  Run run(config, {.model = {.layers = kLayers},
                   .num_blocks = num_blocks,
                   .block_size = block_size,
                   .drafts = *rc::gen::element<std::uint32_t>(0, 0, 1, 2, 4, 7),
                   .draft_layers = *rc::gen::element(1, 2, 3),
                   .digest_logits = true});

  const auto count = *rc::gen::resize(100, rc::gen::inRange<std::size_t>(1, 7));
  std::vector<std::pair<SeqId, Request>> requests;
  std::vector<SeqId> hogs;
  while (requests.size() < count || run.has_work()) {
    const int dice = *rc::gen::resize(100, rc::gen::inRange(0, 10));
    if (dice < 3 && requests.size() < count) {
      const Request request = random_request();
      requests.emplace_back(run.submit(request), request);
    } else if (dice == 3 && requests.size() < count) {
      hogs.push_back(run.submit(hog(config)));
    } else if (dice == 4 || requests.size() == count) {
      for (const SeqId seq : hogs) run.cancel(seq);
      hogs.clear();
    }
    if (run.has_work()) run.step();
  }
  for (const auto& [seq, request] : requests) RC_ASSERT(run.output(seq) == alone(request));
  return run.preemptions();
}

TEST(ScheduleIndependence, a_request_comes_out_as_it_does_alone) {
  std::size_t preemptions = 0;
  EXPECT_TRUE(rc::check("a request comes out as it does alone",
                        [&] { preemptions += compare_with_alone(); }));
  EXPECT_GT(preemptions, 0u) << "without preemptions this says little";
}

}  // namespace
}  // namespace forge
