#include "forge/core/cache_delta.h"

#include <algorithm>

namespace forge {

void CacheDelta::clear() {
  cleared = false;
  removed.clear();
  stored.clear();
}

/// A block that was stored a moment ago was not there before.
void CacheDelta::add_removal(BlockId block) {
  const auto here = std::ranges::find(stored, block, &StoredBlock::block);
  if (here != stored.end()) {
    stored.erase(here);
  } else {
    removed.push_back(block);
  }
}

void CacheDelta::add_clear() {
  clear();
  cleared = true;
}

}  // namespace forge
