#include "forge/runtime/open.h"

#include <utility>

#include "forge/core/check.h"
#include "forge/runtime/target_header.h"
#include "forge/trace/trace_header.h"

namespace forge::runtime {

Runtime::Runtime(TargetOptions options, std::unique_ptr<const LoadedModel> model, Target target)
    : options_(std::move(options)),
      model_(std::move(model)),
      target_(std::make_unique<Target>(std::move(target))) {
  if (!options_.faults.empty()) {
    faulty_ = std::make_unique<executor::FaultyExecutor>(target_->executor(), options_.faults);
  }
  make_engine();
}

void Runtime::make_engine() {
  Executor& executor = faulty_ ? static_cast<Executor&>(*faulty_) : target_->executor();
  engine_ = std::make_unique<engine::Engine>(options_.scheduler, executor, trace_.get(),
                                             options_.on_target_lost);
}

tl::expected<Runtime, std::string> Runtime::open(TargetOptions options) {
  auto model = LoadedModel::open(options.source, options.kind);
  if (!model) return tl::unexpected(std::move(model.error()));
  if (auto fits = configure(options, **model); !fits) {
    return tl::unexpected(std::move(fits.error()));
  }
  auto target = Target::open(options, **model);
  if (!target) return tl::unexpected(std::move(target.error()));
  return Runtime(std::move(options), *std::move(model), *std::move(target));
}

trace::TraceWriter& Runtime::record(std::span<trace::TraceOutput* const> outputs,
                                    trace::TraceTokens tokens) {
  FORGE_CHECK(trace_ == nullptr, "the run is recorded already");
  auto header = to_trace_header(options_, target_->record(), target_->device_name());
  header.tokens = tokens;
  trace_ = std::make_unique<trace::TraceWriter>(outputs, header);
  make_engine();
  return *trace_;
}

tl::expected<Runtime, std::string> open(const std::string& model, TargetOptions options) {
  if (auto known = set_model(options.source, model); !known) {
    return tl::unexpected("--model: " + known.error());
  }
  return Runtime::open(std::move(options));
}

}  // namespace forge::runtime
