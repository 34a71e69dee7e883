#include "trace/read_everything.h"

#include <memory>
#include <sstream>

#include "forge/core/check.h"
#include "forge/trace/moment_json.h"
#include "forge/trace/replay.h"
#include "forge/trace/step_frame.h"
#include "forge/trace/trace_bisect.h"
#include "forge/trace/trace_export.h"
#include "forge/trace/trace_show.h"
#include "forge/trace/trace_stats.h"
#include "forge/trace/trace_timeline.h"
#include "forge/trace/trace_why.h"
#include "forge/trace/trace_why_json.h"
#include "forge/trace/whole_lines.h"
#include "trace/hash_executor.h"

namespace forge::testing {
namespace {

/// The bytes as a file that is opened as they are, or up to their last whole line.
class TestFile {
 public:
  TestFile(const std::string& bytes, bool truncated) : file_(bytes) {
    if (truncated) whole_ = trace::WholeLines::open(*file_.rdbuf());
  }
  std::istream& stream() { return whole_ ? whole_->stream() : file_; }

 private:
  std::istringstream file_;
  std::unique_ptr<trace::WholeLines> whole_;
};

/// Forwards to the end, then back over some of the way.
void step_through(std::istream& in) {
  auto timeline = trace::TraceTimeline::open(in);
  std::uint64_t steps = 0;
  for (auto reached = timeline->seek(StepId{0}); reached && *reached; ++steps) {
    const std::uint64_t next = timeline->state().next_step().value;
    (void)step_frame(*timeline, {.title = "bytes", .last_step = next - 1});
    (void)moment_json(timeline->moment(), timeline->state());
    if (next == 0) return;  // after the last number that there is
    reached = timeline->seek(StepId{next});
  }
  if (!timeline->has_moment()) return;
  const std::uint64_t last = timeline->moment().step.plan.step.value;
  for (; steps > 2; steps /= 2) (void)timeline->seek(StepId{last - steps / 2});
}

void read_as(const std::string& bytes, bool truncated) {
  const auto with_reader = [&](auto&& use) {
    TestFile file(bytes, truncated);
    auto reader = trace::TraceReader::open(file.stream());
    // A header may ask for a cache that is legal and large; the tests' time is not for that.
    if (reader && reader->header().scheduler.cache.num_blocks <= 4096) use(*reader);
  };
  with_reader([&](trace::TraceReader& trace) {
    HashExecutor executor;
    (void)replay(trace, executor, HashExecutor::kVocabulary);
  });
  with_reader([&](trace::TraceReader& trace) { (void)replay_plans(trace); });
  with_reader([&](trace::TraceReader& trace) {
    std::ostringstream out;
    (void)show(trace, {}, out);
  });
  with_reader([&](trace::TraceReader& trace) { (void)stats(trace); });
  with_reader([&](trace::TraceReader& trace) {
    std::ostringstream out;
    (void)tell(trace, SeqId{2}, out);
  });
  with_reader([&](trace::TraceReader& trace) {
    std::ostringstream out;
    const auto reasons = reasons_of(trace, StepId{12});
    if (reasons && *reasons) print(**reasons, out);
    if (reasons && *reasons) (void)to_json_line(**reasons);
  });
  with_reader([&](trace::TraceReader& trace) {
    std::ostringstream out;
    (void)export_perfetto(trace, out);
  });
  with_reader([&](trace::TraceReader&) { step_through(TestFile(bytes, truncated).stream()); });
  TestFile whole(bytes, truncated);
  TestFile half(bytes.substr(0, bytes.rfind('\n', bytes.size() / 2) + 1), truncated);
  (void)trace::bisect(whole.stream(), half.stream());
  with_reader([&](trace::TraceReader& left) {
    with_reader([&](trace::TraceReader& right) { (void)compare(left, right); });
  });
  with_reader([&](trace::TraceReader& trace) {
    trace::LinkCheck check;
    for (auto event = trace.next(); event && *event; event = trace.next()) {
      if (const auto* step = std::get_if<trace::StepEvent>(&**event)) (void)check.add(*step);
    }
  });
}

}  // namespace

void read_everything(const std::string& bytes) {
  read_as(bytes, false);
  TestFile file(bytes, true);
  const std::string whole{std::istreambuf_iterator<char>(file.stream()), {}};
  FORGE_CHECK(whole == bytes.substr(0, bytes.rfind('\n') + 1), "bytes=", bytes.size(),
              " whole=", whole.size());
  if (whole.size() < bytes.size()) read_as(bytes, true);
}

}  // namespace forge::testing
