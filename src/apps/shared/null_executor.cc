#include "null_executor.h"

namespace forge::apps {
namespace {

/// Bits without a pattern, from a place in a sequence. One multiplication and shift twice over
/// (the finaliser of MurmurHash3) is enough, and costs next to nothing beside a decision.
std::uint64_t bits(SeqId seq, std::uint32_t position) {
  std::uint64_t x = (seq.value << 32) ^ position;
  x = (x ^ (x >> 33)) * 0xff51afd7ed558ccd;
  x = (x ^ (x >> 33)) * 0xc4ceb9fe1a85ec53;
  return x ^ (x >> 33);
}

}  // namespace

tl::expected<void, ExecutionError> NullExecutor::execute(const StepPlan& plan, StepResult& result) {
  result.clear();
  result.step = plan.step;
  for (const Slice& slice : plan.slices) {
    const auto first_token = static_cast<std::uint32_t>(result.tokens.size());
    if (slice.samples) {
      const std::uint32_t position = slice.first + slice.count - slice.drafts;
      const std::uint64_t accepted = (bits(slice.seq, position) >> 32) % (slice.drafts + 1);
      for (std::uint32_t i = 0; i <= accepted; ++i) {
        const std::uint64_t place = bits(slice.seq, position + i) % tokens_.count;
        result.tokens.emplace_back(tokens_.first + static_cast<std::uint32_t>(place));
      }
    }
    const auto token_count = static_cast<std::uint32_t>(result.tokens.size()) - first_token;
    result.slices.push_back({slice.seq, first_token, token_count, FinishSignal::none, drafts_});
  }
  return {};
}

}  // namespace forge::apps
