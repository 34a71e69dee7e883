// What recording costs. A step of 16 decodes with the digests of their logits is what a trace
// mostly consists of.
#include <benchmark/benchmark.h>

#include <cstdint>
#include <ostream>
#include <streambuf>
#include <string_view>
#include <utility>
#include <vector>

#include "forge/core/digest.h"
#include "forge/core/scheduler.h"
#include "forge/trace/trace_header.h"
#include "forge/trace/trace_output.h"
#include "forge/trace/trace_writer.h"
#include "null_executor.h"

namespace forge {
namespace {

/// Counts what is written and keeps nothing.
class Sink : public std::streambuf {
 public:
  std::int64_t bytes = 0;

 protected:
  std::streamsize xsputn(const char*, std::streamsize n) override {
    bytes += n;
    return n;
  }
  int overflow(int c) override { return c; }
};

void trace_writer_step(benchmark::State& state) {
  StepPlan plan;
  for (std::uint64_t seq = 1001; seq <= 1016; ++seq) {
    plan.slices.push_back({SeqId{seq}, 1234, 1, 0, true});
  }
  plan.decodes = 16;
  plan.tables = {{SeqId{1007}, 78, 0, 1}};
  plan.appended_blocks = {BlockId{301}};
  const CacheDelta cache{.stored = {{BlockId{288}, SeqId{1007}, 77, BlockId{275}}}};
  StepResult result;
  benchmark::DoNotOptimize(apps::NullExecutor(0).execute(plan, result));
  for (std::uint64_t i = 0; i < 16; ++i) result.logits.push_back(Digest().add(i).value());
  Sink sink;
  std::ostream out(&sink);
  trace::TraceWriter writer(out, {});
  for (auto _ : state) {
    plan.step.value += 1;
    result.step = plan.step;
    writer.step(plan, result, cache);
  }
  state.SetBytesProcessed(sink.bytes);
}
BENCHMARK(trace_writer_step);

/// A file that is full whenever it is asked, and keeps nothing.
class FullFile final : public trace::TraceOutput {
 public:
  Written write(std::string_view line) override {
    bytes += static_cast<std::int64_t>(line.size());
    return {};
  }
  Written flush() override { return {}; }
  bool has_next() const override { return true; }
  bool is_full() const override { return true; }

  std::int64_t bytes = 0;
};

/// A scheduler whose blocks of 16 tokens are all cached, of prompts of 64 blocks.
Scheduler with_cached_blocks(std::uint32_t blocks) {
  Scheduler scheduler({.cache = {.num_blocks = blocks, .block_size = 16},
                       .batch = {.max_batch_size = 1, .max_batch_tokens = 1024},
                       .prefill_chunk_size = 1024});
  apps::NullExecutor executor(0);
  StepResult result;
  for (std::uint32_t prompt = 0; prompt < blocks / 64; ++prompt) {
    std::vector<TokenId> tokens(1023, TokenId(prompt * 4096 % 100'003));
    benchmark::DoNotOptimize(scheduler.submit({.prompt = std::move(tokens), .max_new_tokens = 1}));
    while (scheduler.has_work()) {
      const StepPlan& plan = scheduler.schedule();
      benchmark::DoNotOptimize(executor.execute(plan, result));
      scheduler.commit(plan, result);
    }
  }
  return scheduler;
}

/// A recording goes on in a new file: the snapshot, taken and written.
void trace_writer_go_on(benchmark::State& state) {
  const Scheduler scheduler = with_cached_blocks(static_cast<std::uint32_t>(state.range(0)));
  FullFile out;
  trace::TraceWriter writer(out, {.scheduler = scheduler.config()});
  out.bytes = 0;
  for (auto _ : state) writer.go_on(scheduler.snapshot());
  state.SetBytesProcessed(out.bytes);
  state.counters["bytes"] =
      benchmark::Counter(static_cast<double>(out.bytes), benchmark::Counter::kAvgIterations);
}
BENCHMARK(trace_writer_go_on)->Arg(512)->Arg(8192)->Arg(65536);

}  // namespace
}  // namespace forge
