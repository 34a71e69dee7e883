// StoredPrompts: a prefix index full of prompts of so many blocks, and for each of them the change
// of a step that stored it in the place of another one.
#pragma once

#include <cstdint>
#include <memory>
#include <random>
#include <vector>

#include "forge/core/cache_delta.h"
#include "forge/core/prefix_index.h"
#include "forge/core/scheduler_config.h"

namespace forge::test {

struct StoredPrompts {
  static constexpr std::uint32_t kBlocks = 4096;
  static constexpr std::uint32_t kBlockSize = 16;
  static constexpr SchedulerConfig kConfig{
      .cache = {.num_blocks = kBlocks, .block_size = kBlockSize},
      .prefix_cache = PrefixCacheKind::hash,
      .prefix_hash_key = 1};

  explicit StoredPrompts(std::uint32_t blocks) : index(make_prefix_index(kConfig)) {
    std::mt19937 random(1);
    std::vector<TokenId> tokens(kBlockSize);
    for (std::uint32_t first = 0; first + blocks <= kBlocks; first += blocks) {
      CacheDelta& delta = deltas.emplace_back();
      PrefixParent parent;
      for (std::uint32_t block = first; block < first + blocks; ++block) {
        for (TokenId& token : tokens) token.value = random() % 128'000;
        index->insert(parent, tokens, BlockId(block));
        StoredBlock stored{.block = BlockId(block)};
        if (block > first) stored.parent = BlockId(block - 1);
        delta.stored.push_back(stored);
        delta.removed.emplace_back(block);
        parent = BlockId(block);
      }
    }
  }

  std::unique_ptr<PrefixIndex> index;
  std::vector<CacheDelta> deltas;
};

}  // namespace forge::test
