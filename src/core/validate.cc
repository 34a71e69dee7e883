#include <algorithm>
#include <limits>

#include "forge/core/scheduler.h"

namespace forge {
namespace {

struct ErrorText {
  std::string operator()(const NeverFits& e) const {
    return "prompt of " + std::to_string(e.prompt_tokens) + " tokens plus max_new_tokens " +
           std::to_string(e.max_new_tokens) + " exceeds the KV cache of " +
           std::to_string(e.capacity_tokens) + " tokens";
  }
  std::string operator()(const EmptyPrompt&) const {
    return "the prompt has no tokens; at least 1";
  }
  std::string operator()(const NothingToGenerate&) const {
    return "max_new_tokens is 0; at least 1";
  }
  std::string operator()(const FieldOutOfRange& e) const { return to_string(e.error); }
  std::string operator()(const NoPrefixCache&) const {
    return "a session needs the prefix cache, which is off here";
  }
  std::string operator()(const TargetRefuses& e) const { return e.reason; }
};

}  // namespace

tl::expected<void, ConfigError> validate(const CacheShape& cache, const BatchLimits& batch) {
  return validate({{"num_blocks", cache.num_blocks, CacheShape::kNumBlocks},
                   {"block_size", cache.block_size, CacheShape::kBlockSize},
                   {"num_host_blocks", cache.num_host_blocks, CacheShape::kNumHostBlocks},
                   {"max_batch_size", batch.max_batch_size, BatchLimits::kMaxBatchSize},
                   {"max_batch_tokens",
                    batch.max_batch_tokens,
                    {batch.max_batch_size, BatchLimits::kMaxBatchTokens.highest}}});
}

tl::expected<void, ConfigError> validate(const SchedulerConfig& config) {
  using C = SchedulerConfig;
  if (auto valid = validate(config.cache, config.batch); !valid) return valid;
  return validate({{"prefill_chunk_size", config.prefill_chunk_size, C::kPrefillChunkSize},
                   {"watermark_blocks", config.watermark_blocks, {0, config.cache.num_blocks}},
                   {"memory_pressure", config.memory_pressure, C::kMemoryPressure},
                   {"decode_priority", config.decode_priority, C::kDecodePriority},
                   {"priority_head_start", config.priority_head_start, C::kPriorityHeadStart},
                   {"draft_break_even", config.draft_break_even, C::kDraftBreakEven},
                   {"session_idle_steps", config.session_idle_steps, C::kSessionIdleSteps}});
}

tl::expected<void, ConfigError> validate(const SamplingParams& params) {
  using S = SamplingParams;
  if (params == S{}) return {};  // most are, where the policy alone is asked
  const double repetition{params.repetition_penalty};
  auto valid = validate({{"temperature", double{params.temperature}, S::kTemperature},
                         {"repetition_penalty", repetition, S::kRepetitionPenalty},
                         {"presence_penalty", double{params.presence_penalty}, S::kPenalty},
                         {"frequency_penalty", double{params.frequency_penalty}, S::kPenalty},
                         {"top_k", params.top_k, S::kTopK},
                         {"top_p", double{params.top_p}, S::kProbability},
                         {"min_p", double{params.min_p}, S::kProbability},
                         {"logprobs", params.logprobs.value_or(0), S::kLogprobs}});
  if (!valid) return valid;
  if (params.grammar && params.grammar->forms.empty()) {
    return tl::unexpected(ConfigError{"grammar", "without a form", "at least one"});
  }
  const std::vector<TokenBias>& biases = params.logit_bias;
  if (biases.size() > S::kLogitBiasMax) {
    return tl::unexpected(ConfigError{"logit_bias", std::to_string(biases.size()) + " tokens",
                                      "up to " + std::to_string(S::kLogitBiasMax)});
  }
  for (std::size_t i = 0; i < biases.size(); ++i) {
    const std::string token = std::to_string(biases[i].token.value);
    if (i > 0 && !(biases[i - 1].token < biases[i].token)) {
      return tl::unexpected(ConfigError{
          "logit_bias", "token " + token + " after " + std::to_string(biases[i - 1].token.value),
          "tokens in ascending order"});
    }
    valid = validate({{"logit_bias", double{biases[i].bias}, TokenBias::kBias}});
    if (!valid) return valid;
  }
  return {};
}

tl::expected<void, ConfigError> validate_fields(const Request& request) {
  if (!Request::kWeight.contains(request.weight)) {
    return validate({{"weight", request.weight, Request::kWeight}});
  }
  return validate(request.sampling);
}

std::string to_string(const SubmitError& error) { return std::visit(ErrorText{}, error); }

std::uint64_t capacity_tokens(const SchedulerConfig& config) {
  // Positions and the slots of one table are 32-bit numbers; a table has up to block_size spare.
  const std::uint64_t slots = std::uint64_t{config.cache.num_blocks} * config.cache.block_size;
  const std::uint64_t positions =
      std::numeric_limits<std::uint32_t>::max() - config.cache.block_size;
  return std::min(slots, positions);
}

tl::expected<void, SubmitError> validate(const Request& request, const SchedulerConfig& config) {
  const std::uint64_t capacity = capacity_tokens(config);
  const std::uint64_t prompt = request.prompt.size();
  if (prompt == 0) return tl::unexpected<SubmitError>(EmptyPrompt{});
  if (request.max_new_tokens == 0) return tl::unexpected<SubmitError>(NothingToGenerate{});
  if (prompt > capacity || request.max_new_tokens > capacity - prompt) {
    return tl::unexpected<SubmitError>(NeverFits{prompt, request.max_new_tokens, capacity});
  }
  if (auto valid = validate_fields(request); !valid) {
    return tl::unexpected<SubmitError>(FieldOutOfRange{std::move(valid.error())});
  }
  const bool has_none = config.prefix_cache == PrefixCacheKind::none ||
                        request.prefix_cache == PrefixCacheUse::disable;
  if (request.session && has_none) return tl::unexpected<SubmitError>(NoPrefixCache{});
  return {};
}

}  // namespace forge
