#include "forge/model/kv_pool.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

namespace forge::model {
namespace {

using numerics::BF16;
using numerics::F16;
using numerics::KvType;

const KvShape kShape{.layers = 2, .heads = 2, .head_size = 4};
constexpr KvType kKvTypes[] = {KvType::f32, KvType::bf16, KvType::f16};

/// Number `index` of the block of a position; `pool` is where block 0 begins.
template <class Paged>
float number_at(const void* pool, const Paged& paged, int position, int index) {
  const std::uint32_t block = paged.blocks[static_cast<std::size_t>(position / paged.block_size)];
  const std::ptrdiff_t at = block * paged.block_stride + index;
  if (paged.type == KvType::bf16) return to_float(static_cast<const BF16*>(pool)[at]);
  if (paged.type == KvType::f16) return to_float(static_cast<const F16*>(pool)[at]);
  return static_cast<const float*>(pool)[at];
}

float value_at(const numerics::PagedKV& kv, int position, int d) {
  return number_at(kv.values, kv, position, position % kv.block_size * kv.head_size + d);
}

float key_at(const numerics::PagedKV& kv, int position, int d) {
  const int slot = position % kv.block_size;
  const int index = kv.type == KvType::f32 ? d * kv.block_size + slot : slot * kv.head_size + d;
  return number_at(kv.keys, kv, position, index);
}

/// Calls body(plane, position) for all of three blocks of three.
template <class Body>
void for_each_token(const Body& body) {
  for (int layer = 0; layer < 2; ++layer) {
    for (int head = 0; head < 2; ++head) {
      for (std::uint32_t position = 0; position < 9; ++position) {
        body(KvPlane{layer, head}, position);
      }
    }
  }
}

TEST(KvPool, what_is_stored_at_a_position_is_seen_there_in_its_plane_alone) {
  for (const KvType type : kKvTypes) {
    KvPool pool(kShape, 5, 3, type);
    const std::vector<std::uint32_t> table{4, 1, 3};
    float next = 0;  // up to 143, which bf16 has
    for_each_token([&](KvPlane plane, std::uint32_t position) {
      const float key[4] = {next, next + 1, next + 2, next + 3};
      const float value[4] = {-next, -next - 1, -next - 2, -next - 3};
      pool.store(plane, table, position, key, value);
      next += 4;
    });
    next = 0;
    for_each_token([&](KvPlane plane, std::uint32_t position) {
      const auto kv = pool.view(plane, table, 9);
      for (int d = 0; d < 4; ++d, ++next) {
        EXPECT_EQ(key_at(kv, static_cast<int>(position), d), next) << name_of(type);
        EXPECT_EQ(value_at(kv, static_cast<int>(position), d), -next) << name_of(type);
      }
    });
  }
}

TEST(KvPool, of_16_bits_rounds_what_it_stores) {
  const std::vector<std::uint32_t> table{0};
  const float key[4] = {1.003F, -1e-7F, 1e9F, 0x1.01p0F};
  const float value[4] = {0.1F, 0x1p-24F, -1e30F, 0};
  KvPool f16(kShape, 1, 3, KvType::f16);
  f16.store({1, 0}, table, 2, key, value);
  const auto kv = f16.view({1, 0}, table, 3);
  EXPECT_EQ(key_at(kv, 2, 0), 0x1.00cp0F);
  EXPECT_EQ(key_at(kv, 2, 1), -0x1p-23F);
  EXPECT_EQ(key_at(kv, 2, 2), 65504.0F);
  EXPECT_EQ(value_at(kv, 2, 1), 0x1p-24F);
  EXPECT_EQ(value_at(kv, 2, 2), -65504.0F);
  KvPool bf16(kShape, 1, 3, KvType::bf16);
  bf16.store({1, 0}, table, 2, key, value);
  const auto coarse = bf16.view({1, 0}, table, 3);
  EXPECT_EQ(key_at(coarse, 2, 0), 1.0F);
  EXPECT_EQ(key_at(coarse, 2, 3), 1.0F) << "a tie, to even";
  EXPECT_EQ(value_at(coarse, 2, 0), 0x1.9ap-4F);
}

TEST(KvPool, of_16_bits_is_half_as_large) {
  EXPECT_EQ(KvPool(kShape, 5, 3).bytes().size(), 5U * 3 * 2 * 2 * 2 * 4 * 4);
  EXPECT_EQ(KvPool(kShape, 5, 3, KvType::bf16).bytes().size(), 5U * 3 * 2 * 2 * 2 * 4 * 2);
}

TEST(KvPool, slots_that_nobody_wrote_are_nan) {
  const std::vector<std::uint32_t> table{1};
  for (const KvType type : kKvTypes) {
    const KvPool pool(kShape, 2, 3, type);
    EXPECT_TRUE(std::isnan(key_at(pool.view({1, 1}, table, 1), 0, 0))) << name_of(type);
  }
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
  for (const KvType type : kKvTypes) {
    KvPool device(kShape, 3, 2, type), host(kShape, 5, 2, type);
    expect_copied(device, host);
    expect_copied(host, device);
  }
}

TEST(KvPool, a_host_pool_may_have_no_blocks) { EXPECT_EQ(KvPool(kShape, 0, 2).num_blocks(), 0U); }

TEST(KvPool, latents_are_seen_where_they_were_stored_in_their_layer_alone) {
  const KvShape shape{.layers = 3, .heads = 1, .head_size = 5, .layout = KvLayout::latent};
  for (const KvType type : kKvTypes) {
    KvPool pool(shape, 4, 2, type);
    const std::vector<std::uint32_t> table{3, 0, 2};
    for (int layer = 0; layer < 3; ++layer) {
      for (std::uint32_t position = 0; position < 6; ++position) {
        const auto base = static_cast<float>(64 * layer + 8 * static_cast<int>(position));
        const float row[5] = {base, base + 1, base + 2, base + 3, base + 4};
        pool.store_latent(layer, table, position, row);
      }
    }
    for (int layer = 0; layer < 3; ++layer) {
      const auto latent = pool.latent_view(layer, table, 6, 3);
      EXPECT_EQ(latent.key_size, 5);
      EXPECT_EQ(latent.value_size, 3);
      for (int position = 0; position < 6; ++position) {
        for (int d = 0; d < 5; ++d) {
          EXPECT_EQ(number_at(latent.rows, latent, position, position % 2 * 5 + d),
                    static_cast<float>(64 * layer + 8 * position + d))
              << name_of(type);
        }
      }
    }
  }
}

TEST(KvPool, a_token_takes_keys_and_values_of_all_heads_or_one_latent_a_layer) {
  EXPECT_EQ((KvShape{.layers = 2, .heads = 4, .head_size = 8}).token_numbers(), 2U * 4 * 2 * 8);
  const KvShape latent{.layers = 2, .heads = 1, .head_size = 8, .layout = KvLayout::latent};
  EXPECT_EQ(latent.token_numbers(), 2U * 8);
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
  EXPECT_DEATH(pool.copy(other, 0, 0), "bytes of a block: 512 and 256");
  KvPool narrow(kShape, 3, 4, KvType::f16);
  EXPECT_DEATH(pool.copy(narrow, 0, 0), "of f16 and f32");
}

}  // namespace
}  // namespace forge::model
