// LoadedRun: the model that forge-infer serves, on its target, with what a run of it leaves: a
// trace, a profile.
#pragma once

#include <memory>
#include <string>
#include <tl/expected.hpp>

#include "forge/runtime/open.h"
#include "infer_options.h"
#include "profile_report.h"

namespace forge::apps {

class LoadedRun {
 public:
  /// Opens the model, which takes a while, says on stderr what it is, and creates the trace.
  /// Errors: a sentence that names the flag at fault.
  using Opened = tl::expected<std::unique_ptr<LoadedRun>, std::string>;
  static Opened open(const InferOptions& options);

  Runtime& runtime() { return *runtime_; }

  /// Writes what there is to write at the end. Returns: an empty text, or what is wrong.
  std::string finish(const InferOptions& options);

 private:
  LoadedRun() = default;

  NamedProfile profile_{"all passes", model::PassProfile()};
  std::unique_ptr<trace::TraceFile> trace_file_;  // outlives the runtime, which writes to it
  std::unique_ptr<Runtime> runtime_;
  trace::TraceWriter* trace_ = nullptr;  // of the runtime, if the run is recorded
};

}  // namespace forge::apps
