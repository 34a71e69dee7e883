#include "forge/model/kv_pool.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

namespace forge::model {
namespace {

const KvShape kShape{.layers = 2, .heads = 2, .head_size = 4};

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
  KvPool pool(kShape, 5, 3);
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
  const KvPool pool(kShape, 2, 3);
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
  KvPool pool(kShape, 3, 2);
  expect_copied(pool, pool);
}

TEST(KvPool, a_block_goes_to_another_pool_and_back) {
  KvPool device(kShape, 3, 2), host(kShape, 5, 2);
  expect_copied(device, host);
  expect_copied(host, device);
}

TEST(KvPool, a_host_pool_may_have_no_blocks) { EXPECT_EQ(KvPool(kShape, 0, 2).num_blocks(), 0U); }

TEST(KvPool, latents_are_seen_where_they_were_stored_in_their_layer_alone) {
  KvPool pool({.layers = 3, .heads = 1, .head_size = 5, .layout = KvLayout::latent}, 4, 2);
  const std::vector<std::uint32_t> table{3, 0, 2};
  for (int layer = 0; layer < 3; ++layer) {
    for (std::uint32_t position = 0; position < 6; ++position) {
      const auto base = static_cast<float>(100 * layer + 10 * static_cast<int>(position));
      const float row[5] = {base, base + 1, base + 2, base + 3, base + 4};
      pool.store_latent(layer, table, position, row);
    }
  }
  for (int layer = 0; layer < 3; ++layer) {
    const auto latent = pool.latent_view(layer, table, 6, 3);
    EXPECT_EQ(latent.key_size, 5);
    EXPECT_EQ(latent.value_size, 3);
    for (int position = 0; position < 6; ++position) {
      const auto block = static_cast<std::ptrdiff_t>(table[static_cast<std::size_t>(position / 2)]);
      const float* row = latent.rows + block * latent.block_stride + position % 2 * 5;
      for (int d = 0; d < 5; ++d) {
        EXPECT_EQ(row[d], static_cast<float>(100 * layer + 10 * position + d));
      }
    }
  }
}

TEST(KvPool, a_token_takes_keys_and_values_of_all_heads_or_one_latent_a_layer) {
  EXPECT_EQ((KvShape{.layers = 2, .heads = 4, .head_size = 8}).token_floats(), 2U * 4 * 2 * 8);
  const KvShape latent{.layers = 2, .heads = 1, .head_size = 8, .layout = KvLayout::latent};
  EXPECT_EQ(latent.token_floats(), 2U * 8);
}

TEST(KvPoolDeathTest, a_view_of_the_other_layout_is_a_programmer_error) {
  const std::vector<std::uint32_t> table{0};
  KvPool heads(kShape, 1, 2);
  KvPool latents({.layers = 2, .heads = 1, .head_size = 8, .layout = KvLayout::latent}, 1, 2);
  EXPECT_DEATH(heads.latent_view(0, table, 1, 4), "the pool holds keys and values");
  EXPECT_DEATH(latents.view({0, 0}, table, 1), "the pool holds latents");
}

TEST(KvPoolDeathTest, a_copy_outside_a_pool_is_a_programmer_error) {
  KvPool pool(kShape, 3, 2), host(kShape, 1, 2);
  EXPECT_DEATH(pool.copy(pool, 0, 3), "from=0 num_blocks=3, to=3 num_blocks=3");
  EXPECT_DEATH(pool.copy(host, 1, 0), "from=1 num_blocks=1, to=0 num_blocks=3");
}

TEST(KvPoolDeathTest, a_copy_between_pools_of_different_layout_is_a_programmer_error) {
  KvPool pool(kShape, 3, 2), other(kShape, 3, 4);
  EXPECT_DEATH(pool.copy(other, 0, 0), "floats of a block: 128 and 64");
}

}  // namespace
}  // namespace forge::model
