// Tiles of y in registers, rows x outputs of a panel, for one segment of packed floats; compiled
// once per instruction set.
//
// A step loads the weights of some inputs for each vector of outputs and broadcasts those inputs of
// each row. All elements of a tile are independent chains, which hides the latency of fma.
#include <algorithm>

#include "forge/linear/linear_weights.h"
#include "hwy/cache_control.h"
#include "hwy/highway.h"
#include "simd-inl.h"

#if defined(FORGE_LINEAR_FLOAT_TILE_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef FORGE_LINEAR_FLOAT_TILE_INL_H
#undef FORGE_LINEAR_FLOAT_TILE_INL_H
#else
#define FORGE_LINEAR_FLOAT_TILE_INL_H
#endif

HWY_BEFORE_NAMESPACE();
namespace forge::linear::HWY_NAMESPACE {

/// Accumulators of a tile: what fits into the registers beside weights and broadcasts.
#if HWY_CAP_GE512 || HWY_ARCH_ARM_A64
inline constexpr int kAccumulators = 24;  // of 32 registers
#else
inline constexpr int kAccumulators = 12;  // of 16 registers
#endif

// How weights lie in a panel and what a step does with them. A step reads kWords words of x and
// kStepBytes bytes of a panel. load() reads the weights of kFullLanes outputs, one vector for each
// word, from the step's bytes on.

struct F32Weights {
  static constexpr int kWords = 1;
  static constexpr int kInputs = 1;
  static constexpr int kStepBytes = kPanelOutputs * 4;
  static constexpr int kLaneBytes = 4;
  static constexpr bool kWidenFirst = false;  ///< for many rows: once, not for each tile

  static HWY_INLINE void load(const std::byte* from, FullVec (&words)[kWords]) {
    words[0] = hn::Load(FullTag(), reinterpret_cast<const float*>(from));
  }
  static HWY_INLINE FullVec add(FullVec x, FullVec w, FullVec sum) { return fused(x, w, sum); }
};

struct F16Weights : F32Weights {
  static constexpr int kStepBytes = kPanelOutputs * 2;
  static constexpr int kLaneBytes = 2;

  static HWY_INLINE void load(const std::byte* from, FullVec (&words)[kWords]) {
    const FullTag d;
    const hn::Rebind<hwy::float16_t, FullTag> halves;
    words[0] = hn::PromoteTo(d, hn::Load(halves, reinterpret_cast<const hwy::float16_t*>(from)));
  }
};

/// Pairs of inputs; the odd word of x comes first.
struct BF16Weights : F32Weights {
  static constexpr int kWords = 2;
  static constexpr int kInputs = 2;
  static constexpr bool kWidenFirst = kAccumulators < 24;  // whose tiles are low

  static HWY_INLINE void load(const std::byte* from, FullVec (&words)[kWords]) {
    const FullTag d;
    const hn::RebindToUnsigned<FullTag> bits;
    const auto pairs = hn::Load(bits, reinterpret_cast<const std::uint32_t*>(from));
    words[0] = hn::BitCast(d, hn::And(pairs, hn::Set(bits, 0xffff0000u)));
    words[1] = hn::BitCast(d, hn::ShiftLeft<16>(pairs));
  }
};

#if HWY_ARCH_X86_64 && HWY_TARGET <= HWY_AVX3
/// Multiplies pairs by pairs, with an instruction that AVX-512 came without and that no target of
/// Highway 1.0.3 asks for. So it is written out, for a processor that cpu_has_pairs() found to have
/// it.
struct BF16Pairs : F32Weights {
  static constexpr int kInputs = 2;

  static HWY_INLINE FullVec add(FullVec x, FullVec w, FullVec sum) {
    asm("vdpbf16ps %2, %1, %0" : "+v"(sum.raw) : "v"(x.raw), "v"(w.raw));
    return sum;
  }
};

inline bool cpu_has_pairs() { return __builtin_cpu_supports("avx512bf16") != 0; }
#else
inline bool cpu_has_pairs() { return false; }
#endif

/// Rows of the tallest tile, which is two vectors wide.
inline constexpr int kTileRowsMax = kAccumulators / 2;

/// Vectors across a tile of `rows` rows, a power of two: four panels for one row, two for a few,
/// because a core reads memory faster in several places at a time.
constexpr int tile_vectors(int rows) {
  int vectors = (rows == 1 ? 4 : 2) * kPanelOutputs / kFullLanes;
  while (vectors * rows > kAccumulators) vectors /= 2;
  return vectors;
}

/// Weights are fetched this many bytes ahead, over all panels of a tile, because prefetchers stop
/// at the end of a page. One row does little else than read; more compute while they wait, and ask
/// earlier.
constexpr int bytes_ahead(int rows) { return rows == 1 ? 4096 : 8192; }
inline constexpr int kLineBytes = 64;

/// Weights of this many bytes come from memory each time; a core's cache keeps fewer.
inline constexpr std::ptrdiff_t kFarBytes = std::ptrdiff_t{512} << 10;

/// One segment of the product for a strip: some panels, side by side.
struct Segment {
  const float* x;           ///< row 0, first word
  std::ptrdiff_t x_stride;  ///< words from a row of x to the next
  const std::byte* w;       ///< first step of the first panel
  std::ptrdiff_t w_stride;  ///< bytes from a panel to the next
  float* y;                 ///< row 0, first output
  std::ptrdiff_t y_stride;  ///< floats from a row of y to the next
  int steps;
  int outputs;  ///< of the panels, not padded
  bool first;   ///< set y, rather than add to it
  bool far;     ///< the weights come from memory, and are fetched ahead
};

template <class Weights, int kRows, int kVectors>
struct Tile {
  static constexpr int kWords = Weights::kWords;
  static constexpr int kWidth = kVectors * kFullLanes;
  static constexpr int kAhead = bytes_ahead(kRows) / std::max(1, kWidth / kPanelOutputs);

  /// Accumulates rows [row, row + kRows) of outputs [column, column + kWidth) and stores or adds
  /// them to y.
  static HWY_INLINE void run(const Segment& c, int row, int column) {
    const FullTag d;
    FullVec sums[kRows][kVectors];
    for (auto& row_sums : sums) {
      for (auto& sum : row_sums) sum = hn::Zero(d);
    }
    c.far ? accumulate<true>(c, row, column, sums) : accumulate<false>(c, row, column, sums);
    const bool first = c.first;
    const std::ptrdiff_t stride = c.y_stride;
    float* y = c.y + row * stride + column;
    if (c.outputs - column < kWidth) return store_part(c, sums, c.outputs - column, y);
    for (int r = 0; r < kRows; ++r, y += stride) {
      for (int v = 0; v < kVectors; ++v) {
        float* const to = y + v * kFullLanes;
        hn::StoreU(first ? sums[r][v] : hn::Add(hn::LoadU(d, to), sums[r][v]), d, to);
      }
    }
  }

  /// Adds the products of all steps to the sums; kFar: fetches weights ahead.
  template <bool kFar>
  static HWY_INLINE void accumulate(const Segment& c, int row, int column,
                                    FullVec (&sums)[kRows][kVectors]) {
    const float* x = c.x + row * c.x_stride;
    const std::byte* w = weights_of(c.w, c.w_stride, column);
    for (int step = 0; step < c.steps; ++step, x += kWords, w += Weights::kStepBytes) {
      FullVec weights[kVectors][kWords];
      for (int v = 0; v < kVectors; ++v) {
        const std::byte* const from = weights_of(w, c.w_stride, v * kFullLanes);
        const bool starts_line = v * kFullLanes * Weights::kLaneBytes % kLineBytes == 0;
        if (kFar && starts_line) hwy::Prefetch(from + kAhead);
        Weights::load(from, weights[v]);
      }
      for (int word = 0; word < kWords; ++word) {
        for (int r = 0; r < kRows; ++r) {
          const FullVec input = hn::Set(FullTag(), x[r * c.x_stride + word]);
          for (int v = 0; v < kVectors; ++v) {
            sums[r][v] = Weights::add(input, weights[v][word], sums[r][v]);
          }
        }
      }
    }
  }

  /// The weights of `output`, where those of output 0 are at w.
  static HWY_INLINE const std::byte* weights_of(const std::byte* w, std::ptrdiff_t stride,
                                                int output) {
    return w + output / kPanelOutputs * stride + output % kPanelOutputs * Weights::kLaneBytes;
  }

  /// Stores or adds the first `outputs` sums of each row.
  static HWY_INLINE void store_part(const Segment& c, const FullVec (&sums)[kRows][kVectors],
                                    int outputs, float* y) {
    const FullTag d;
    HWY_ALIGN float row[kWidth];
    for (int r = 0; r < kRows; ++r, y += c.y_stride) {
      for (int v = 0; v < kVectors; ++v) hn::Store(sums[r][v], d, row + v * kFullLanes);
      for (int i = 0; i < outputs; ++i) y[i] = c.first ? row[i] : y[i] + row[i];
    }
  }
};

/// Multiplies kRows rows from `row` on by the panels of c from `column` on: tiles as wide as the
/// registers hold, the last panels in narrower ones.
template <class Weights, int kRows, int kVectors = tile_vectors(kRows)>
HWY_INLINE void run_tiles(const Segment& c, int row, int column = 0) {
  using Widest = Tile<Weights, kRows, kVectors>;
  const int end = (c.outputs + kPanelOutputs - 1) / kPanelOutputs * kPanelOutputs;
  for (; column + Widest::kWidth <= end; column += Widest::kWidth) Widest::run(c, row, column);
  if constexpr (Widest::kWidth > kPanelOutputs) {
    if (column < end) run_tiles<Weights, kRows, kVectors / 2>(c, row, column);
  }
}

/// Multiplies `rows` rows from `row` on, 1 .. kTileRowsMax, by tiles of exactly that height.
template <class Weights, int kRows = kTileRowsMax>
HWY_INLINE void run_rows(const Segment& c, int row, int rows) {
  if constexpr (kRows > 1) {
    if (rows < kRows) return run_rows<Weights, kRows - 1>(c, row, rows);
  }
  run_tiles<Weights, kRows>(c, row);
}

}  // namespace forge::linear::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // per-target include guard
