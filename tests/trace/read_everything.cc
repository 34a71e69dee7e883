#include "trace/read_everything.h"

#include <sstream>

#include "forge/trace/replay.h"
#include "forge/trace/trace_show.h"
#include "trace/hash_executor.h"

namespace forge::testing {

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
