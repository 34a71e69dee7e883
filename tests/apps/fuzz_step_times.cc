// libFuzzer target: any bytes as a recording of step times. What is read keeps its promises, and is
// read again as it was written.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <sstream>
#include <string>

#include "step_recording.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace forge::apps;
  std::istringstream in(std::string(reinterpret_cast<const char*>(data), size));
  const auto recording = read_recording(in);
  if (!recording) return recording.error().empty() ? std::abort(), 0 : 0;
  if (recording->steps.empty()) std::abort();
  for (const RecordedStep& step : recording->steps) {
    if (!(step.us() > 0) || step.work.decodes + step.work.prompt_rows == 0) std::abort();
    if (step.us() < 0.002) return 0;  // written, it may be no time at all
  }
  std::stringstream out;
  write_recording(*recording, out);
  const auto again = read_recording(out);
  const auto same = [](const RecordedStep& a, const RecordedStep& b) {
    return a.work == b.work && a.arrived == b.arrived && a.tokens == b.tokens;
  };
  if (!again || again->target != recording->target || again->workload != recording->workload ||
      !std::ranges::equal(again->steps, recording->steps, same)) {
    std::abort();
  }
  return 0;
}
