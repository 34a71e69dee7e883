// TargetOptions: everything that decides which tokens a run produces, in its three forms.
//
//   command line  --num-blocks 512 --model-seed 1 --speculative 4 ...
//   values        SchedulerConfig, ExecutorOptions
//   trace header  "scheduler" (written by the trace layer) and "target" (here):
//     {"kind":"cpu",
//      "model":{"vocabulary_size":320,"hidden_size":64,"layers":4,"heads":4,"kv_heads":2,
//               "head_size":16,"ffn_size":128,"rope_base":10000.0,"norm_eps":9.99...e-06,
//               "seed":1},
//      "drafts":0,"draft_layers":2,"acceptance":"shared_noise","digest_logits":true,"eos":0}
//     or {"kind":"null","drafts":0}
//
// All programs share it, so a flag means the same everywhere, and a trace of one can be
// replayed by another.
#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <tl/expected.hpp>

#include "forge/core/scheduler.h"
#include "forge/cpu/cpu_executor.h"
#include "forge/trace/trace_event.h"

namespace forge {

enum class TargetKind : std::uint8_t {
  cpu,   ///< the reference model (forge/cpu/cpu_executor.h)
  null,  ///< none: the policy alone (null_executor.h)
};

struct TargetOptions {
  TargetKind kind = TargetKind::cpu;
  SchedulerConfig scheduler;
  /// num_blocks, block_size and num_host_blocks follow `scheduler`. Of a null target only
  /// `drafts` matters, and the vocabulary stays that of the default model.
  ExecutorOptions executor;
};

/// Copies into `options.executor` what it has in common with `options.scheduler`.
void follow_scheduler(TargetOptions& options);

/// Most memory that weights, KV (host blocks included) and prefix index together may take. Keeps a
/// typing error, or a damaged trace, from taking the machine down. A null target has only
/// the index.
inline constexpr std::uint64_t kTargetBytesMax = std::uint64_t{4} << 30;

/// The group of flags that a target without a model has no use for.
inline constexpr const char* kModelFlags = "Model";

/// Adds the flags to `app`; the values in `options` are their defaults. Once app.parse() has
/// returned, `options` is valid; what flags cannot check one by one is a CLI::ValidationError.
/// `options` must outlive `app`.
void add_target_options(CLI::App& app, TargetOptions& options);

/// Errors: a text that names the thing, its value and the accepted range.
tl::expected<void, std::string> validate(const TargetOptions& options);

TraceHeader to_trace_header(const TargetOptions& options);

/// Returns valid options. Errors: as validate(), and for a target of another form.
tl::expected<TargetOptions, std::string> from_trace_header(const TraceHeader& header);

/// A fresh target. Requires: valid options.
std::unique_ptr<Executor> make_executor(const TargetOptions& options);

}  // namespace forge
