#include "forge/executor/step_answer.h"

namespace forge::executor {

/// Of a slice that samples.
FinishSignal StepAnswer::signal_of(const SequenceTable::Sequence& sequence,
                                   std::span<const TokenId> tokens) const {
  if (tokens.empty()) return FinishSignal::not_finite;
  return ends(sequence, tokens.back()) ? FinishSignal::eos : FinishSignal::none;
}

std::uint32_t StepAnswer::accept(const StepSlices& step, const StepSlice& slice,
                                 const Verification& verdict, StepResult& result) {
  SequenceTable::Sequence& sequence = *slice.sequence;
  SliceResult answer{.seq = slice.slice.seq,
                     .first_token = static_cast<std::uint32_t>(result.tokens.size())};
  for (const TokenId draft : step.drafts(slice).first(verdict.accepted)) {
    result.tokens.push_back(draft);
  }
  if (verdict.own) result.tokens.push_back(*verdict.own);
  answer.token_count = verdict.accepted + (verdict.own ? 1 : 0);
  sequence.valid = slice.known_end() + verdict.accepted;
  for (const TokenId token : result.tokens_of(answer)) {
    sequence.tokens.push_back(token);
    sequence.said.add(token);
  }

  if (slice.slice.drafts > 0) {
    speculation_.rounds += 1;
    speculation_.proposed += slice.slice.drafts;
    speculation_.accepted += verdict.accepted;
    speculation_.emitted += answer.token_count;
  }
  if (slice.slice.samples) {
    answer.signal = signal_of(sequence, result.tokens_of(answer));
    answer.drafts = answer.signal == FinishSignal::none ? drafts_wanted_ : 0;
  }
  result.slices.push_back(answer);
  return answer.token_count;
}

}  // namespace forge::executor
