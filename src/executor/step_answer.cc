#include "forge/executor/step_answer.h"

#include "forge/core/check.h"

namespace forge::executor {
namespace {

/// The output of `sequence` grows by a token. False if its grammar has no such output.
bool add_token(SequenceTable::Sequence& sequence, TokenId token) {
  sequence.tokens.push_back(token);
  sequence.said.add(token);
  if (!sequence.output) return true;
  const grammar::Matched read = sequence.output->accept_token(token.value);
  // At a limit nothing may follow: the masks of the next step say so.
  return read.has_value() || read.error().kind == grammar::MatchError::Kind::limit;
}

}  // namespace

tl::expected<void, std::string> StepAnswer::resume(SequenceTable::Sequence& sequence,
                                                   const PastRun& past) {
  for (const TokenId token : past.output) {
    if (add_token(sequence, token)) continue;
    return tl::unexpected("token " + std::to_string(token.value) +
                          " of its output is not of its grammar");
  }
  sequence.told = past.told;
  if (!past.output.empty() && drafts_most_ > 0) drafter_.offer(sequence, drafts_most_);
  return {};
}

/// Of a slice that samples.
FinishSignal StepAnswer::signal_of(const StepSlices& step, const StepSlice& slice,
                                   std::span<const TokenId> tokens) const {
  if (tokens.empty()) {
    const FinishSignal failure = step.masks().failure(slice.first_pick);
    return failure != FinishSignal::none ? failure : FinishSignal::not_finite;
  }
  return ends(*slice.sequence, tokens.back()) ? FinishSignal::eos : FinishSignal::none;
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
    // Its mask had it.
    FORGE_CHECK(add_token(sequence, token), "token ", token.value, " is not of the grammar");
  }

  if (slice.slice.drafts > 0) {
    speculation_.rounds += 1;
    speculation_.proposed += slice.slice.drafts;
    speculation_.accepted += verdict.accepted;
    speculation_.emitted += answer.token_count;
  }
  if (slice.slice.samples) {
    answer.signal = signal_of(step, slice, result.tokens_of(answer));
    const bool goes_on = answer.signal == FinishSignal::none;
    if (goes_on && drafts_most_ > 0) answer.drafts = drafter_.offer(sequence, drafts_most_);
  }
  result.slices.push_back(answer);
  return answer.token_count;
}

}  // namespace forge::executor
