// ExecutorOptions: what an executor is made from beside its model, the same for all of them.
//
// A value: two executors of equal options and models yield the same tokens and logits for the same
// request, bit for bit, whichever kind they are (cpu, sim, cuda).
#pragma once

#include <cstdint>
#include <string>
#include <tl/expected.hpp>
#include <vector>

#include "forge/core/ids.h"

namespace forge::executor {

/// Whether this is a checked build: debug or sanitized, unless FORGE_CHECKED says otherwise.
#ifdef FORGE_CHECKED
inline constexpr bool kCheckedBuild = true;
#else
inline constexpr bool kCheckedBuild = false;
#endif

struct ExecutorOptions {
  std::uint32_t num_blocks = 512;           ///< as SchedulerConfig, 1 .. 2^24
  std::uint32_t block_size = 16;            ///< as SchedulerConfig, 1 .. 65536
  std::uint32_t num_host_blocks = 0;        ///< as SchedulerConfig, up to 2^24; taken at the start
  std::uint32_t max_batch_size = 16;        ///< as SchedulerConfig; what a GPU sizes its memory by
  std::uint32_t max_batch_tokens = 4096;    ///< as SchedulerConfig; likewise
  std::uint32_t drafts = 0;                 ///< asked for in each step; 0: no speculation; up to 64
  int draft_layers = 2;                     ///< of the model, from 1 to all of them
  bool digest_logits = false;               ///< fill StepResult::logits (logits_digest.h)
  std::vector<TokenId> eos = {TokenId(0)};  ///< each ends a sequence, unless its request ignores it
  bool check_kv = kCheckedBuild;            ///< abort at a read of wrong KV; results are the same

  friend bool operator==(const ExecutorOptions&, const ExecutorOptions&) = default;
};

/// `field` is `value`; it must be `accepted`.
struct OptionError {
  std::string field;
  std::string value;
  std::string accepted;

  friend bool operator==(const OptionError&, const OptionError&) = default;
};
std::string to_string(const OptionError& error);

/// Of an executor for a model of so many layers. Errors: the first field that is out of range.
tl::expected<void, OptionError> validate(const ExecutorOptions& options, int layers);

}  // namespace forge::executor
