#include "forge/runtime/memory_plan.h"

#include "forge/core/ids.h"
#include "forge/runtime/kv_memory.h"

namespace forge::runtime {
namespace {

tl::expected<void, std::string> check_fits(const MemoryUse& use, std::uint64_t free,
                                           const std::string& whose) {
  if (use.all() <= free) return {};
  return tl::unexpected("the run takes " + std::to_string(use.all()) + " bytes of " + whose + " (" +
                        to_string(use) + "), accepted: up to " + std::to_string(free) + " (" +
                        bytes_text(free) +
                        "), which are free (--num-blocks, --kv-memory, --num-host-blocks)");
}

}  // namespace

std::string to_string(const MemoryUse& use) {
  return bytes_text(use.all()) + ": " + bytes_text(use.weights) + " of weights, " +
         bytes_text(use.scratch) + " of scratch, " + bytes_text(use.kv) + " of KV cache";
}

tl::expected<void, std::string> check_fits(const MemoryPlan& plan, const FreeMemory& free) {
  if (plan.device) {
    auto fits = check_fits(*plan.device, free.device.value_or(0), "the GPU's memory");
    if (!fits) return fits;
  }
  return check_fits(plan.host, free.host, "this machine's memory");
}

std::uint64_t prefix_index_bytes(const SchedulerConfig& config) {
  constexpr std::uint64_t kBytesOfBlock = 64;
  if (config.prefix_cache == PrefixCacheKind::none) return 0;
  return config.cache.num_blocks *
         (kBytesOfBlock + sizeof(TokenId) * std::uint64_t{config.cache.block_size});
}

}  // namespace forge::runtime
