// What recording costs. A step of 16 decodes with the digests of their logits is what a trace
// mostly consists of.
#include <benchmark/benchmark.h>

#include <ostream>
#include <streambuf>

#include "forge/core/digest.h"
#include "forge/trace/trace_header.h"
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

}  // namespace
}  // namespace forge
