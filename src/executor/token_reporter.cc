#include "forge/executor/token_reporter.h"

#include <limits>
#include <optional>

#include "forge/sampling/sampler.h"

namespace forge::executor {
namespace {

/// Says of `report`, which has a token and its place, what the logits of the row before say.
TokenReport with_logprobs(TokenReport report, std::span<const float> logits, std::uint32_t likely,
                          StepResult& result) {
  report.logprob = std::numeric_limits<float>::lowest();
  report.first_likely = static_cast<std::uint32_t>(result.likely.size());
  if (!sampling::can_pick(logits) || report.token.value >= logits.size()) return report;
  const sampling::LogSoftmax softmax = sampling::log_softmax(logits);
  report.logprob = softmax(logits[report.token.value]);
  sampling::append_likely(logits, likely, softmax, result.likely);
  report.likely_count = static_cast<std::uint32_t>(result.likely.size()) - report.first_likely;
  return report;
}

}  // namespace

bool is_told(const StepSlice& slice) {
  const SamplingParams& sampling = slice.sequence->request.sampling;
  return slice.told > 0 || (slice.slice.samples && (sampling.logprobs || sampling.margins));
}

void TokenReporter::report(const StepSlices& step, const StepSlice& slice,
                           const Verification& verdict, const LogitsOf& logits_of,
                           StepResult& result) {
  SequenceTable::Sequence& sequence = *slice.sequence;
  const SamplingParams& sampling = sequence.request.sampling;
  const std::uint32_t likely = sampling.logprobs.value_or(0);
  const auto prompt = static_cast<std::uint32_t>(sequence.request.prompt.size());
  for (std::uint32_t i = 0; i < slice.told; ++i) {
    const std::uint32_t position = slice.slice.first + i + 1;
    if (position < sequence.told || position >= prompt) continue;
    const TokenReport report{slice.slice.seq, position, sequence.tokens[position]};
    result.reports.push_back(
        with_logprobs(report, logits_of(slice.first_logits + i), likely, result));
    sequence.told = position + 1;
  }
  if (!sampling.logprobs && !sampling.margins) return;
  const std::span<const TokenId> drafts = step.drafts(slice);
  const std::uint32_t tokens = verdict.accepted + (verdict.own ? 1 : 0);
  for (std::uint32_t i = 0; i < tokens; ++i) {
    const TokenId token = i < verdict.accepted ? drafts[i] : *verdict.own;
    const std::span<const float> logits = logits_of(slice.first_logits + slice.told + i);
    const std::uint32_t position = slice.known_end() + i;
    TokenReport report = with_logprobs({slice.slice.seq, position, token}, logits, likely, result);
    if (sampling.margins) {
      const auto row = pipeline_.process(logits, sampling, sequence.said, drafts.first(i),
                                         step.masks().mask(slice.first_pick + i));
      report.margin = sampling::margin(row, sampling, position, token);
    }
    result.reports.push_back(report);
  }
}

}  // namespace forge::executor
