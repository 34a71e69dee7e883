#include "forge/numerics/latent_attention.h"

#include <gtest/gtest.h>

#include <numeric>
#include <vector>

#include "numerics/stored_numbers.h"
#include "numerics/test_values.h"

namespace forge::numerics {
namespace {

/// Rows of `length` positions in shuffled blocks; every other number is NaN.
class LatentPool {
 public:
  struct Shape {
    int key_size;
    int value_size;
    int length;
    int block_size;
  };

  LatentPool(const Shape& shape, std::uint64_t seed, KvType type = KvType::f32)
      : shape_(shape),
        type_(type),
        blocks_(static_cast<std::size_t>(shape.length / shape.block_size + 2)),
        numbers_(type, blocks_.size() * stride()) {
    std::iota(blocks_.begin(), blocks_.end(), 0u);
    for (std::uint32_t i = static_cast<std::uint32_t>(blocks_.size()) - 1; i > 0; --i) {
      std::swap(blocks_[i], blocks_[philox({{i, 0, 0, 0}}, 77).x[0] % (i + 1)]);
    }
    const auto rows = random_values(shape.length * shape.key_size, seed);
    for (int j = 0; j < shape.length; ++j) {
      for (int d = 0; d < shape.key_size; ++d) {
        numbers_.set(at(j, d), rows[static_cast<std::size_t>(j * shape.key_size + d)]);
      }
    }
  }

  PagedLatent view() const {
    return {.rows = numbers_.data(),
            .block_stride = static_cast<std::ptrdiff_t>(stride()),
            .block_size = shape_.block_size,
            .key_size = shape_.key_size,
            .value_size = shape_.value_size,
            .blocks = blocks_,
            .length = shape_.length,
            .type = type_};
  }

  /// The same positions as keys and values of attention.h, in one block of f32.
  struct Plain {
    std::vector<float> keys;    // [D][T]
    std::vector<float> values;  // [T][D], components beyond the value's are 0
  };
  Plain plain() const {
    const int T = shape_.length;
    const int D = shape_.key_size;
    const auto size = static_cast<std::size_t>(T * D);
    Plain plain{std::vector<float>(size), std::vector<float>(size)};
    for (int j = 0; j < T; ++j) {
      for (int d = 0; d < D; ++d) {
        const float number = numbers_[at(j, d)];
        plain.keys[static_cast<std::size_t>(d * T + j)] = number;
        if (d < shape_.value_size) plain.values[static_cast<std::size_t>(j * D + d)] = number;
      }
    }
    return plain;
  }

 private:
  std::size_t stride() const {
    return static_cast<std::size_t>(shape_.block_size * shape_.key_size + 3);
  }
  std::size_t at(int position, int d) const {
    const int slot = position % shape_.block_size;
    return blocks_[static_cast<std::size_t>(position / shape_.block_size)] * stride() +
           static_cast<std::size_t>(slot * shape_.key_size + d);
  }

  Shape shape_;
  KvType type_;
  std::vector<std::uint32_t> blocks_;
  StoredNumbers numbers_;
};

using AttendLatent = void (*)(const QueryGroup&, const PagedLatent&, float*);

std::vector<float> attended(AttendLatent function, const std::vector<float>& q,
                            const PagedLatent& latent) {
  const int heads = static_cast<int>(q.size()) / latent.key_size;
  std::vector<float> out(static_cast<std::size_t>(heads * latent.value_size), -1.0f);
  function({.q = q.data(), .heads = heads, .scale = 0.3f}, latent, out.data());
  return out;
}

TEST(LatentAttention, has_the_bits_of_its_definition_for_random_shapes) {
  for (std::uint32_t trial = 0; trial < 40; ++trial) {
    const int value_size = random_int(1, 90, 5, 5 * trial);
    const int key_size = value_size + random_int(0, 30, 5, 5 * trial + 1);
    const int length = random_int(1, trial % 3 == 0 ? 800 : 100, 5, 5 * trial + 2);
    const int block_size = random_int(1, 40, 5, 5 * trial + 3);
    const int heads = random_int(1, 35, 5, 5 * trial + 4);
    const auto q = random_values(heads * key_size, trial + 500, 2.0f);
    for (const KvType type : {KvType::f32, KvType::bf16, KvType::f16}) {
      SCOPED_TRACE(testing::Message()
                   << "R " << value_size << " R + S " << key_size << " T " << length
                   << " block size " << block_size << " H " << heads << " of " << name_of(type));
      const LatentPool pool({key_size, value_size, length, block_size}, trial, type);
      const auto expected = bits_of(attended(attend_reference, q, pool.view()));
      for_every_target(
          [&] { EXPECT_EQ(bits_of(attended(attend_latent, q, pool.view())), expected); });
    }
  }
}

TEST(LatentAttention, takes_latents_of_the_published_models) {
  for (const KvType type : {KvType::f32, KvType::bf16, KvType::f16}) {
    const LatentPool pool({576, 512, 300, 16}, 1, type);
    const auto q = random_values(18 * 576, 2, 0.5f);
    const auto expected = bits_of(attended(attend_reference, q, pool.view()));
    for_every_target(
        [&] { EXPECT_EQ(bits_of(attended(attend_latent, q, pool.view())), expected); });
  }
}

void expect_like_one_kv_head(KvType type) {
  const LatentPool pool({28, 20, 600, 16}, 1, type);
  const auto q = random_values(3 * 28, 2, 3.0f);
  const auto plain = pool.plain();
  const std::uint32_t block = 0;
  const PagedKV kv = {.keys = plain.keys.data(),
                      .values = plain.values.data(),
                      .block_stride = 0,
                      .block_size = 600,
                      .head_size = 28,
                      .blocks = {&block, 1},
                      .length = 600};
  std::vector<float> wide(q.size());
  attend({.q = q.data(), .heads = 3, .scale = 0.3f}, kv, wide.data());
  const auto out = attended(attend_latent, q, pool.view());
  for (std::size_t head = 0; head < 3; ++head) {
    for (std::size_t d = 0; d < 20; ++d) {
      EXPECT_EQ(bits_of(out[head * 20 + d]), bits_of(wide[head * 28 + d]));
    }
  }
}

TEST(LatentAttention, is_attention_with_one_kv_head_whose_values_begin_its_keys) {
  for (const KvType type : {KvType::f32, KvType::bf16, KvType::f16}) expect_like_one_kv_head(type);
}

TEST(LatentAttention, a_head_has_the_same_bits_alone_and_among_others) {
  const LatentPool pool({24, 16, 300, 16}, 1);
  const auto q = random_values(21 * 24, 2, 3.0f);
  const auto together = attended(attend_latent, q, pool.view());
  for (int head = 0; head < 21; ++head) {
    const std::vector<float> alone(q.begin() + head * 24, q.begin() + (head + 1) * 24);
    const std::vector<float> part(together.begin() + head * 16, together.begin() + (head + 1) * 16);
    EXPECT_EQ(bits_of(attended(attend_latent, alone, pool.view())), bits_of(part));
  }
}

TEST(LatentAttention, aborts_on_a_context_out_of_range_in_every_build) {
  const std::vector<float> q(4);
  float out[2] = {};
  const LatentPool pool({4, 2, 5, 4}, 1);
  const auto attend_with = [&](int heads, auto change) {
    PagedLatent latent = pool.view();
    change(latent);
    attend_latent({.q = q.data(), .heads = heads, .scale = 1.0f}, latent, out);
  };
  EXPECT_DEATH(attend_with(0, [](PagedLatent&) {}), "heads=0");
  EXPECT_DEATH(attend_with(1, [](PagedLatent& latent) { latent.length = 0; }), "length=0");
  EXPECT_DEATH(attend_with(1, [](PagedLatent& latent) { latent.block_size = 0; }), "block_size=0");
  EXPECT_DEATH(attend_with(1, [](PagedLatent& latent) { latent.key_size = 0; }), "key_size=0");
  EXPECT_DEATH(attend_with(1, [](PagedLatent& latent) { latent.value_size = 5; }),
               "value_size=5 key_size=4");
}

}  // namespace
}  // namespace forge::numerics
