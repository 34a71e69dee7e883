#include "loaded_run.h"

#include <iostream>
#include <utility>

#include "forge/linear/machine_limits.h"
#include "greeting.h"
#include "program_output.h"

namespace forge::apps {

LoadedRun::Opened LoadedRun::open(const InferOptions& options) {
  std::unique_ptr<LoadedRun> run(new LoadedRun());
  runtime::TargetOptions target = options.target;
  target.executor.digest_logits = options.exposes_text;
  if (options.profile.on) target.profile = &run->profile_.profile;
  auto opened = Runtime::open(std::move(target));
  if (!opened) return tl::unexpected(std::move(opened.error()));
  run->runtime_ = std::make_unique<Runtime>(*std::move(opened));
  Runtime& runtime = *run->runtime_;
  if (options.profile.on) {
    run->profile_.profile.set_limits(linear::measure_limits(runtime.model().threads()));
  }
  if (runtime.options().source.is_file()) print_model(runtime);
  auto file = create_trace("forge-infer", options.trace_file);
  if (!file) return tl::unexpected(std::move(file.error()));
  run->trace_file_ = *std::move(file);
  if (run->trace_file_ == nullptr) return run;
  const auto tokens =
      options.exposes_text ? trace::TraceTokens::exposed : trace::TraceTokens::veiled;
  run->trace_ = &runtime.record(*run->trace_file_, tokens);
  if (run->trace_->flush()) return run;
  return tl::unexpected("--trace: '" + options.trace_file + "' has not taken the header");
}

std::string LoadedRun::finish(const InferOptions& options) {
  if (options.profile.on) {
    print_profile(profile_, std::cerr);
    std::string lost = save_timeline({&profile_, 1}, options.profile.timeline_file);
    if (!lost.empty()) return lost;
  }
  if (trace_ == nullptr || trace_->flush()) return {};
  return "--trace: '" + options.trace_file + "' has only the first " +
         std::to_string(trace_->steps_flushed()) + " steps";
}

}  // namespace forge::apps
