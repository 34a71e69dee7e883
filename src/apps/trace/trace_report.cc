#include "trace_report.h"

#include <fstream>
#include <iostream>

#include "forge/trace/legend.h"
#include "forge/trace/trace_export.h"
#include "forge/trace/trace_stats.h"
#include "forge/trace/trace_why.h"
#include "forge/trace/trace_why_json.h"

namespace forge::apps {
namespace {

int run_why_of_sequence(InputTrace& trace, SeqId seq, bool as_json) {
  const auto missing = trace.path() + ": no sequence " + std::to_string(seq.value);
  if (as_json) {
    const auto story = story_of(trace.reader(), seq);
    if (!story) return unusable(trace.error(story.error()));
    if (!*story) return unusable(missing);
    std::cout << to_json_line(seq, **story) << '\n';
    return kEqual;
  }
  const auto told = tell(trace.reader(), seq, std::cout);
  if (!told) return unusable(trace.error(told.error()));
  return *told ? kEqual : unusable(missing);
}

int run_why_of_step(InputTrace& trace, StepId step, bool as_json) {
  const auto reasons = reasons_of(trace.reader(), step);
  if (!reasons) return unusable(trace.error(reasons.error()));
  if (!*reasons) return unusable(trace.path() + ": no step " + std::to_string(step.value));
  if (as_json) {
    std::cout << to_json_line(**reasons) << '\n';
  } else {
    print(**reasons, std::cout);
  }
  return kEqual;
}

}  // namespace

int run_show(const TraceArgument& file, const trace::StepRange& range) {
  if (range.from > range.to) {
    return unusable("--from " + std::to_string(range.from) + " is after --to " +
                    std::to_string(range.to));
  }
  InputTrace trace(file);
  if (const auto opened = trace.open(); !opened) return unusable(opened.error());
  const auto shown = show(trace.reader(), range, std::cout);
  if (!shown) return unusable(trace.error(shown.error()));
  if (*shown == 0) return unusable(trace.path() + ": no steps in this range");
  return kEqual;
}

int run_why(const TraceArgument& file, const WhyOptions& options) {
  if (options.step.has_value() == options.seq.has_value()) {
    return unusable("why: give --at STEP or --seq SEQ, one of the two");
  }
  InputTrace trace(file);
  if (const auto opened = trace.open(); !opened) return unusable(opened.error());
  return options.seq ? run_why_of_sequence(trace, SeqId{*options.seq}, options.as_json)
                     : run_why_of_step(trace, StepId{options.step.value()}, options.as_json);
}

int run_stats(const TraceArgument& file, bool as_json) {
  InputTrace trace(file);
  if (const auto opened = trace.open(); !opened) return unusable(opened.error());
  const auto gathered = stats(trace.reader());
  if (!gathered) return unusable(trace.error(gathered.error()));
  if (as_json) {
    std::cout << to_json(*gathered).dump(2) << '\n';
  } else {
    print(*gathered, std::cout);
  }
  return kEqual;
}

int run_export(const TraceArgument& file, const std::string& out_path) {
  InputTrace trace(file);
  if (const auto opened = trace.open(); !opened) return unusable(opened.error());
  std::ofstream out(out_path, std::ios::binary);
  if (!out) return unusable("--perfetto: cannot write '" + out_path + "'");
  const auto events = export_perfetto(trace.reader(), out);
  if (!events) return unusable(trace.error(events.error()));
  if (!out.flush()) return unusable("--perfetto: cannot write all of '" + out_path + "'");
  std::cout << *events << " events written to " << out_path
            << "; open it at https://ui.perfetto.dev (1 step = 1 ms)\n";
  return kEqual;
}

int run_legend() {
  std::cout << trace::legend();
  return kEqual;
}

}  // namespace forge::apps
