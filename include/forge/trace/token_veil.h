// TokenVeil: what a trace says of tokens when it must not say what was asked and answered.
//
// Each token becomes the low half of a keyed hash of its whole prefix, which begins with the salt:
//
//   h(p) = SipHash-2-4(key, h(p - 1) || token p)        h(-1) = SipHash-2-4(key, 0 || salt)
//
//   The dog ran    ->   3204110914  118273341  2961007518
//   The cat ran    ->   3204110914  774023918  90117420
//
// Prefixes are equal exactly where they were (up to collisions of 32 bits), so a scheduler that is
// given a veiled run finds the same blocks and decides the same: replay_plans() (replay.h). Lengths
// are told. What the tokens were cannot be looked up, since the key is known to nobody else.
//
// Left out is what would say it otherwise: grammars and biases of a request, the reports of tokens,
// the digests of logits, with which who has the model could try guesses.
//
// Thread contract: none of its own.
#pragma once

#include <cstdint>
#include <map>

#include "forge/core/names.h"
#include "forge/core/request.h"
#include "forge/core/scheduler_snapshot.h"
#include "forge/core/siphash.h"
#include "forge/core/step_plan.h"

namespace forge::trace {

/// What a trace says of the tokens of its requests: themselves, or what a veil makes of them.
enum class TraceTokens : std::uint8_t { exposed, veiled };
constexpr Names<TraceTokens> names_of(TraceTokens) { return {"exposed", "veiled"}; }

class TokenVeil {
 public:
  explicit TokenVeil(SipKey key) : key_(key) {}
  /// A veil whose key is drawn at random.
  static TokenVeil random();

  /// The request as the trace has it.
  Request submit(SeqId seq, const Request& request);

  /// The result as the trace has it; valid until the next call. Requires: it answers `plan`, whose
  /// sequences were submitted.
  const StepResult& step(const StepPlan& plan, const StepResult& result);

  /// The snapshot as the trace has it, but for the tokens of its sequences, which are those of its
  /// requests.
  SchedulerSnapshot snapshot(const SchedulerSnapshot& scheduler) const;

 private:
  using Prefix = std::uint64_t;  // h of its last token

  CacheSalt cover(CacheSalt salt) const;
  std::uint64_t hash(std::uint64_t before, std::uint64_t word) const;
  TokenId cover(Prefix& prefix, TokenId token) const;

  SipKey key_;
  std::map<SeqId, Prefix> prefixes_;  // of unfinished sequences
  StepResult result_;
};

}  // namespace forge::trace
