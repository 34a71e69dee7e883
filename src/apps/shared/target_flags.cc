#include "target_flags.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <concepts>
#include <map>
#include <memory>
#include <type_traits>

#include "flag_choice.h"
#include "forge/gpu/gpu_options.h"
#include "forge/linear/thread_pool.h"
#include "forge/sim/open_device.h"

namespace forge::apps {
namespace {

/// Groups of flags that not every target has a use for.
constexpr const char* kModelFlags = "Model";
constexpr const char* kDeviceFlags = "Device";

CLI::Option* add(CLI::App& app, const char* flag, auto& value, const char* help) {
  return app.add_option(flag, value, help)->capture_default_str();
}
CLI::Option* add(CLI::App& app, const char* flag, std::unsigned_integral auto& value,
                 const IntegerRange& range, const char* help) {
  using T = std::remove_reference_t<decltype(value)>;
  return add(app, flag, value, help)
      ->check(CLI::Range(static_cast<T>(range.lowest), static_cast<T>(range.highest)));
}

void add_batch_flags(CLI::App& app, SchedulerConfig& config) {
  const char* group = "KV cache and batch";
  add(app, "--num-blocks", config.cache.num_blocks, CacheShape::kNumBlocks, "Blocks of KV cache")
      ->group(group);
  add(app, "--block-size", config.cache.block_size, CacheShape::kBlockSize, "Tokens of a block")
      ->group(group);
  add(app, "--max-batch-size,--max-concurrent", config.batch.max_batch_size,
      BatchLimits::kMaxBatchSize, "Most sequences that run in one step")
      ->group(group);
  add(app, "--max-batch-tokens", config.batch.max_batch_tokens, BatchLimits::kMaxBatchTokens,
      "Most tokens of one step, drafts included; at least --max-batch-size")
      ->group(group);
  add(app, "--prefill-chunk-size", config.prefill_chunk_size, SchedulerConfig::kPrefillChunkSize,
      "Most tokens of one prompt that run in one step")
      ->group(group);
  add(app, "--watermark-blocks", config.watermark_blocks, SchedulerConfig::kWatermarkBlocks,
      "Blocks that admission leaves to the sequences that run; up to --num-blocks")
      ->group(group);
  add(app, "--memory-pressure", config.memory_pressure, SchedulerConfig::kMemoryPressure,
      "Percentage of blocks in use beyond which no sequence is admitted while another one runs")
      ->group(group);
  add(app, "--decode-priority", config.decode_priority, SchedulerConfig::kDecodePriority,
      "Percentage of --max-batch-tokens that prompts leave alone while sequences decode")
      ->group(group);
  add(app, "--priority-head-start", config.priority_head_start, SchedulerConfig::kPriorityHeadStart,
      "Earlier submissions of its user that a request of the next higher priority goes before")
      ->group(group);
}

void add_preemption_flags(CLI::App& app, SchedulerConfig& config) {
  const char* group = "Preemption";
  add_choice(app, "--preemption", config.preemption,
             "What becomes of the KV of a preempted sequence: recompute (dropped), swap (copied "
             "to the host while it has room) or auto (the cheaper one)")
      ->group(group);
  add(app, "--num-host-blocks", config.cache.num_host_blocks, CacheShape::kNumHostBlocks,
      "Blocks of KV in host memory, for swapping")
      ->group(group);
  add(app, "--swap-setup-cost", config.swap_setup_cost, SchedulerConfig::kSwapCost,
      "auto: fixed cost of a swap, out and in, in tokens to recompute")
      ->group(group);
  add(app, "--swap-block-cost", config.swap_block_cost, SchedulerConfig::kSwapCost,
      "auto: cost of swapping a block, out and in, in tokens to recompute")
      ->group(group);
}

void add_prefix_flags(CLI::App& app, SchedulerConfig& config) {
  const char* group = "Prefix cache";
  add_choice(app, "--prefix-cache", config.prefix_cache,
             "Index of cached prefixes: none, radix (a tree of tokens) or hash (chained hashes); "
             "radix and hash find the same")
      ->group(group);
  add(app, "--prefix-hash-key", config.prefix_hash_key,
      "Key of the hashes, any 64-bit number (forge-infer draws one at random if none is given)")
      ->group(group);
  add(app, "--prefix-cache-max", config.prefix_cache_max, SchedulerConfig::kAny32,
      "Most blocks that are kept for later requests while nobody uses them")
      ->group(group);
  add(app, "--session-idle-steps", config.session_idle_steps, SchedulerConfig::kSessionIdleSteps,
      "Steps for which the KV of an idle session stays")
      ->group(group);
}

void add_scheduler_flags(CLI::App& app, SchedulerConfig& config) {
  add_batch_flags(app, config);
  add_preemption_flags(app, config);
  add_prefix_flags(app, config);
}

void add_model_flags(CLI::App& app, runtime::ModelSource& source) {
  const char* group = kModelFlags;
  const auto set_model = [&source](const std::string& model) {
    const auto known = runtime::set_model(source, model);
    if (!known) throw CLI::ValidationError("--model", known.error());
  };
  app.add_option_function<std::string>(
         "--model", set_model,
         "A directory with config.json and SafeTensors, a .gguf file, the built-in model, or one "
         "like it with random weights, whose parts can be chosen: forge-tiny:seed=7,layers=2 (also "
         "hidden_size, heads, kv_heads, ffn_size) [forge-tiny]")
      ->group(group);
  const auto add_lora = [&source](const std::string& text) {
    const auto adapter = checkpoint::parse_lora(text);
    if (!adapter) throw CLI::ValidationError("--lora", adapter.error());
    source.lora.push_back(*adapter);
  };
  app.add_option_function<std::vector<std::string>>(
         "--lora",
         [add_lora](const std::vector<std::string>& texts) {
           for (const std::string& text : texts) add_lora(text);
         },
         "A LoRA adapter, a directory as PEFT writes it, DIR or DIR:SCALE, merged into the model "
         "of --model; may be given several times, in order")
      ->type_name("TEXT")
      ->expected(1)
      ->take_all()
      ->group(group);
  app.add_option("--threads", source.threads,
                 "Threads that compute on the CPU [one for each core, one alone for forge-tiny]")
      ->check(CLI::Range(1, linear::ThreadPool::kThreadsMax))
      ->group(group);
  add_choice(app, "--numerics", source.numerics,
             "canonical: as defined, so that a trace replays equal on every machine and every "
             "target; native (cpu): products of bf16 by the instruction of this CPU for them, "
             "where it has one; fast (sim, cuda): tensor cores, for models with weights of 16 "
             "bits or of codes; auto: native on cpu, on cuda fast where the model has the shapes, "
             "otherwise "
             "canonical")
      ->group(group);
  const auto set = [&source](const std::string& text) {
    const auto memory = runtime::parse_kv_memory(text);
    if (!memory) throw CLI::ValidationError("--kv-memory", memory.error());
    source.kv_memory = *memory;
  };
  app.add_option_function<std::string>(
         "--kv-memory", set,
         "Memory of the KV cache, 2GiB or 40% of what is free, instead of --num-blocks [a full "
         "batch of the longest texts, at most 50%]")
      ->excludes(app.get_option_no_throw("--num-blocks"))
      ->group(group);
}

void add_gpu_memory(CLI::App& app, runtime::DeviceOptions& options) {
  app.add_option("--gpu-memory", options.gpu_memory,
                 "The part of the free memory of the GPU, of this machine where it is simulated, "
                 "that weights, scratch and KV may take; blocks of KV fill it, but for a simulated "
                 "GPU no more than a full batch of the longest texts [0.9 for a model from a file]")
      ->check(CLI::Range(0.01, 1.0))
      ->excludes(app.get_option("--num-blocks"))
      ->excludes(app.get_option("--kv-memory"))
      ->group(kDeviceFlags);
}

/// What a flag that was not given is to be depends on others.
struct SpeculationFlags {
  const CLI::Option* drafts;
  const CLI::Option* source;
  const CLI::Option* layers;
  const CLI::Option* lengths;
  const CLI::Option* break_even;
};

SpeculationFlags add_speculation_flags(CLI::App& app, runtime::TargetOptions& options) {
  using executor::DraftSource;
  const char* group = "Speculation";
  executor::ExecutorOptions& executor = options.executor;
  SpeculationFlags flags{};
  flags.drafts = add(app, "--speculative", executor.drafts, executor::ExecutorOptions::kDrafts,
                     "Most drafts a step and sequence; 0 is none [8 where --draft is given]")
                     ->group(group);
  const auto set_source = [&options](const std::string& source) {
    DraftSource& kind = options.executor.draft_source;
    kind = source == name_of(DraftSource::ngram)    ? DraftSource::ngram
           : source == name_of(DraftSource::layers) ? DraftSource::layers
                                                    : DraftSource::model;
    options.source.draft = kind == DraftSource::model ? source : "";
  };
  flags.source = app.add_option_function<std::string>(
                        "--draft", set_source,
                        "What proposes drafts: layers (the first ones of the model), ngram (what "
                        "followed the same tokens earlier in the text), or a smaller model of the "
                        "same vocabulary: its file, directory or name [layers]")
                     ->group(group);
  flags.layers =
      app.add_option("--draft-layers", executor.draft_layers, "layers: how many [half of them]")
          ->check(CLI::Range(1, 1024))
          ->group(group);
  flags.lengths = add_choice(app, "--draft-lengths", options.scheduler.draft_lengths,
                             "adaptive: as many drafts as those before let expect to be kept, 0 to "
                             "8; fixed: --speculative in each step [adaptive]")
                      ->default_str("")
                      ->group(group);
  flags.break_even = app.add_option("--draft-break-even", options.scheduler.draft_break_even,
                                    "adaptive: percentage of drafts kept below which a sequence "
                                    "goes on without [90; a model from a file 60, with ngram 20]")
                         ->check(CLI::Range(SchedulerConfig::kDraftBreakEven.lowest,
                                            SchedulerConfig::kDraftBreakEven.highest))
                         ->group(group);
  return flags;
}

/// Refuses flags that say how to draft where nobody does.
void refuse_without_drafts(const CLI::App& app) {
  for (const char* flag :
       {"--draft-layers", "--draft-lengths", "--draft-break-even", "--draft-alarm"}) {
    const CLI::Option* option = app.get_option_no_throw(flag);  // not every program has each
    if (option != nullptr && option->count() > 0) {
      throw CLI::ValidationError(flag, "accepted with --draft or --speculative");
    }
  }
}

/// What depends on the drafter and was not given.
void complete(const CLI::App& app, runtime::TargetOptions& options, const SpeculationFlags& flags) {
  using executor::DraftSource;
  executor::ExecutorOptions& executor = options.executor;
  if (flags.layers->count() == 0) {  // configure() knows the layers of a file
    executor.draft_layers =
        options.source.is_file() ? 0 : std::max(1, options.source.builtin.config().layers / 2);
  } else if (executor.draft_source != DraftSource::layers) {
    throw CLI::ValidationError("--draft-layers", "accepted with --draft layers");
  }
  if (flags.source->count() > 0 && executor.drafts == 0) {
    if (flags.drafts->count() > 0) {
      throw CLI::ValidationError("--speculative", "0, accepted beside --draft: 1 .. 64");
    }
    executor.drafts = 8;
  }
  if (executor.drafts == 0) refuse_without_drafts(app);
  if (flags.lengths->count() == 0 && executor.drafts > 0) {
    options.scheduler.draft_lengths = DraftLengths::adaptive;
  }
  if (flags.break_even->count() > 0) {
    if (options.scheduler.draft_lengths == DraftLengths::fixed) {
      throw CLI::ValidationError("--draft-break-even", "accepted with --draft-lengths adaptive");
    }
  } else if (executor.drafts > 0) {
    // Weights of a file are read from memory, so that rows cost little; those of the built-in
    // model stay in the cache, where a row in a batch costs as much as a token. Drafts of the text
    // cost nothing else.
    options.scheduler.draft_break_even = !options.source.is_file()                     ? 90
                                         : executor.draft_source == DraftSource::ngram ? 20
                                                                                       : 60;
  }
}

const std::vector<FlagUse>& flag_uses() {
  using enum runtime::TargetKind;
  static const std::vector<FlagUse> kUses{{"--device", {sim, cuda}},
                                          {"--graphs", {sim, cuda}},
                                          {"--overlap", {sim, cuda}},
                                          {"--chunk-rows", {sim, cuda}},
                                          {"--gpu-memory", {sim, cuda}},
                                          {"--matrix-library", {cuda}},
                                          {"--profile", {cpu}},
                                          {"--schedule-seed", {sim}},
                                          {"--sim-threads", {sim}},
                                          {"--sim-checked", {sim}},
                                          {"--draft-layers", {cpu, sim, cuda}},
                                          {"--draft", {cpu, sim, cuda}}};
  return kUses;
}

/// What --help says of --device.
std::string device_help() {
  if (!sim::built_with_sim())
    return "GPU. cuda: its number, 0 if none is given; this build has no simulated one";
  std::string help = "GPU. sim: the one to simulate, ";
  for (const std::string& name : sim::known_device_names()) help += name + ", ";
  return help +
         "or a JSON file like those of sim/devices; h200 if none is given. cuda: its number, 0 if "
         "none is given";
}

bool of_use(const CLI::Option& option, runtime::TargetKind kind, std::span<const FlagUse> uses) {
  const auto found = std::find_if(
      uses.begin(), uses.end(), [&](const FlagUse& use) { return use.flag == option.get_name(); });
  if (found == uses.end())
    return option.get_group() != kModelFlags || kind != runtime::TargetKind::null;
  return std::find(found->targets.begin(), found->targets.end(), kind) != found->targets.end();
}

}  // namespace

void add_scheduler_options(CLI::App& app, SchedulerConfig& config) {
  add_scheduler_flags(app, config);
  app.parse_complete_callback([&config] {
    if (const auto valid = validate(config); !valid) {
      throw CLI::ValidationError(to_string(valid.error()));
    }
  });
}

void add_target_options(CLI::App& app, runtime::TargetOptions& options) {
  add_scheduler_flags(app, options.scheduler);
  add_model_flags(app, options.source);
  add_gpu_memory(app, options.device);
  const auto set_kv = [&options](const std::string& name) {
    options.kv = from_name<numerics::KvType>(name);
    options.executor.kv_type = *options.kv;
  };
  app.add_option_function<std::string>(
         "--kv", set_kv,
         "How the KV cache keeps its numbers: f32, as they are computed; bf16 or f16, rounded to "
         "nearest, in half the memory. The result depends on it, on every target alike [f32; with "
         "fast numerics that of the weights]")
      ->check(CLI::IsMember(std::vector<std::string>{"bf16", "f16", "f32"}))
      ->group(kModelFlags);
  const SpeculationFlags speculation = add_speculation_flags(app, options);
  const CLI::Option* num_blocks = app.get_option("--num-blocks");
  app.parse_complete_callback([&app, &options, speculation, num_blocks] {
    options.fit_blocks = num_blocks->count() == 0;
    complete(app, options, speculation);
    const auto has = runtime::validate_numerics(options.kind, options.source.numerics);
    if (!has) throw CLI::ValidationError(has.error());
    if (const auto valid = validate(options); !valid) throw CLI::ValidationError(valid.error());
  });
}

CLI::Option* add_acceptance_band(CLI::App& app, engine::AcceptanceBand& band) {
  const auto set = [&band](const std::string& text) {
    const auto parsed = engine::parse_band(text);
    if (!parsed) throw CLI::ValidationError("--draft-alarm", parsed.error());
    band = *parsed;
  };
  return app.add_option_function<std::string>(
      "--draft-alarm", set,
      "Say so when fewer or more drafts are kept than LOW-HIGH, in percent (of a server: of the "
      "last 1000), as 20-95 [never]");
}

CLI::Option* add_chat_template(CLI::App& app, runtime::ModelSource& source) {
  return app.add_option("--chat-template", source.chat_template,
                        "File with a Jinja template for chat, in place of the model's own; a model "
                        "without one has ChatML");
}

void add_target_choice(CLI::App& app, runtime::TargetKind& kind, const char* help,
                       std::span<const runtime::TargetKind> kinds) {
  std::map<std::string, runtime::TargetKind> choices;
  for (const runtime::TargetKind choice : kinds) choices.emplace(name_of(choice), choice);
  add_choice(app, "--target", kind, help, choices);
}

void add_device_options(CLI::App& app, runtime::DeviceOptions& options) {
  const char* group = kDeviceFlags;
  app.add_option("--device", options.device, device_help())->group(group);
  add_choice(app, "--graphs", options.graphs, "Record decode steps once and replay them",
             {{"on", true}, {"off", false}})
      ->group(group);
  add_choice(app, "--overlap", options.overlap,
             "Begin kernels before the ones before them have ended, where these allow it, and send "
             "tokens on their way while the device works on the next step",
             {{"on", true}, {"off", false}})
      ->group(group);
  add_choice(app, "--matrix-library", options.matrix_library,
             "cuda, fast numerics: leave products of many rows to cuBLASLt where it is found and a "
             "trial when the program starts finds the same bits",
             {{"on", true}, {"off", false}})
      ->group(group);
  app.add_option("--chunk-rows", options.chunk_rows,
                 "Rows that go through the model together: more of them read weights more seldom "
                 "and take more memory [cuda 2048, sim 512]")
      ->check(CLI::Range(static_cast<std::uint32_t>(gpu::GpuOptions::kChunkRows.lowest),
                         static_cast<std::uint32_t>(gpu::GpuOptions::kChunkRows.highest)))
      ->group(group);
  app.add_option("--schedule-seed", options.schedule_seed,
                 "sim: seed of the order in which threads run, which changes nothing [in order]")
      ->group(group);
  add(app, "--sim-threads", options.host_threads, "sim: threads of this machine that are used")
      ->check(CLI::Range(1, 1024))
      ->group(group);
  app.add_flag("--sim-checked", options.checked,
               "sim: look for races, accesses out of bounds and missing barriers in kernels")
      ->group(group);
}

std::string misplaced_flag(const CLI::App& app, runtime::TargetKind kind,
                           std::span<const FlagUse> more) {
  for (const CLI::Option* option : app.get_options()) {
    if (option->count() == 0) continue;
    if (!of_use(*option, kind, flag_uses()) || !of_use(*option, kind, more)) {
      return option->get_name() + " does not apply to --target " + std::string(name_of(kind));
    }
  }
  return {};
}

}  // namespace forge::apps
