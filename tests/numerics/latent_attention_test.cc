#include "forge/numerics/latent_attention.h"

#include <gtest/gtest.h>

#include <limits>
#include <numeric>
#include <vector>

#include "numerics/test_values.h"

namespace forge::numerics {
namespace {

/// Rows of `length` positions in shuffled blocks; every other float is NaN.
class LatentPool {
 public:
  LatentPool(int key_size, int value_size, int length, int block_size, std::uint64_t seed)
      : key_size_(key_size), value_size_(value_size), length_(length), block_size_(block_size) {
    blocks_.resize(static_cast<std::size_t>(length / block_size + 2));
    std::iota(blocks_.begin(), blocks_.end(), 0u);
    for (std::uint32_t i = static_cast<std::uint32_t>(blocks_.size()) - 1; i > 0; --i) {
      std::swap(blocks_[i], blocks_[philox({{i, 0, 0, 0}}, 77).x[0] % (i + 1)]);
    }
    const auto size = static_cast<std::size_t>(key_size);
    floats_.assign(blocks_.size() * stride(), std::numeric_limits<float>::quiet_NaN());
    const auto rows = random_values(length * key_size, seed);
    for (std::size_t j = 0; j < static_cast<std::size_t>(length); ++j) {
      const auto slots = static_cast<std::size_t>(block_size);
      std::copy_n(rows.data() + j * size, size,
                  floats_.data() + blocks_[j / slots] * stride() + j % slots * size);
    }
  }

  PagedLatent view() const {
    return {.rows = floats_.data(),
            .block_stride = static_cast<std::ptrdiff_t>(stride()),
            .block_size = block_size_,
            .key_size = key_size_,
            .value_size = value_size_,
            .blocks = blocks_,
            .length = length_};
  }

  /// The same positions as keys and values of attention.h, in one block.
  struct Plain {
    std::vector<float> keys;    // [D][T]
    std::vector<float> values;  // [T][D], components beyond the value's are 0
  };
  Plain plain() const {
    const auto T = static_cast<std::size_t>(length_);
    const auto D = static_cast<std::size_t>(key_size_);
    const auto slots = static_cast<std::size_t>(block_size_);
    Plain plain{std::vector<float>(T * D), std::vector<float>(T * D)};
    for (std::size_t j = 0; j < T; ++j) {
      const float* row = floats_.data() + blocks_[j / slots] * stride() + j % slots * D;
      for (std::size_t d = 0; d < D; ++d) plain.keys[d * T + j] = row[d];
      std::copy_n(row, value_size_, plain.values.data() + j * D);
    }
    return plain;
  }

 private:
  std::size_t stride() const { return static_cast<std::size_t>(block_size_ * key_size_ + 3); }

  int key_size_;
  int value_size_;
  int length_;
  int block_size_;
  std::vector<std::uint32_t> blocks_;
  std::vector<float> floats_;
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
    SCOPED_TRACE(testing::Message() << "R " << value_size << " R + S " << key_size << " T "
                                    << length << " block size " << block_size << " H " << heads);
    const LatentPool pool(key_size, value_size, length, block_size, trial);
    const auto q = random_values(heads * key_size, trial + 500, 2.0f);
    const auto expected = bits_of(attended(attend_reference, q, pool.view()));
    for_every_target(
        [&] { EXPECT_EQ(bits_of(attended(attend_latent, q, pool.view())), expected); });
  }
}

TEST(LatentAttention, takes_latents_of_the_published_models) {
  const LatentPool pool(576, 512, 300, 16, 1);
  const auto q = random_values(18 * 576, 2, 0.5f);
  const auto expected = bits_of(attended(attend_reference, q, pool.view()));
  for_every_target([&] { EXPECT_EQ(bits_of(attended(attend_latent, q, pool.view())), expected); });
}

TEST(LatentAttention, is_attention_with_one_kv_head_whose_values_begin_its_keys) {
  const LatentPool pool(28, 20, 600, 16, 1);
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

TEST(LatentAttention, a_head_has_the_same_bits_alone_and_among_others) {
  const LatentPool pool(24, 16, 300, 16, 1);
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
  const LatentPool pool(4, 2, 5, 4, 1);
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
