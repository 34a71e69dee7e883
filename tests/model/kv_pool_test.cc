#include "forge/model/kv_pool.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

namespace forge {
namespace {

const TinyConfig kConfig{.layers = 2, .heads = 4, .kv_heads = 2, .head_size = 4};

float key_at(const numerics::PagedKV& kv, int position, int d) {
  const float* block =
      kv.keys + kv.blocks[static_cast<std::size_t>(position / kv.block_size)] * kv.block_stride;
  return block[d * kv.block_size + position % kv.block_size];
}

float value_at(const numerics::PagedKV& kv, int position, int d) {
  const float* block =
      kv.values + kv.blocks[static_cast<std::size_t>(position / kv.block_size)] * kv.block_stride;
  return block[position % kv.block_size * kv.head_size + d];
}

TEST(KvPool, what_is_stored_at_a_position_is_seen_there_in_its_plane_alone) {
  KvPool pool(kConfig, 5, 3);
  const std::vector<std::uint32_t> table{4, 1, 3};
  float next = 0;
  for (int layer = 0; layer < 2; ++layer) {
    for (int head = 0; head < 2; ++head) {
      for (std::uint32_t position = 0; position < 9; ++position) {
        float key[4], value[4];
        for (int d = 0; d < 4; ++d) {
          key[d] = next++;
          value[d] = next++;
        }
        pool.store({layer, head}, table, position, key, value);
      }
    }
  }
  next = 0;
  for (int layer = 0; layer < 2; ++layer) {
    for (int head = 0; head < 2; ++head) {
      const auto kv = pool.view({layer, head}, table, 9);
      for (int position = 0; position < 9; ++position) {
        for (int d = 0; d < 4; ++d) {
          EXPECT_EQ(key_at(kv, position, d), next++);
          EXPECT_EQ(value_at(kv, position, d), next++);
        }
      }
    }
  }
}

TEST(KvPool, slots_that_nobody_wrote_are_nan) {
  const KvPool pool(kConfig, 2, 3);
  const std::vector<std::uint32_t> table{1};
  EXPECT_TRUE(std::isnan(key_at(pool.view({1, 1}, table, 1), 0, 0)));
}

/// Copies block 0 of `source` to block 2 of `target`, then compares every plane.
void expect_copied(KvPool& source, KvPool& target) {
  const std::vector<std::uint32_t> from{0}, to{2};
  for (int layer = 0; layer < 2; ++layer) {
    for (int head = 0; head < 2; ++head) {
      const auto base = static_cast<float>(10 * layer + head);
      const float key[4] = {base, 1, 2, 3};
      const float value[4] = {4, 5, 6, base};
      source.store({layer, head}, from, 1, key, value);
    }
  }
  target.copy(source, 0, 2);
  for (int layer = 0; layer < 2; ++layer) {
    for (int head = 0; head < 2; ++head) {
      const auto kv = target.view({layer, head}, to, 2);
      EXPECT_EQ(key_at(kv, 1, 0), static_cast<float>(10 * layer + head));
      EXPECT_EQ(value_at(kv, 1, 3), static_cast<float>(10 * layer + head));
    }
  }
}

TEST(KvPool, a_copied_block_holds_every_plane) {
  KvPool pool(kConfig, 3, 2);
  expect_copied(pool, pool);
}

TEST(KvPool, a_block_goes_to_another_pool_and_back) {
  KvPool device(kConfig, 3, 2), host(kConfig, 5, 2);
  expect_copied(device, host);
  expect_copied(host, device);
}

TEST(KvPool, a_host_pool_may_have_no_blocks) { EXPECT_EQ(KvPool(kConfig, 0, 2).num_blocks(), 0U); }

TEST(KvPoolDeathTest, a_copy_outside_a_pool_is_a_programmer_error) {
  KvPool pool(kConfig, 3, 2), host(kConfig, 1, 2);
  EXPECT_DEATH(pool.copy(pool, 0, 3), "from=0 num_blocks=3, to=3 num_blocks=3");
  EXPECT_DEATH(pool.copy(host, 1, 0), "from=1 num_blocks=1, to=0 num_blocks=3");
}

TEST(KvPoolDeathTest, a_copy_between_pools_of_different_layout_is_a_programmer_error) {
  KvPool pool(kConfig, 3, 2), other(kConfig, 3, 4);
  EXPECT_DEATH(pool.copy(other, 0, 0), "floats of a block: 128 and 64");
}

}  // namespace
}  // namespace forge
