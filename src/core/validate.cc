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
  std::string operator()(const NoPrefixCache&) const {
    return "a session, or prefix_cache force, needs the prefix cache, which is off here";
  }
};

}  // namespace

std::string to_string(const ConfigError& error) {
  return error.name + " is " + std::to_string(error.value) + ", accepted: " + error.accepted;
}

tl::expected<void, ConfigError> validate(const SchedulerConfig& config) {
  struct Field {
    const char* name;
    std::uint64_t value;
    std::uint64_t lowest;
    std::uint64_t highest;
  };
  constexpr std::uint64_t kAny32 = std::numeric_limits<std::uint32_t>::max();
  constexpr std::uint64_t kAny64 = std::numeric_limits<std::uint64_t>::max();
  const Field fields[] = {
      {"num_blocks", config.num_blocks, 1, kAny32 - 1},
      {"block_size", config.block_size, 1, 1u << 24},
      {"max_batch_size", config.max_batch_size, 1, kAny32 - 1},
      {"max_batch_tokens", config.max_batch_tokens, config.max_batch_size, kAny32},
      {"prefill_chunk_size", config.prefill_chunk_size, 1, kAny32},
      {"watermark_blocks", config.watermark_blocks, 0, config.num_blocks},
      {"priority_head_start", config.priority_head_start, 0, 1u << 16},
      {"session_idle_steps", config.session_idle_steps, 1, kAny64},
  };
  for (const Field& field : fields) {
    if (field.value < field.lowest || field.value > field.highest) {
      return tl::unexpected(
          ConfigError{field.name, field.value,
                      std::to_string(field.lowest) + " .. " + std::to_string(field.highest)});
    }
  }
  return {};
}

std::string to_string(const SubmitError& error) { return std::visit(ErrorText{}, error); }

tl::expected<void, SubmitError> validate(const Request& request, const SchedulerConfig& config) {
  // Positions and the slots of one table are 32-bit numbers; a table has up to block_size spare.
  const std::uint64_t slots = std::uint64_t{config.num_blocks} * config.block_size;
  const std::uint64_t positions = std::numeric_limits<std::uint32_t>::max() - config.block_size;
  const std::uint64_t capacity = std::min(slots, positions);
  const std::uint64_t prompt = request.prompt.size();
  if (prompt == 0) return tl::unexpected<SubmitError>(EmptyPrompt{});
  if (request.max_new_tokens == 0) return tl::unexpected<SubmitError>(NothingToGenerate{});
  if (prompt > capacity || request.max_new_tokens > capacity - prompt) {
    return tl::unexpected<SubmitError>(NeverFits{prompt, request.max_new_tokens, capacity});
  }
  const bool insists = request.session || request.prefix_cache == PrefixCacheUse::force;
  const bool has_none = config.prefix_cache == PrefixCacheKind::none ||
                        request.prefix_cache == PrefixCacheUse::disable;
  if (insists && has_none) return tl::unexpected<SubmitError>(NoPrefixCache{});
  return {};
}

}  // namespace forge
