// ExecutorOptions: what an executor is made from beside its model, the same for all of them.
//
// It is a value: two executors of equal options and models yield the same tokens and logits for the
// same request, bit for bit, whichever kind they are (cpu, sim, cuda).
#pragma once

#include <cstdint>
#include <memory>
#include <tl/expected.hpp>
#include <vector>

#include "forge/core/ids.h"
#include "forge/core/names.h"
#include "forge/core/sizes.h"
#include "forge/numerics/kv_type.h"

namespace forge {
class Heartbeat;
namespace grammar {
class OutputCompiler;
}
}  // namespace forge

namespace forge::executor {

/// Whether this is a checked build: debug or sanitized, unless FORGE_CHECKED says otherwise.
#ifdef FORGE_CHECKED
inline constexpr bool kCheckedBuild = true;
#else
inline constexpr bool kCheckedBuild = false;
#endif

/// Where drafts come from (drafter.h).
enum class DraftSource : std::uint8_t {
  layers,  ///< the model's first layers
  ngram,   ///< what followed the same tokens earlier in the text
  model,   ///< a smaller model
};
constexpr Names<DraftSource> names_of(DraftSource) { return {"layers", "ngram", "model"}; }

struct ExecutorOptions {
  CacheShape cache;          ///< as in SchedulerConfig; host blocks are allocated at the start, too
  BatchLimits batch;         ///< as in SchedulerConfig; a GPU sizes its memory by it
  std::uint32_t drafts = 0;  ///< offered for each step, at most; 0: no speculation
  static constexpr IntegerRange kDrafts{0, 64};
  DraftSource draft_source =
      DraftSource::layers;  ///< as the executor is given a draft model, or not
  int draft_layers = 2;     ///< layers of the model that draft, 1 .. all
  numerics::KvType kv_type =
      numerics::KvType::f32;                ///< what is kept in the cache of keys and values
  bool digest_logits = false;               ///< fill StepResult::logits (logits_digest.h)
  std::vector<TokenId> eos = {TokenId(0)};  ///< each ends a sequence, unless its request ignores it
  bool check_kv = kCheckedBuild;            ///< abort at a read of wrong KV; results are the same
  /// Makes the grammars of requests, over the vocabulary of the model, ending by `eos`; null: such
  /// requests are refused.
  std::shared_ptr<grammar::OutputCompiler> grammars;
  Heartbeat* heartbeat = nullptr;  ///< beats as a step gets on (core/heartbeat.h); borrowed

  friend bool operator==(const ExecutorOptions&, const ExecutorOptions&) = default;
};

/// Checks the options of an executor whose model has `layers` layers. Errors: the first field that
/// is out of range.
tl::expected<void, ConfigError> validate(const ExecutorOptions& options, int layers);

}  // namespace forge::executor
