#include "forge/numerics/span_attention.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "forge/numerics/tensor_product.h"
#include "numerics/stored_numbers.h"
#include "numerics/test_values.h"

namespace forge::numerics {
namespace {

constexpr StepModel kModels[] = {kMmaSm80, kMmaSm90};
constexpr KvType kHalves[] = {KvType::bf16, KvType::f16};

// ---- exp2 ---------------------------------------------------------------------------------------

TEST(Exp2, has_the_error_that_it_states) {
  const auto expect_close = [](std::uint32_t bits) {
    const float x = float_of(bits);
    const double exact = std::exp2(static_cast<double>(x));
    ASSERT_LT(std::abs(static_cast<double>(exp2(x)) - exact), 5e-7 * exact) << x;
  };
  for (std::uint32_t bits = bits_of(-0.0f); bits <= bits_of(-126.0f); bits += 997) {
    expect_close(bits);
    ASSERT_LE(exp2(float_of(bits)), 1) << float_of(bits);
  }
  for (std::uint32_t bits = 0; bits <= bits_of(127.0f); bits += 9973) expect_close(bits);
}

TEST(Exp2, is_exact_for_integers) {
  for (int x = -126; x <= 127; ++x) EXPECT_EQ(exp2(static_cast<float>(x)), std::ldexp(1.0f, x));
  EXPECT_EQ(exp2(-0.0f), 1);
}

TEST(Exp2, is_zero_below_the_smallest_normal_number) {
  for (const float x : {std::nextafter(-126.0f, -127.0f), -126.5f, -127.0f, -149.0f, -1e9f,
                        kLowestScore, -std::numeric_limits<float>::infinity()}) {
    EXPECT_EQ(bits_of(exp2(x)), 0u) << x;
  }
}

// ---- tensor_product -----------------------------------------------------------------------------

template <class Half>
void expect_product_close(const StepModel& model, int inputs, std::uint64_t seed) {
  std::vector<Half> w;
  std::vector<Half> x;
  for (const float value : random_values(inputs, seed)) w.push_back(half_of<Half>(value));
  for (const float value : random_values(inputs, seed + 1, 3)) x.push_back(half_of<Half>(value));
  double exact = 0;
  double size = 0;
  for (std::size_t k = 0; k < w.size(); ++k) {
    const double product =
        static_cast<double>(to_float(w[k])) * static_cast<double>(to_float(x[k]));
    exact += product;
    size += std::abs(product);
  }
  const float y = tensor_product<Half>(model, w, x);
  EXPECT_LE(std::abs(static_cast<double>(y) - exact), tensor_product_error(model, w.size()) * size)
      << model.name << ", " << inputs << " inputs";
}

TEST(TensorProduct, has_the_error_that_it_states) {
  for (const StepModel& model : kModels) {
    for (const int inputs : {1, 15, 16, 17, 64, 640, 4096}) {
      for (std::uint64_t seed = 0; seed < 20; ++seed) {
        expect_product_close<BF16>(model, inputs, 2 * seed);
        expect_product_close<F16>(model, inputs, 2 * seed);
      }
    }
  }
}

// ---- Attention ----------------------------------------------------------------------------------

/// Keys and values of `length` positions in blocks in descending order; every other number is NaN.
class SpanPool {
 public:
  SpanPool(int head_size, int length, int block_size, KvType type)
      : head_size_(head_size),
        length_(length),
        block_size_(block_size),
        type_(type),
        blocks_(static_cast<std::size_t>((length + block_size - 1) / block_size)),
        keys_(type, (blocks_.size() + 1) * stride()),
        values_(type, (blocks_.size() + 1) * stride()) {
    std::iota(blocks_.rbegin(), blocks_.rend(), 1u);
    const std::vector<float> keys = random_values(length * head_size, 1, 2);
    const std::vector<float> values = random_values(length * head_size, 2, 2);
    for (int i = 0; i < length * head_size; ++i) {
      const std::size_t to = at(i / head_size, i % head_size);
      keys_.set(to, keys[static_cast<std::size_t>(i)]);
      values_.set(to, values[static_cast<std::size_t>(i)]);
    }
  }

  float key(int position, int d) const { return keys_[at(position, d)]; }
  float value(int position, int d) const { return values_[at(position, d)]; }
  void set_values(float x) {
    for (int i = 0; i < length_ * head_size_; ++i)
      values_.set(at(i / head_size_, i % head_size_), x);
  }

  PagedKV view(int first = 0) const {
    return {.keys = keys_.data(),
            .values = values_.data(),
            .block_stride = static_cast<std::ptrdiff_t>(stride()),
            .block_size = block_size_,
            .head_size = head_size_,
            .blocks = blocks_,
            .length = length_,
            .first = first,
            .type = type_};
  }

 private:
  std::size_t stride() const { return static_cast<std::size_t>(block_size_ * head_size_ + 16); }
  std::size_t at(int position, int d) const {
    const int slot = position % block_size_;
    return blocks_[static_cast<std::size_t>(position / block_size_)] * stride() +
           static_cast<std::size_t>(slot * head_size_ + d);
  }

  int head_size_;
  int length_;
  int block_size_;
  KvType type_;
  std::vector<std::uint32_t> blocks_;
  StoredNumbers keys_;
  StoredNumbers values_;
};

/// A query head, with what it needs to be given to the reference.
struct Head {
  std::vector<float> q;
  float scale = 0.25f;
  float score_cap = 0;
  std::vector<float> sinks = {};  ///< one, or none

  QueryGroup group() const {
    return {.q = q.data(),
            .heads = 1,
            .scale = scale,
            .score_cap = score_cap,
            .sinks = sinks.empty() ? nullptr : sinks.data()};
  }
};

std::vector<float> attended(const StepModel& model, const Head& head, const PagedKV& kv) {
  std::vector<float> out(head.q.size());
  span_attention_reference(model, head.group(), kv, out.data());
  return out;
}

/// Softmax and its sums in double, of the same rounded numbers, and the error that is allowed.
class ExactAttention {
 public:
  ExactAttention(const StepModel& model, const Head& head, const SpanPool& pool)
      : pool_(pool), kv_(pool.view()) {
    const bool f16 = kv_.type == KvType::f16;
    for (int j = 0; j < kv_.length; ++j) add_score(model, head, j);
    double most = *std::ranges::max_element(scores_);
    if (!head.sinks.empty()) most = std::max(most, static_cast<double>(head.sinks[0]));
    double sum = head.sinks.empty() ? 0 : std::exp(static_cast<double>(head.sinks[0]) - most);
    for (const double score : scores_) sum += std::exp(score - most);
    for (const double score : scores_) weights_.push_back(std::exp(score - most) / sum);
    const double tiles = (kv_.length + kSpanTile - 1) / kSpanTile;
    weight_error_ = (f16 ? 0x1p-11 : 0x1p-8) + score_error_ + (1 + 2 * tiles) * 5e-7;
    // p below 2^-14 are multiples of 2^-24 in f16. The sum is 1 at least, and values are below 2.
    smallest_error_ = f16 ? kv_.length * 0x1p-25 : 0;
    sum_error_ = 2 * tensor_product_error(model, static_cast<std::size_t>(tiles) * kSpanTile);
  }

  double value(int d) const {
    double sum = 0;
    for (int j = 0; j < kv_.length; ++j) sum += weight(j) * pool_.value(j, d);
    return sum;
  }
  /// With weights w_j (1 + e_j) above and below the line, the result moves by w_j e_j (v_j - out).
  double error(int d) const {
    const double out = value(d);
    double spread = 0;
    double size = 0;
    for (int j = 0; j < kv_.length; ++j) {
      spread += weight(j) * std::abs(pool_.value(j, d) - out);
      size += weight(j) * std::abs(pool_.value(j, d));
    }
    const double sink = 1 - std::accumulate(weights_.begin(), weights_.end(), 0.0);
    spread += sink * std::abs(out);
    return 1.1 * (weight_error_ * spread + 4 * smallest_error_ + sum_error_ * size);
  }

 private:
  double weight(int j) const { return weights_[static_cast<std::size_t>(j)]; }

  void add_score(const StepModel& model, const Head& head, int j) {
    double product = 0;
    double size = 0;
    for (int d = 0; d < kv_.head_size; ++d) {
      const float x = head.q[static_cast<std::size_t>(d)];
      const float q =
          kv_.type == KvType::f16 ? to_float(half_of<F16>(x)) : to_float(half_of<BF16>(x));
      const double term = static_cast<double>(q) * static_cast<double>(pool_.key(j, d));
      product += term;
      size += std::abs(term);
    }
    double score = product * head.scale;
    double error = tensor_product_error(model, head.q.size()) * size * head.scale;
    if (head.score_cap > 0) {
      score = head.score_cap * std::tanh(score / head.score_cap);
      error += head.score_cap * 0x1p-21;
    }
    scores_.push_back(score);
    score_error_ = std::max(score_error_, error + 4 * std::abs(score) * 0x1p-24);
  }

  const SpanPool& pool_;
  PagedKV kv_;
  std::vector<double> scores_;
  std::vector<double> weights_;
  double score_error_ = 0;
  double weight_error_ = 0;
  double smallest_error_ = 0;
  double sum_error_ = 0;
};

TEST(SpanAttention, has_the_error_that_it_states) {
  const std::vector<float> q = random_values(32, 3, 4);
  const Head heads[] = {
      {.q = q}, {.q = q, .scale = 2.0f}, {.q = q, .score_cap = 3.0f}, {.q = q, .sinks = {2.5f}}};
  for (const StepModel& model : kModels) {
    for (const KvType type : kHalves) {
      for (const int length : {1, 64, 65, 300, 700}) {
        const SpanPool pool(32, length, 16, type);
        for (const Head& head : heads) {
          const std::vector<float> out = attended(model, head, pool.view());
          const ExactAttention exact(model, head, pool);
          for (int d = 0; d < 32; ++d) {
            const double found = out[static_cast<std::size_t>(d)];
            ASSERT_LE(std::abs(found - exact.value(d)), exact.error(d))
                << model.name << " " << name_of(type) << " T " << length << " scale " << head.scale;
          }
        }
      }
    }
  }
}

/// The denominator adds the same weights.
TEST(SpanAttention, equal_values_come_out_as_they_are) {
  const Head head{.q = random_values(16, 3, 4)};
  for (const KvType type : kHalves) {
    SpanPool pool(16, 600, 16, type);
    for (const float value : {1.0f, -0.25f, 2.0f}) {
      pool.set_values(value);
      EXPECT_EQ(attended(kMmaSm90, head, pool.view()), std::vector<float>(16, value));
    }
  }
}

TEST(SpanAttention, has_the_same_bits_whatever_the_size_of_blocks) {
  const Head head{.q = random_values(48, 3, 4), .sinks = {0.5f}};
  for (const KvType type : kHalves) {
    const auto of_blocks = [&](int block_size) {
      return bits_of(attended(kMmaSm90, head, SpanPool(48, 530, block_size, type).view(70)));
    };
    for (const int block_size : {5, 16, 256, 1000}) EXPECT_EQ(of_blocks(block_size), of_blocks(1));
  }
}

/// A window moves no key to another tile: what is before it is left out, and nothing else changes.
/// So it is as if these keys had scores that are too low to have weights.
TEST(SpanAttention, in_a_window_is_attention_whose_earlier_keys_have_no_weight) {
  for (const int first : {1, 63, 64, 100, 255, 256, 300, 599}) {
    StoredNumbers keys(KvType::bf16, 600);  // D = 1
    StoredNumbers values(KvType::bf16, 600);
    const std::vector<float> random = random_values(1200, 4, 2);
    for (std::size_t j = 0; j < 600; ++j) {
      keys.set(j, std::cmp_less(j, first) ? -1000.0f : random[2 * j]);
      values.set(j, random[2 * j + 1]);
    }
    const std::uint32_t block = 0;
    PagedKV kv{.keys = keys.data(),
               .values = values.data(),
               .block_stride = 600,
               .block_size = 600,
               .head_size = 1,
               .blocks = {&block, 1},
               .length = 600,
               .type = KvType::bf16};
    const Head head{.q = {1.0f}, .scale = 1.0f};
    const std::vector<float> all = attended(kMmaSm90, head, kv);
    kv.first = first;
    EXPECT_EQ(bits_of(attended(kMmaSm90, head, kv)), bits_of(all)) << first;
  }
}

TEST(SpanAttention, is_its_spans_merged_in_order) {
  const Head head{.q = random_values(16, 3, 4), .sinks = {1.5f}};
  const SpanPool pool(16, 700, 16, KvType::f16);
  const PagedKV kv = pool.view(300);
  const std::vector<float> out = attended(kMmaSm90, head, kv);
  for (std::size_t d = 0; d < out.size(); ++d) {
    SpanSum total;
    total = total.merged({});  // a span that is not seen
    for (const int index : {1, 2}) {
      const AttentionSpan span = span_reference(kMmaSm90, head.group(), kv, index);
      total = total.merged({span.m, span.l, span.a[d]});
    }
    total = total.merged({});
    total = total.merged({head.sinks[0] * kLog2E, 1, 0});
    EXPECT_EQ(bits_of(out[d]), bits_of(span_result(total.a, total.l)));
  }
}

}  // namespace
}  // namespace forge::numerics
