#include "forge/core/check.h"
#include "forge/core/hash_index.h"
#include "forge/core/radix_index.h"

namespace forge {

std::unique_ptr<PrefixIndex> make_prefix_index(const SchedulerConfig& config) {
  FORGE_CHECK(config.prefix_cache != PrefixCacheKind::none, "the prefix cache is off");
  if (config.prefix_cache == PrefixCacheKind::radix) return std::make_unique<RadixIndex>(config);
  return std::make_unique<HashIndex>(config);
}

}  // namespace forge
