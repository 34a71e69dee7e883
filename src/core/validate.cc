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
};

}  // namespace

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
  return {};
}

}  // namespace forge
