#include <algorithm>
#include <map>
#include <memory>

#include "forge/trace/trace_json.h"
#include "target_options.h"

namespace forge {
namespace {

CLI::Option* add(CLI::App& app, const char* flag, auto& value, const char* help) {
  return app.add_option(flag, value, help)->capture_default_str();
}

void add_scheduler_flags(CLI::App& app, SchedulerConfig& config) {
  const char* group = "KV cache and batch";
  const SchedulerConfig& largest = kLargestTraceScheduler;
  add(app, "--num-blocks", config.num_blocks, "Blocks of KV cache")
      ->check(CLI::Range(1u, largest.num_blocks))
      ->group(group);
  add(app, "--block-size", config.block_size, "Tokens of a block")
      ->check(CLI::Range(1u, largest.block_size))
      ->group(group);
  add(app, "--max-batch-size", config.max_batch_size, "Most sequences that run in one step")
      ->check(CLI::Range(1u, largest.max_batch_size))
      ->group(group);
}

void add_model_flags(CLI::App& app, ModelConfig& model) {
  const char* group = "Model";
  add(app, "--model-seed", model.seed, "Seed of the weights")->group(group);
  add(app, "--model-layers", model.layers, "Layers")->check(CLI::Range(1, 1024))->group(group);
  add(app, "--model-dim", model.hidden_size, "Hidden size; heads of size dim / heads")
      ->check(CLI::Range(2, 65536))
      ->group(group);
  add(app, "--model-heads", model.heads, "Query heads")->check(CLI::Range(1, 1024))->group(group);
  add(app, "--model-kv-heads", model.kv_heads, "KV heads, a divisor of the query heads")
      ->check(CLI::Range(1, 1024))
      ->group(group);
  add(app, "--model-ffn-size", model.ffn_size, "Inner size of the feed-forward network")
      ->check(CLI::Range(1, 1 << 20))
      ->group(group);
}

CLI::Option* add_speculation_flags(CLI::App& app, CpuExecutorOptions& executor) {
  const char* group = "Speculation";
  add(app, "--speculative", executor.drafts, "Drafts a step and sequence; 0 is none")
      ->check(CLI::Range(0u, 64u))
      ->group(group);
  static const std::map<std::string, AcceptanceRule> kRules{
      {"shared_noise", AcceptanceRule::shared_noise}, {"rejection", AcceptanceRule::rejection}};
  app.add_option("--acceptance", executor.rule,
                 "Which drafts are kept: shared_noise (same text as without drafts) or rejection "
                 "(same distribution) [shared_noise]")
      ->transform(CLI::CheckedTransformer(kRules).description("RULE"))
      ->group(group);
  return app
      .add_option("--draft-layers", executor.draft_layers,
                  "Layers of the draft model, the first ones of the model's [half of them]")
      ->check(CLI::Range(1, 1024))
      ->group(group);
}

}  // namespace

void add_target_options(CLI::App& app, TargetOptions& options) {
  add_scheduler_flags(app, options.scheduler);
  add_model_flags(app, options.executor.model);
  const CLI::Option* draft_layers = add_speculation_flags(app, options.executor);
  app.parse_complete_callback([&options, draft_layers] {
    CpuExecutorOptions& executor = options.executor;
    ModelConfig& model = executor.model;
    if (model.hidden_size % (2 * model.heads) != 0) {
      throw CLI::ValidationError("--model-dim", std::to_string(model.hidden_size) +
                                                    " is not a multiple of 2 * --model-heads, " +
                                                    std::to_string(2 * model.heads));
    }
    model.head_size = model.hidden_size / model.heads;
    if (draft_layers->count() == 0) executor.draft_layers = std::max(1, model.layers / 2);
    executor.num_blocks = options.scheduler.num_blocks;
    executor.block_size = options.scheduler.block_size;
    if (const auto valid = validate(options); !valid) throw CLI::ValidationError(valid.error());
  });
}

}  // namespace forge
