// ExecutorOptions: what a target that runs a model is made from, the same for all of them.
//
// A value: two targets of equal options yield the same tokens and logits for the same request, bit
// for bit, whichever kind they are (cpu, sim, cuda).
#pragma once

#include <cstdint>
#include <tl/expected.hpp>
#include <vector>

#include "forge/core/acceptance.h"
#include "forge/core/ids.h"
#include "forge/model/tiny_config.h"

namespace forge {

/// Whether this is a checked build: debug or sanitized, unless FORGE_CHECKED says otherwise.
#ifdef FORGE_CHECKED
inline constexpr bool kCheckedBuild = true;
#else
inline constexpr bool kCheckedBuild = false;
#endif

struct ExecutorOptions {
  TinyConfig model;                       ///< where the reference model runs
  std::uint32_t num_blocks = 512;         ///< as SchedulerConfig, 1 .. 2^24
  std::uint32_t block_size = 16;          ///< as SchedulerConfig, 1 .. 65536
  std::uint32_t num_host_blocks = 0;      ///< as SchedulerConfig, up to 2^24; taken at the start
  std::uint32_t max_batch_size = 16;      ///< as SchedulerConfig; what a GPU sizes its memory by
  std::uint32_t max_batch_tokens = 4096;  ///< as SchedulerConfig; likewise
  std::uint32_t drafts = 0;               ///< asked for in each step; 0: no speculation; up to 64
  int draft_layers = 2;                   ///< of the model, 1 .. model.layers
  AcceptanceRule rule = AcceptanceRule::shared_noise;
  bool digest_logits = false;               ///< fill StepResult::logits (logits_digest.h)
  std::vector<TokenId> eos = {TokenId(0)};  ///< each ends a sequence, unless its request ignores it
  bool check_kv = kCheckedBuild;            ///< abort at a read of wrong KV; results are the same

  friend bool operator==(const ExecutorOptions&, const ExecutorOptions&) = default;
};

/// Errors: the first field that is out of range, the model's first.
tl::expected<void, TinyConfigError> validate(const ExecutorOptions& options);

/// The same for another model than `options.model`, of so many layers.
tl::expected<void, TinyConfigError> validate(const ExecutorOptions& options, int layers);

}  // namespace forge
