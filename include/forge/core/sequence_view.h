// SequenceView: what the scheduler shows of one unfinished sequence, as a value.
//
// This is all that the policy (policy.h) knows of a sequence, and what checkers and tools see. What
// only the mechanism needs is in sequence.h.
#pragma once

#include <cstdint>

#include "forge/core/ids.h"
#include "forge/core/names.h"
#include "forge/core/request.h"
#include "forge/core/step_plan.h"

namespace forge {

enum class SequenceState : std::uint8_t { waiting, prefilling, decoding, finishing };
constexpr Names<SequenceState> names_of(SequenceState) {
  return {"waiting", "prefilling", "decoding", "finishing"};
}

struct SequenceView {
  SeqId seq;
  SequenceState state = SequenceState::waiting;
  Priority priority = Priority::normal;
  std::uint32_t prompt_tokens = 0;
  std::uint32_t output_tokens = 0;
  std::uint32_t max_new_tokens = 0;
  /// Leading tokens whose KV is valid; those of a waiting sequence are in host memory.
  std::uint32_t computed_tokens = 0;
  std::uint32_t preemptions = 0;
  std::uint32_t overtaken = 0;               ///< by its user's, see overtakers_max (policy.h)
  FinishReason finish = FinishReason::none;  ///< why it ends, once it is finishing

  std::uint32_t length() const { return prompt_tokens + output_tokens; }
  friend bool operator==(const SequenceView&, const SequenceView&) = default;
};

}  // namespace forge
