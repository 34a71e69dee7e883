// forge::open: a model on its target, with its engine, in one call.
//
// Example, given `const std::string& path` and `const std::string& prompt`:
//
//   auto runtime = open(path);  // a directory, a .gguf file, or "forge-tiny"
//   if (!runtime) return runtime.error();
//   engine::Engine& engine = runtime->engine();
//   const auto tokens = runtime->tokenizer().encode(prompt);
//   if (!tokens) return to_string(tokens.error());
//   const auto seq = engine.submit({.prompt = *tokens});
//   if (!seq) return to_string(seq.error());
//   text::TextStream text(runtime->tokenizer());
//   std::string answer;
//   while (engine.has_work()) {
//     const auto [plan, result] = engine.step();
//     for (const TokenId token : result.tokens) answer += text.push(token);
//   }
//   return answer + text.finish();
//
// examples/chat streams such an answer. Several requests may be under way at once: a result says
// of each slice which tokens are whose (step_plan.h).
#pragma once

#include <memory>
#include <span>
#include <string>
#include <tl/expected.hpp>

#include "forge/engine/engine.h"
#include "forge/executor/faulty_executor.h"
#include "forge/runtime/loaded_model.h"
#include "forge/runtime/target.h"
#include "forge/runtime/target_options.h"
#include "forge/text/text_stream.h"
#include "forge/trace/trace_writer.h"

namespace forge::runtime {

/// Owns the model, its target and the engine over both. Thread contract: one thread at a time.
class Runtime {
 public:
  /// Opens the model of options.source, gives the options what they take from it (configure()) and
  /// makes the target. Errors: those of LoadedModel::open, configure and Target::open, in words
  /// that name options as the programs' flags do.
  static tl::expected<Runtime, std::string> open(TargetOptions options);

  engine::Engine& engine() { return *engine_; }
  const text::Tokenizer& tokenizer() const { return model_->tokenizer(); }
  const model::ModelConfig& config() const { return model_->config(); }

  const LoadedModel& model() const { return *model_; }
  Target& target() { return *target_; }
  /// The options after configure(), with the number of blocks and the tokens that end a text.
  const TargetOptions& options() const { return options_; }

  /// Records every event from now on. Digests of logits are in the trace if options had
  /// executor.digest_logits and `tokens` are exposed. Borrows the outputs. Requires: nothing has
  /// been submitted; called once.
  trace::TraceWriter& record(std::span<trace::TraceOutput* const> outputs,
                             trace::TraceTokens tokens = trace::TraceTokens::exposed);

 private:
  Runtime(TargetOptions options, std::unique_ptr<const LoadedModel> model, Target target);

  void make_engine();

  TargetOptions options_;
  std::unique_ptr<const LoadedModel> model_;
  std::unique_ptr<Target> target_;
  std::unique_ptr<executor::FaultyExecutor> faulty_;  // around the target, if it has faults
  std::unique_ptr<trace::TraceWriter> trace_;
  std::unique_ptr<engine::Engine> engine_;
};

/// The same for `model`, in place of the model of options.source: a directory with config.json and
/// SafeTensors, a .gguf file, or the name of the built-in model (builtin_model.h).
tl::expected<Runtime, std::string> open(const std::string& model, TargetOptions options = {});

}  // namespace forge::runtime

namespace forge {

using runtime::open;
using runtime::Runtime;

}  // namespace forge
