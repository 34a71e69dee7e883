// Inputs of the kernels of fast numerics that make no product: rows in 16 bits, heads before
// attention.
#include <cstring>

#include "attention_cache.h"
#include "forge/numerics/fast.h"
#include "forge/numerics/reference.h"

namespace forge::apps {
namespace {

using Sizes = KernelSizes;

/// The words of numbers of 16 bits; if their number is odd, the last word keeps its upper half.
void put_halves(std::span<const std::uint16_t> halves, std::vector<std::uint32_t>& words) {
  std::memcpy(words.data(), halves.data(), halves.size_bytes());
}
std::size_t words_for(std::size_t halves) { return (halves + 1) / 2; }

std::uint16_t rounded_bits(float x, numerics::HalfType type) {
  return type == numerics::HalfType::bf16 ? numerics::half_of<numerics::BF16>(x).bits
                                          : numerics::half_of<numerics::F16>(x).bits;
}

// ---- Heads --------------------------------------------------------------------------------------

constexpr float kHeadNormEps = 1e-5F;

/// Norms of queries and keys, as many floats of weights as the norm has components.
struct Norms {
  bool of_all_heads;
  Uploaded<float> query;  ///< none where it is empty
  Uploaded<float> key;

  gpu::HeadNorms args() const {
    return {.query = query.device,
            .key = key.device,
            .of_all_heads = of_all_heads,
            .eps = kHeadNormEps};
  }
};

Norms make_norms(KernelCaseBuilder& b, const AttentionCache& cache) {
  const bool of_all_heads = b.sizes().norms == 2;
  Norms norms{.of_all_heads = of_all_heads, .query = {}, .key = {}};
  if (b.sizes().norms == 0) return norms;
  const std::size_t D = cache.head_size;
  norms.query = b.upload("query_norm", b.floats(of_all_heads ? cache.heads * D : D));
  norms.key = b.upload("key_norm", b.floats(of_all_heads ? cache.kv_heads * D : D));
  return norms;
}

/// Norms and turns `heads`, all of queries or all of keys, as the CPU does. weight: of their norm.
void prepare_on_cpu(std::span<float> heads, const Uploaded<float>& weight, const Rotary& rotary,
                    const gpu::RowInput& row, std::size_t head_size) {
  if (weight.host != nullptr) {
    const auto size = static_cast<int>(weight.size());
    for (std::size_t first = 0; first < heads.size(); first += weight.size()) {
      numerics::rms_norm_reference(&heads[first], weight.data(), size, kHeadNormEps, &heads[first]);
    }
  }
  for (std::size_t first = 0; first < heads.size(); first += head_size) {
    rotary.turn(&heads[first], row.position);
  }
}

/// What the product made for one row, prepared.
std::vector<float> prepared_row(const AttentionCache& cache, const Norms& norms,
                                const Rotary& rotary, std::size_t r) {
  const float* const first = cache.qkv.data() + r * cache.row_floats();
  std::vector<float> row(first, first + cache.row_floats());
  const std::size_t D = cache.head_size;
  const std::span heads(row);
  prepare_on_cpu(heads.first(cache.heads * D), norms.query, rotary, cache.rows[r], D);
  prepare_on_cpu(heads.subspan(cache.heads * D, cache.kv_heads * D), norms.key, rotary,
                 cache.rows[r], D);
  return row;
}

}  // namespace

gpu::KernelLaunch build_scale_rows(KernelCaseBuilder& b) {
  constexpr std::size_t kGroup = numerics::kSquaresGroup;
  constexpr auto kType = numerics::HalfType::bf16;
  const std::size_t rows = b.size(&Sizes::rows);
  const std::size_t d = b.size(&Sizes::hidden);
  const auto x = b.upload("x", b.floats(rows * d));
  const auto weight = b.upload("weight", b.floats(d));
  const auto h = b.output<std::uint32_t>("h", words_for(rows * d));
  const auto squares = b.output<float>("squares", rows * d / kGroup);
  b.expect<std::uint32_t>(h, [=](std::vector<std::uint32_t>& words) {
    std::vector<std::uint16_t> halves(rows * d);
    for (std::size_t i = 0; i < halves.size(); ++i) {
      halves[i] = rounded_bits(x[i] * weight[i % d], kType);
    }
    put_halves(halves, words);
  });
  b.expect<float>(squares, [=](std::vector<float>& out) {
    for (std::size_t g = 0; g < out.size(); ++g) {
      out[g] = numerics::group_of_squares(x.data() + g * kGroup);
    }
  });
  const gpu::ScaleRowsArgs args{.counts = b.row_counts(rows),
                                .logits = nullptr,
                                .x = x.device,
                                .weight = weight.device,
                                .h = h.device,
                                .squares = squares.device,
                                .size = b.sizes().hidden,
                                .type = kType};
  return gpu::launch_of(args, args.shape(b.sizes().rows));
}

gpu::KernelLaunch build_prepare_heads(KernelCaseBuilder& b) {
  const bool f16 = b.kv_type() == numerics::KvType::f16;
  const AttentionCache cache =
      make_cache(b, 1, f16 ? numerics::KvType::f16 : numerics::KvType::bf16);
  const Norms norms = make_norms(b, cache);
  const Rotary rotary = make_rotary(b);
  const std::size_t D = cache.head_size;
  const auto q = b.output<std::uint32_t>("q", words_for(cache.out_floats()));
  b.expect<std::uint32_t>(q, [=](std::vector<std::uint32_t>& words) {
    std::vector<std::uint16_t> halves;
    for (std::size_t r = 0; r < cache.rows.size(); ++r) {
      const std::vector<float> row = prepared_row(cache, norms, rotary, r);
      for (std::size_t i = 0; i < cache.heads * D; ++i) {
        halves.push_back(rounded_bits(row[i], numerics::half_type(cache.kv->type())));
      }
    }
    put_halves(halves, words);
  });
  b.expect<std::uint32_t>(cache.pool, [=](std::vector<std::uint32_t>& words) {
    model::KvPool pool = *cache.kv;
    for (std::size_t r = 0; r < cache.rows.size(); ++r) {
      const gpu::RowInput& input = cache.rows[r];
      const std::vector<float> row = prepared_row(cache, norms, rotary, r);
      for (std::size_t head = 0; head < cache.kv_heads; ++head) {
        const float* const key = row.data() + (cache.heads + head) * D;
        pool.store({.head = static_cast<int>(head)}, cache.table(input), input.position, key,
                   key + cache.kv_heads * D);
      }
    }
    words = words_of(pool);
  });
  const gpu::PrepareHeadsArgs args{.counts = b.row_counts(cache.rows.size()),
                                   .rows = cache.rows.device,
                                   .rotary = rotary.angles.device,
                                   .rotary_size = static_cast<int>(rotary.size),
                                   .adjacent = rotary.adjacent,
                                   .qkv = cache.qkv.device,
                                   .q = q.device,
                                   .kv = cache.layer(),
                                   .norms = norms.args()};
  return gpu::launch_of(args, args.shape(b.sizes().seqs));
}

}  // namespace forge::apps
