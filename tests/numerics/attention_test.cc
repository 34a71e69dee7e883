#include "forge/numerics/attention.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <vector>

#include "numerics/stored_numbers.h"
#include "numerics/test_values.h"

namespace forge::numerics {
namespace {

/// Keys and values of `length` positions, and the ways to lay them out in blocks.
struct Context {
  Context(int head_size_in, int length_in, std::uint64_t seed)
      : head_size(head_size_in),
        length(length_in),
        keys(random_values(length * head_size, seed)),
        values(random_values(length * head_size, seed + 1)) {}

  int head_size;
  int length;
  std::vector<float> keys;    // [length][D]
  std::vector<float> values;  // [length][D]
};

/// A KV pool that holds one context in shuffled blocks; every other number is NaN, so that
/// whatever reads beyond the context is found out.
class Pool {
 public:
  Pool(const Context& context, int block_size, std::uint32_t seed = 1, KvType type = KvType::f32)
      : context_(context),
        block_size_(block_size),
        type_(type),
        blocks_(static_cast<std::size_t>(2 * ((context.length + block_size - 1) / block_size))),
        numbers_(type, blocks_.size() * 2 * half()) {
    std::iota(blocks_.begin(), blocks_.end(), 0u);
    for (std::uint32_t i = static_cast<std::uint32_t>(blocks_.size()) - 1; i > 0; --i) {
      std::swap(blocks_[i], blocks_[philox({{i, 0, 0, 0}}, seed).x[0] % (i + 1)]);
    }
    for (int j = 0; j < context.length; ++j) {
      for (int d = 0; d < context.head_size; ++d) {
        const auto source = static_cast<std::size_t>(j * context.head_size + d);
        numbers_.set(key_at(j, d), context.keys[source]);
        numbers_.set(value_at(j, d), context.values[source]);
      }
    }
  }

  /// Positions `first` .. length - 1.
  PagedKV view(int first = 0) const {
    return {.keys = numbers_.data(),
            .values = numbers_.at(half()),
            .block_stride = static_cast<std::ptrdiff_t>(2 * half()),
            .block_size = block_size_,
            .head_size = context_.head_size,
            .blocks = blocks_,
            .length = context_.length,
            .first = first,
            .type = type_};
  }

  /// Makes positions before `first` NaN: whoever reads one is found out.
  void forget_before(int first) {
    for (int j = 0; j < first; ++j) {
      for (int d = 0; d < context_.head_size; ++d) {
        numbers_.forget(key_at(j, d));
        numbers_.forget(value_at(j, d));
      }
    }
  }

 private:
  std::size_t half() const { return static_cast<std::size_t>(block_size_ * context_.head_size); }

  std::size_t block_at(int position) const {
    return blocks_[static_cast<std::size_t>(position / block_size_)] * 2 * half();
  }
  std::size_t value_at(int position, int d) const {
    const int slot = position % block_size_;
    return block_at(position) + half() + static_cast<std::size_t>(slot * context_.head_size + d);
  }
  std::size_t key_at(int position, int d) const {
    if (type_ != KvType::f32) return value_at(position, d) - half();
    const int slot = position % block_size_;
    return block_at(position) + static_cast<std::size_t>(d * block_size_ + slot);
  }

  const Context& context_;
  int block_size_;
  KvType type_;
  std::vector<std::uint32_t> blocks_;
  StoredNumbers numbers_;
};

constexpr KvType kKvTypes[] = {KvType::f32, KvType::bf16, KvType::f16};

/// One of the types, each as often as the others.
KvType type_of(std::uint32_t trial) { return kKvTypes[trial % 3]; }

using Attend = void (*)(const QueryGroup&, const PagedKV&, float*);

std::vector<float> attended(Attend function, const std::vector<float>& q, const PagedKV& kv,
                            float cap = 0) {
  std::vector<float> out(q.size(), -1.0f);
  const int heads = static_cast<int>(q.size()) / kv.head_size;
  function({.q = q.data(), .heads = heads, .scale = 0.3f, .score_cap = cap}, kv, out.data());
  return out;
}

TEST(Attention, has_the_bits_of_its_definition_for_random_shapes) {
  for (std::uint32_t trial = 0; trial < 60; ++trial) {
    const int head_size = trial % 2 == 0 ? random_int(1, 70, 5, 4 * trial) : 16 << (trial % 5);
    const int length = random_int(1, trial % 3 == 0 ? 800 : 100, 5, 4 * trial + 1);
    const int block_size = random_int(1, 40, 5, 4 * trial + 2);
    const int heads = random_int(1, trial % 4 == 0 ? 20 : 7, 5, 4 * trial + 3);
    const Context context(head_size, length, trial);
    const auto q = random_values(heads * head_size, trial + 500, 3.0f);
    for (const KvType type : kKvTypes) {
      SCOPED_TRACE(testing::Message()
                   << "D " << head_size << " T " << length << " block size " << block_size
                   << " heads " << heads << " of " << name_of(type));
      const Pool pool(context, block_size, 1, type);
      const auto expected = bits_of(attended(attend_reference, q, pool.view()));
      for_every_target([&] { EXPECT_EQ(bits_of(attended(attend, q, pool.view())), expected); });
    }
  }
}

/// Keys and values as a cache of the type has them, each of f32.
template <class Stored>
Context rounded(Context context) {
  for (float& x : context.keys) x = widened(stored<Stored>(x));
  for (float& x : context.values) x = widened(stored<Stored>(x));
  return context;
}

/// From numbers that round to subnormals of f16 to numbers that are beyond its largest.
TEST(Attention, of_16_bits_is_that_of_f32_over_the_rounded_numbers) {
  for (const float size : {1e-6f, 1e-4f, 1.0f, 1e3f, 1e5f}) {
    Context context(37, 300, 1);
    for (float& x : context.keys) x *= size;
    for (float& x : context.values) x *= size;
    const auto q = random_values(5 * 37, 2, 2.0f / size);
    const auto expect = [&]<class Stored>(Stored /*type*/) {
      const Context as_stored = rounded<Stored>(context);
      ASSERT_NE(as_stored.keys, context.keys);
      const Pool of_f32(as_stored, 9);
      const Pool pool(context, 9, 1, kKvTypeOf<Stored>);
      const auto expected = bits_of(attended(attend, q, of_f32.view()));
      EXPECT_EQ(bits_of(attended(attend_reference, q, pool.view())), expected) << size;
      for_every_target(
          [&] { EXPECT_EQ(bits_of(attended(attend, q, pool.view())), expected) << size; });
    };
    expect(BF16());
    expect(F16());
  }
}

TEST(Attention, of_capped_scores_has_the_bits_of_its_definition) {
  for (std::uint32_t trial = 0; trial < 30; ++trial) {
    const int head_size = random_int(1, 40, 7, 4 * trial);
    const int length = random_int(1, 700, 7, 4 * trial + 1);
    const int heads = random_int(1, 7, 7, 4 * trial + 2);
    const int first = random_int(0, length - 1, 7, 4 * trial + 3);
    const Context context(head_size, length, trial);
    const Pool pool(context, 9, 1, type_of(trial));
    const auto q = random_values(heads * head_size, trial + 600, 9.0f);
    const auto expected = bits_of(attended(attend_reference, q, pool.view(first), 2.5f));
    if (length - first > 2) {
      EXPECT_NE(expected, bits_of(attended(attend_reference, q, pool.view(first)))) << length;
    }
    for_every_target(
        [&] { EXPECT_EQ(bits_of(attended(attend, q, pool.view(first), 2.5f)), expected); });
  }
}

TEST(Attention, with_sinks_has_the_bits_of_its_definition_and_takes_of_every_weight) {
  for (std::uint32_t trial = 0; trial < 30; ++trial) {
    const int head_size = random_int(1, 40, 8, 4 * trial);
    const int length = random_int(1, 700, 8, 4 * trial + 1);
    const int heads = random_int(1, 7, 8, 4 * trial + 2);
    const int first = random_int(0, length - 1, 8, 4 * trial + 3);
    const Context context(head_size, length, trial);
    const Pool pool(context, 9, 1, type_of(trial));
    const PagedKV kv = pool.view(first);
    const auto q = random_values(heads * head_size, trial + 700, 2.0f);
    const auto sinks = random_values(heads, trial + 800, 5.0f);
    const auto with = [&](Attend function, const float* of_heads) {
      std::vector<float> out(q.size(), -1.0f);
      function({.q = q.data(), .heads = heads, .scale = 0.3f, .sinks = of_heads}, kv, out.data());
      return out;
    };
    const auto expected = with(attend_reference, sinks.data());
    EXPECT_NE(bits_of(expected), bits_of(with(attend_reference, nullptr)));
    for_every_target([&] { EXPECT_EQ(bits_of(with(attend, sinks.data())), bits_of(expected)); });
    const std::vector<float> none(sinks.size(), -1e30f);
    EXPECT_EQ(with(attend, none.data()), with(attend, nullptr)) << "all weight is on the keys";
    const std::vector<float> all(sinks.size(), 1e30f);
    EXPECT_EQ(with(attend, all.data()), std::vector<float>(q.size(), 0)) << "none is";
  }
}

TEST(Attention, of_a_window_has_the_bits_of_its_definition_and_reads_nothing_before_it) {
  for (std::uint32_t trial = 0; trial < 60; ++trial) {
    const int head_size = random_int(1, 40, 6, 5 * trial);
    const int length = random_int(1, 900, 6, 5 * trial + 1);
    const int block_size = random_int(1, 40, 6, 5 * trial + 2);
    const int heads = random_int(1, 5, 6, 5 * trial + 3);
    const int first = random_int(0, length - 1, 6, 5 * trial + 4);
    SCOPED_TRACE(testing::Message() << "D " << head_size << " T " << length << " F " << first
                                    << " block size " << block_size << " heads " << heads);
    const Context context(head_size, length, trial);
    Pool pool(context, block_size, 1, type_of(trial));
    pool.forget_before(first);
    const auto q = random_values(heads * head_size, trial + 700, 3.0f);
    const auto expected = bits_of(attended(attend_reference, q, pool.view(first)));
    for_every_target([&] { EXPECT_EQ(bits_of(attended(attend, q, pool.view(first))), expected); });
  }
}

TEST(Attention, of_a_window_is_that_of_all_keys_where_the_others_weigh_nothing) {
  // Scores below the window are so low that exp gives 0: segments are counted from position 0
  // alike.
  for (const int first : {1, 31, 255, 256, 257, 511, 512, 599}) {
    Context context(1, 600, 1);
    for (int j = 0; j < 600; ++j) {
      context.keys[static_cast<std::size_t>(j)] =
          j < first ? -1000.0f : 0.01f * static_cast<float>(j % 7);
    }
    const Pool pool(context, 16);
    EXPECT_EQ(bits_of(attended(attend, {10.0f}, pool.view(first))),
              bits_of(attended(attend, {10.0f}, pool.view())))
        << first;
  }
}

TEST(Attention, of_a_window_of_one_key_is_its_value) {
  const Context context(24, 300, 1);
  const Pool pool(context, 7);
  const auto out = attended(attend, random_values(24, 2), pool.view(299));
  EXPECT_TRUE(std::equal(out.begin(), out.end(), context.values.end() - 24));
}

TEST(Attention, does_not_depend_on_block_size_or_on_which_blocks_hold_the_context) {
  const Context context(16, 700, 1);
  const auto q = random_values(2 * 16, 2, 3.0f);
  const Pool contiguous(context, 700);
  const auto expected = bits_of(attended(attend, q, contiguous.view()));
  for (const int block_size : {1, 2, 3, 5, 8, 16, 17, 64, 256, 300, 1000}) {
    for (const std::uint32_t seed : {1u, 2u}) {
      const Pool pool(context, block_size, seed);
      EXPECT_EQ(bits_of(attended(attend, q, pool.view())), expected) << block_size;
    }
  }
}

TEST(Attention, a_head_has_the_same_bits_alone_and_in_a_group) {
  const Context context(32, 300, 1);
  const Pool pool(context, 16);
  for (int heads = 2; heads <= 9; ++heads) {
    const auto q = random_values(heads * 32, 2, 3.0f);
    const auto together = attended(attend, q, pool.view());
    for (int head = 0; head < heads; ++head) {
      const std::vector<float> alone(q.begin() + head * 32, q.begin() + (head + 1) * 32);
      const std::vector<float> part(together.begin() + head * 32,
                                    together.begin() + (head + 1) * 32);
      EXPECT_EQ(bits_of(attended(attend, alone, pool.view())), bits_of(part));
    }
  }
}

TEST(Attention, of_one_key_is_its_value) {
  const Context context(24, 1, 1);
  const Pool pool(context, 4);
  EXPECT_EQ(attended(attend, random_values(24, 2), pool.view()), context.values);
}

TEST(Attention, is_a_softmax_over_the_keys) {
  const Context context(16, 600, 1);
  const Pool pool(context, 16);
  const auto q = random_values(16, 2, 5.0f);
  const auto out = attended(attend, q, pool.view());

  std::vector<double> weights;
  for (std::size_t j = 0; j < 600; ++j) {
    double score = 0.0;
    for (std::size_t d = 0; d < 16; ++d)
      score += static_cast<double>(q[d]) * context.keys[j * 16 + d];
    weights.push_back(std::exp(score * 0.3f));
  }
  const double sum = std::accumulate(weights.begin(), weights.end(), 0.0);
  for (std::size_t d = 0; d < 16; ++d) {
    double exact = 0.0;
    for (std::size_t j = 0; j < 600; ++j) exact += weights[j] / sum * context.values[j * 16 + d];
    // |values| < 1; a score below 24 in magnitude errs by at most 17 * 2^-24 of that, which exp
    // passes on; the sums add at most 258 roundings.
    EXPECT_NEAR(out[d], exact, (17 * 24 + 2 * 258) * 0x1p-24);
  }
}

TEST(Attention, survives_scores_that_overflow_exp_without_the_maximum_taken_off) {
  Context context(1, 520, 1);
  for (auto& key : context.keys) key *= 1000.0f;
  context.keys[300] = 2000.0f;  // in the second segment: the first is scaled to nothing
  const Pool pool(context, 16);
  const auto out = attended(attend, {10.0f}, pool.view());
  EXPECT_EQ(out[0], context.values[300]);
}

TEST(Attention, aborts_on_a_context_out_of_range_in_every_build) {
  const std::vector<float> q(2);
  float out[2] = {};
  const Context context(2, 5, 1);
  const Pool pool(context, 4);
  const auto attend_with = [&](int heads, auto change) {
    PagedKV kv = pool.view();
    change(kv);
    attend({.q = q.data(), .heads = heads, .scale = 1.0f}, kv, out);
  };
  EXPECT_DEATH(attend_with(0, [](PagedKV&) {}), "heads=0");
  EXPECT_DEATH(attend_with(1, [](PagedKV& kv) { kv.block_size = 0; }), "block_size=0");
  EXPECT_DEATH(attend_with(1, [](PagedKV& kv) { kv.head_size = 257; }), "head_size=257");
  EXPECT_DEATH(attend_with(1, [](PagedKV& kv) { kv.first = 5; }), "first=5 length=5");
  EXPECT_DEATH(attend_with(1, [](PagedKV& kv) { kv.length = 0; }), "first=0 length=0");
}

}  // namespace
}  // namespace forge::numerics
