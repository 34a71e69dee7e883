#include "served_run.h"

#include <ctime>
#include <iostream>
#include <utility>
#include <vector>

#include "forge/executor/faulty_executor.h"
#include "forge/linear/machine_limits.h"
#include "forge/runtime/open.h"
#include "forge/runtime/target_header.h"
#include "forge/text/byte_tokenizer.h"
#include "forge/trace/trace_header.h"
#include "greeting.h"
#include "model_card.h"
#include "null_executor.h"
#include "profile_report.h"

namespace forge::apps {
namespace {

/// A model on its target.
class ModelRun : public ServedRun {
 public:
  static Opened open(const InferOptions& options, trace::TraceWindow* window) {
    std::unique_ptr<ModelRun> run(new ModelRun(options));
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
    print_model(runtime, options);
    const std::uint32_t num_blocks = runtime.engine().scheduler().config().cache.num_blocks;
    if (auto begun = run->begin_trace(window, num_blocks); !begun) {
      return tl::unexpected(std::move(begun.error()));
    }
    return run;
  }

  engine::Engine& engine() override { return runtime_->engine(); }
  const text::Tokenizer& tokenizer() const override { return runtime_->tokenizer(); }
  serve::ModelCard card() override { return model_card(*runtime_); }

  std::string finish() override {
    if (options_.profile.on) {
      print_profile(profile_, std::cerr);
      std::string lost = save_timeline({&profile_, 1}, options_.profile.timeline_file);
      if (!lost.empty()) return lost;
    }
    return ServedRun::finish();
  }

 private:
  using ServedRun::ServedRun;

  trace::TraceWriter* record(Outputs outputs, trace::TraceTokens tokens) override {
    return &runtime_->record(outputs, tokens);
  }

  NamedProfile profile_{"all passes", model::PassProfile()};
  std::unique_ptr<Runtime> runtime_;
};

/// Letters, at once.
class NullRun : public ServedRun {
 public:
  static Opened open(const InferOptions& options, trace::TraceWindow* window) {
    std::unique_ptr<NullRun> run(new NullRun(options));
    const std::uint32_t num_blocks = options.target.scheduler.cache.num_blocks;
    if (auto begun = run->begin_trace(window, num_blocks); !begun) {
      return tl::unexpected(std::move(begun.error()));
    }
    run->engine_ =
        std::make_unique<engine::Engine>(options.target.scheduler, run->executor_,
                                         run->writer_.get(), options.target.on_target_lost);
    return run;
  }

  engine::Engine& engine() override { return *engine_; }
  const text::Tokenizer& tokenizer() const override { return tokenizer_; }
  serve::ModelCard card() override {
    const CacheShape& cache = options_.target.scheduler.cache;
    return {.id = "null",
            .vocabulary_size = text::ByteTokenizer::kVocabularySize,
            .context_tokens = std::uint64_t{cache.num_blocks} * cache.block_size,
            .created = static_cast<std::int64_t>(std::time(nullptr))};
  }

 private:
  explicit NullRun(const InferOptions& options)
      : ServedRun(options),
        letters_(options.target.executor.drafts,
                 {.first = text::ByteTokenizer::token_of('a').value, .count = 26}),
        executor_(letters_, options.target.faults) {}

  trace::TraceWriter* record(Outputs outputs, trace::TraceTokens tokens) override {
    auto header = runtime::to_trace_header(options_.target);
    header.tokens = tokens;
    writer_ = std::make_unique<trace::TraceWriter>(outputs, header);
    return writer_.get();
  }

  NullExecutor letters_;
  executor::FaultyExecutor executor_;
  text::ByteTokenizer tokenizer_;
  std::unique_ptr<trace::TraceWriter> writer_;
  std::unique_ptr<engine::Engine> engine_;
};

}  // namespace

ServedRun::Opened ServedRun::open(const InferOptions& options, trace::TraceWindow* window) {
  return options.target.kind == runtime::TargetKind::null ? NullRun::open(options, window)
                                                          : ModelRun::open(options, window);
}

tl::expected<void, std::string> ServedRun::begin_trace(trace::TraceWindow* window,
                                                       std::uint32_t num_blocks) {
  auto file = create_trace("forge-infer", options_.trace_file, options_.trace_limits);
  if (!file) return tl::unexpected(std::move(file.error()));
  trace_file_ = *std::move(file);
  std::vector<trace::TraceOutput*> outputs;
  if (trace_file_ != nullptr) outputs.push_back(trace_file_.get());
  if (window != nullptr && keeps_last_steps(options_, num_blocks)) outputs.push_back(window);
  if (outputs.empty()) return {};
  trace_ = record(outputs,
                  options_.exposes_text ? trace::TraceTokens::exposed : trace::TraceTokens::veiled);
  if (trace_->flush()) return {};
  return tl::unexpected("--trace: '" + options_.trace_file + "' has not taken the header");
}

std::string ServedRun::finish() {
  if (trace_ == nullptr || trace_->flush()) return {};
  return "--trace: '" + options_.trace_file + "' has only the first " +
         std::to_string(trace_->steps_flushed()) + " steps";
}

}  // namespace forge::apps
