#include "trace_report.h"

#include <fstream>
#include <iostream>

#include "forge/trace/trace_export.h"
#include "forge/trace/trace_stats.h"
#include "forge/trace/trace_why.h"

namespace forge::apps {

int run_show(const TraceArgument& file, const trace::StepRange& range) {
  if (range.from > range.to) {
    return unusable("--from " + std::to_string(range.from) + " is after --to " +
                    std::to_string(range.to));
  }
  InputTrace trace(file);
  if (const auto opened = trace.open(); !opened) return unusable(opened.error());
  const auto shown = show(trace.reader(), range, std::cout);
  if (!shown) return unusable(trace.error(shown.error()));
  if (*shown == 0) return unusable(file.path + ": no steps in this range");
  return kEqual;
}

int run_why(const TraceArgument& file, const WhyOptions& options) {
  if (options.step.has_value() == options.seq.has_value()) {
    return unusable("why: give --at STEP or --seq SEQ, one of the two");
  }
  InputTrace trace(file);
  if (const auto opened = trace.open(); !opened) return unusable(opened.error());
  if (options.seq) {
    const auto told = tell(trace.reader(), SeqId{*options.seq}, std::cout);
    if (!told) return unusable(trace.error(told.error()));
    if (!*told) return unusable(file.path + ": no sequence " + std::to_string(*options.seq));
    return kEqual;
  }
  const auto reasons = reasons_of(trace.reader(), StepId{options.step.value()});
  if (!reasons) return unusable(trace.error(reasons.error()));
  if (!*reasons) return unusable(file.path + ": no step " + std::to_string(*options.step));
  print(**reasons, std::cout);
  return kEqual;
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

}  // namespace forge::apps
