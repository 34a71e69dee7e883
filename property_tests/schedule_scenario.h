// A random scenario for one target: requests that run together under a random configuration, and
// what each of them yields alone on the CPU.
//
// Block and chunk sizes, token budgets, batch sizes, watermarks, priorities, ways to preempt, small
// host memories, both prefix indexes, drafts and the type of KV are drawn. Prompts share random
// prefixes with those before them, repeat them or go on where an earlier answer ended, in sessions
// or without; "hogs" come and go, big requests that take blocks away and so force preemptions; the
// text of some is bound by a grammar, from its beginning or from a mark on; the cache is cleared,
// sessions are released, requests are cancelled or run out of steps, and now and then the target
// fails, or is lost and opened again.
//
// Every read of KV is checked as well (forge/executor/kv_provenance.h), so that a block in the
// wrong place is found even where it would happen to hold the right numbers.
//
// Randomness is rapidcheck's: to be used within rc::check.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "forge/core/scheduler_config.h"
#include "forge/engine/engine.h"
#include "forge/executor/executor_options.h"
#include "forge/executor/model_executor.h"
#include "forge/reference/tiny_config.h"

namespace forge::testing {

/// A target whose steps fail when it is told to.
class FallibleTarget : public executor::ModelExecutor {
 public:
  /// One of the next steps fails, as a rule the very next.
  virtual void fail_soon() = 0;
};
using MakeFallible =
    std::function<std::unique_ptr<FallibleTarget>(const executor::ExecutorOptions&)>;

/// How often runs took the ways that could make a difference.
struct Ways {
  std::uint64_t chunks = 0;  // of prompts, but for the last of each
  std::uint64_t hit_tokens = 0;
  std::uint64_t recovered_tokens = 0;
  std::uint64_t evictions = 0;
  std::uint64_t copies_on_write = 0;
  std::uint64_t blocks_out = 0;
  std::uint64_t blocks_in = 0;
  std::uint64_t narrow_blocks_in = 0;  // of KV of 16 bits
  std::uint64_t recomputes = 0;
  std::uint64_t accepted_drafts = 0;
  std::uint64_t session_hits = 0;  // turns that found something
  std::uint64_t failed_steps = 0;
  std::uint64_t lost_sequences = 0;  // in steps in which all KV was lost
  std::uint64_t deadlines = 0;
  std::uint64_t bound_drafts = 0;  // of requests with a grammar, proposed
  std::uint64_t completed = 0;     // texts of a grammar that ended

  void add(const StepPlan& plan, const StepResult& result);
  void add(const Ways& other);
};

/// The built-in model on the CPU, on which no step fails.
std::unique_ptr<FallibleTarget> never_failing_cpu(const executor::ExecutorOptions& options);

/// Draws a scenario, plays it on a target that `make` makes, and fails the property if a request
/// does not come out as it does alone on one that `make_alone` makes, in a roomy cache, in one
/// chunk, without speculation or prefix cache: the same tokens, and logits that are equal bit for
/// bit. What was ended early must be the beginning of that. Returns: which ways the run took.
/// Requires: models of kScenarioLayers layers and a vocabulary of 320 tokens.
Ways play_scenario(const MakeFallible& make, const MakeFallible& make_alone = never_failing_cpu);
inline constexpr int kScenarioLayers = 3;
inline constexpr reference::TinyConfig kScenarioModel{.layers = kScenarioLayers};

/// Uniform in [low, high], whatever rapidcheck's notion of size.
std::uint32_t draw(std::uint32_t low, std::uint32_t high);
bool one_in(std::uint32_t n);

}  // namespace forge::testing
