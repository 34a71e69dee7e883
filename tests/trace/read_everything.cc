#include "trace/read_everything.h"

#include <sstream>

#include "forge/trace/replay.h"
#include "forge/trace/step_frame.h"
#include "forge/trace/trace_bisect.h"
#include "forge/trace/trace_export.h"
#include "forge/trace/trace_show.h"
#include "forge/trace/trace_stats.h"
#include "forge/trace/trace_timeline.h"
#include "trace/hash_executor.h"

namespace forge::testing {
namespace {

/// Forwards to the end, then back over some of the way.
void step_through(const std::string& bytes) {
  std::istringstream in(bytes);
  auto timeline = TraceTimeline::open(in);
  std::uint64_t step = 0;
  for (auto reached = timeline->seek(StepId{0}); reached && *reached;) {
    (void)step_frame(*timeline, {.title = "bytes", .steps = step + 1});
    reached = timeline->seek(StepId{++step});
  }
  for (; step > 2; step /= 2) (void)timeline->seek(StepId{step / 2});
}

}  // namespace

void read_everything(const std::string& bytes) {
  const auto with_reader = [&](auto&& use) {
    std::istringstream in(bytes);
    auto reader = TraceReader::open(in);
    // A header may ask for a cache that is legal and large; the tests' time is not for that.
    if (reader && reader->header().scheduler.num_blocks <= 4096) use(*reader);
  };
  with_reader([&](TraceReader& trace) {
    HashExecutor executor;
    (void)replay(trace, executor, HashExecutor::kVocabulary);
  });
  with_reader([&](TraceReader& trace) {
    std::ostringstream out;
    (void)show(trace, {}, out);
  });
  with_reader([&](TraceReader& trace) { (void)stats(trace); });
  with_reader([&](TraceReader& trace) {
    std::ostringstream out;
    (void)export_perfetto(trace, out);
  });
  with_reader([&](TraceReader&) { step_through(bytes); });
  std::istringstream whole(bytes);
  std::istringstream half(bytes.substr(0, bytes.rfind('\n', bytes.size() / 2) + 1));
  (void)bisect(whole, half);
  with_reader([&](TraceReader& left) {
    with_reader([&](TraceReader& right) { (void)compare(left, right); });
  });
  with_reader([&](TraceReader& trace) {
    LinkCheck check;
    for (auto event = trace.next(); event && *event; event = trace.next()) {
      if (const auto* step = std::get_if<StepEvent>(&**event)) (void)check.add(*step);
    }
  });
}

}  // namespace forge::testing
