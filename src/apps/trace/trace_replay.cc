#include "trace_replay.h"

#include <CLI/CLI.hpp>
#include <array>
#include <iostream>

#include "forge/runtime/target.h"
#include "forge/runtime/target_header.h"
#include "forge/trace/replay.h"
#include "forge/trace/trace_header.h"
#include "forge/trace/trace_json.h"
#include "null_executor.h"

namespace forge::apps {
namespace {

/// Adapters that have moved. Their scales are as recorded.
tl::expected<void, std::string> choose_lora(std::vector<checkpoint::LoraSource>& adapters,
                                            const std::vector<std::string>& folders) {
  if (folders.empty()) return {};
  if (folders.size() != adapters.size()) {
    const char* const noun = adapters.size() == 1 ? " adapter" : " adapters";
    return tl::unexpected(
        "it ran with " + std::to_string(adapters.size()) + noun +
        ", so it replays without --lora or with as many; given: " + std::to_string(folders.size()));
  }
  for (std::size_t i = 0; i < folders.size(); ++i) adapters[i].path = folders[i];
  return {};
}

/// Changes what the trace says into what the flags ask for.
tl::expected<void, std::string> choose(runtime::TargetOptions& target, const CLI::App& flags,
                                       const ReplayOptions& options) {
  const bool null = target.kind == runtime::TargetKind::null;
  if (null && options.target)
    return tl::unexpected(std::string("no model ran, so it replays without --target"));
  target.kind = options.target.value_or(target.kind);
  target.device = options.device;
  if (!options.model.empty()) {
    if (!target.source.is_file()) {
      return tl::unexpected(std::string("the built-in model ran, so it replays without --model"));
    }
    target.source.path = options.model;
  }
  if (auto moved = choose_lora(target.source.lora, options.lora); !moved) return moved;
  std::string misplaced = misplaced_flag(flags, target.kind);
  if (!misplaced.empty()) return tl::unexpected(std::move(misplaced));
  return validate(target);
}

/// `where`: " on sim" if that was asked for.
int print(const trace::ReplayReport& report, const std::string& where) {
  if (!report.difference) {
    std::cout << report.steps << " steps replayed" << where << ", all equal, digest "
              << trace::digest_text(report.digest) << '\n';
    return kEqual;
  }
  const trace::ReplayDifference& d = *report.difference;
  std::cout << "step " << d.step.value << " (line " << d.line
            << ") differs, recorded against replayed: " << to_string(d.difference) << '\n';
  if (!d.target_error.empty()) std::cout << "the target failed: " << d.target_error << '\n';
  std::cout << report.steps << " steps before it are equal, digest "
            << trace::digest_text(report.digest) << '\n';
  return kDifferent;
}

/// The model that a trace was recorded with. Errors: it cannot be opened, or has fewer layers than
/// the trace's draft.
tl::expected<std::unique_ptr<runtime::LoadedModel>, std::string> open_model(
    const runtime::TargetOptions& options) {
  auto model = runtime::LoadedModel::open(options.source, options.kind);
  if (!model) return model;
  const auto valid = validate(executor_options(options), (*model)->config().layers);
  if (!valid) return tl::unexpected(to_string(valid.error()));
  return model;
}

}  // namespace

void add_replay_options(CLI::App& replay, ReplayOptions& options) {
  const auto set = [&options](const std::string& name) {
    options.target = from_name<runtime::TargetKind>(name);
  };
  replay
      .add_option_function<std::string>("--target", set,
                                        "Run the model on the cpu, on a simulated GPU (sim) or on "
                                        "a GPU (cuda) [as recorded]")
      ->check(CLI::IsMember(std::vector<std::string>{"cpu", "sim", "cuda"}));
  replay.add_option("--model", options.model,
                    "Path of the model that was recorded, if it has moved [as recorded]");
  replay
      .add_option(
          "--lora", options.lora,
          "Directory of a LoRA adapter that was recorded, if it has moved; one for each, in "
          "order; scales are as recorded [as recorded]")
      ->type_name("TEXT")
      ->expected(1)
      ->take_all();
  add_device_options(replay, options.device);
}

int run_replay(const CLI::App& flags, const TraceArgument& file, const ReplayOptions& options) {
  InputTrace trace(file);
  if (const auto opened = trace.open(); !opened) return unusable(opened.error());
  if (trace.reader().header().tokens == trace::TraceTokens::veiled) {
    if (flags.count("--target") > 0 || flags.count("--model") > 0) {
      return unusable(trace.path() +
                      ": its tokens are veiled, so no model can run it again: record "
                      "with --expose-text");
    }
    const auto plans = trace::replay_plans(trace.reader());
    if (!plans) return unusable(trace.error(plans.error()));
    return print(*plans, ": plans alone, since tokens are veiled");
  }
  auto recorded = runtime::from_trace_header(trace.reader().header());
  if (!recorded) return unusable(trace.path() + ": line 1: " + recorded.error());
  runtime::TargetOptions& run = recorded->options;
  if (const auto chosen = choose(run, flags, options); !chosen) {
    return unusable(trace.path() + ": " + chosen.error());
  }
  tl::expected<trace::ReplayReport, trace::TraceError> replayed;
  if (run.kind == runtime::TargetKind::null) {
    NullExecutor executor(run.executor.drafts);
    const reference::TinyConfig usual;
    replayed = replay(trace.reader(), executor, static_cast<std::uint32_t>(usual.vocabulary_size));
  } else {
    const auto model = open_model(run);
    if (!model) return unusable(model.error());
    const auto vocabulary = static_cast<std::uint32_t>((*model)->config().vocabulary_size);
    auto target = runtime::Target::open(run, **model);
    if (!target) return unusable(target.error());
    const auto same =
        runtime::validate_replay(recorded->record, target->record(), **model, run.kind);
    if (!same) return unusable(trace.path() + ": line 1: " + same.error());
    replayed = replay(trace.reader(), target->executor(), vocabulary);
  }
  if (!replayed) return unusable(trace.error(replayed.error()));
  return print(*replayed, options.target ? " on " + std::string(name_of(*options.target)) : "");
}

}  // namespace forge::apps
