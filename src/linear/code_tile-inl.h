// Products of blocks of rows and panels of codes, compiled once per instruction set and version of
// Dot.
//
// Where rows are many, the weights of a group are unpacked into registers (32 outputs in 16 of the
// 32 of AVX-512) and stay there while the rows of the block pass, four at a time, whose 8
// independent sums hide the latency of the instruction; so unpacking costs little and needs no
// memory. (Of eight rows at a time the sums and weights do not fit together.) The rows' partial
// results, 128 bytes each, wait in the L1 cache for the next group. A few rows wait for memory:
// code_few-inl.h.
//
// The instruction takes unsigned weights: the sum of (c - o) a is that of c a, begun at -o times
// the sum of a.
#include <algorithm>
#include <bit>
#include <cstring>

#include "code_rows.h"
#include "code_unpack-inl.h"
#include "hwy/cache_control.h"
#include "hwy/highway.h"
#include "panels.h"
#include "simd-inl.h"

#if defined(FORGE_LINEAR_CODE_TILE_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef FORGE_LINEAR_CODE_TILE_INL_H
#undef FORGE_LINEAR_CODE_TILE_INL_H
#else
#define FORGE_LINEAR_CODE_TILE_INL_H
#endif

HWY_BEFORE_NAMESPACE();
namespace forge::linear::codes::HWY_NAMESPACE {

using FloatVec = hn::Vec<Floats>;

using linear::HWY_NAMESPACE::fused;

// Vectors of outputs that are taken together, and rows of a tile: what the registers hold.
#if HWY_CAP_GE512
inline constexpr int kTileVectors = 2;
inline constexpr int kTileRows = 4;
#else
inline constexpr int kTileVectors = 1;
inline constexpr int kTileRows = 2;
#endif

inline constexpr int kTileLanes = kTileVectors * kVectorLanes;

/// Asks memory for the weights that come kAhead bytes after those of a step of `group`, which may
/// be the next panel's: the processor alone asks for too few at a time while it computes. Nothing
/// is read past the end.
template <class Kind>
HWY_INLINE void fetch_ahead(const std::byte* panel, int group, int step) {
  constexpr std::size_t kAhead = 8192;
  constexpr std::size_t kLine = 64;
  constexpr std::size_t kLines = (Kind::kGroupBytes + kLine - 1) / kLine;
  constexpr std::size_t kStepLines = kLines / Kind::kSteps;
  const std::byte* const first =
      panel + static_cast<std::size_t>(group) * Kind::kGroupBytes + kAhead;
  const std::byte* const lines = first + static_cast<std::size_t>(step) * kStepLines * kLine;
  for (std::size_t i = 0; i < kStepLines; ++i) hwy::Prefetch(lines + i * kLine);
  if (step + 1 < Kind::kSteps) return;
  for (std::size_t i = kStepLines * Kind::kSteps; i < kLines; ++i) hwy::Prefetch(first + i * kLine);
}

/// Partial results of a block of rows against a panel.
struct alignas(64) Block {
  float sums[kRowBlock][kPanelOutputs];
};

/// The value with which the sum over a half of the group, or all of it, begins: -kOffset times the
/// sum of a, of which x has -128 times that.
template <class Kind>
HWY_INLINE hn::Vec<Ints> bias(const CodedGroup& x, int half) {
  if constexpr (Kind::kOffset == 0) return hn::Zero(Ints());
  constexpr unsigned kOffset = std::max(Kind::kOffset, 1);
  constexpr int kTooMuch = 7 - std::countr_zero(kOffset);
  const auto for_128 = hn::Set(Ints(), Kind::kHalves == 1 ? x.bias : x.biases[half]);
  return hn::ShiftRight<kTooMuch>(for_128);
}

/// Adds the sum over a half of a group to the `total` of those before, scaled; of a kind without
/// halves it is the total. Sums of (c - o) a are exact, since they are below 2^24, and so are their
/// products with scales of halves; so these operations may be others than the definition's.
template <class Kind>
HWY_INLINE FloatVec add_half(int half, hn::Vec<Ints> sum, const Scales& scales, FloatVec total) {
  const FloatVec part = hn::ConvertTo(Floats(), sum);
  if constexpr (Kind::kHalves == 1) return part;
  const FloatVec scale = scales.half_scales[half];
  return half == 0 ? hn::Mul(part, scale) : fused(part, scale, total);
}

/// Adds a group's part to the result of one row.
template <class Kind>
HWY_INLINE FloatVec add_total(FloatVec total, const Scales& scales, const CodedGroup& x,
                              FloatVec result) {
  const Floats d;
  result = fused(total, hn::Mul(scales.step, hn::Set(d, x.scale)), result);
  if constexpr (!Kind::kMinima) return result;
  if constexpr (Kind::kHalves == 1) {
    return fused(scales.minus_minimum, hn::Set(d, x.scaled_sum), result);
  }
  // Sums of offsets times a: exact, too.
  constexpr float kPerBias = -1.0F / 128;
  const FloatVec first = hn::Set(d, kPerBias * static_cast<float>(x.biases[0]));
  const FloatVec second = hn::Set(d, kPerBias * static_cast<float>(x.biases[1]));
  const FloatVec sum = fused(scales.half_mins[1], second, hn::Mul(scales.half_mins[0], first));
  return fused(scales.minus_minimum, hn::Mul(hn::Set(d, x.scale), sum), result);
}

/// The weights of one group for the vectors of a tile.
template <class Dot, class Kind>
struct Weights {
  hn::Vec<Words> words[kTileVectors][kQuads];
  Scales scales[kTileVectors];

  /// A recursion, not a loop, so that the words are in registers whatever the compiler unrolls.
  template <int kStep = 0>
  HWY_INLINE void load(const std::byte* panel, int group, int lane) {
    if constexpr (kStep == Kind::kSteps) {
      for (int v = 0; v < kTileVectors; ++v) {
        Kind::scales(panel, group, lane + v * kVectorLanes, scales[v]);
      }
    } else {
      if (lane == 0) fetch_ahead<Kind>(panel, group, kStep);
      for (int v = 0; v < kTileVectors; ++v) {
        hn::Vec<Words> quads[Kind::kStepWords];
        Kind::words(panel, group, lane + v * kVectorLanes, kStep, quads);
        for (int i = 0; i < Kind::kStepWords; ++i) words[v][kStep + i * Kind::kSteps] = quads[i];
      }
      load<kStep + 1>(panel, group, lane);
    }
  }
};

/// The sums of kRows rows over a half of the group, or all of it, added to their totals.
template <int kRows, int kHalf, class Dot, class Kind>
HWY_INLINE void dot_half(const Weights<Dot, Kind>& w, const CodedGroup* x,
                         FloatVec (&totals)[kRows][kTileVectors]) {
  typename Dot::Sum sums[kRows][kTileVectors];
  for (int r = 0; r < kRows; ++r) {
    for (auto& sum : sums[r]) sum = Dot::begin(bias<Kind>(x[r], kHalf));
  }
  constexpr int kHalfQuads = kQuads / Kind::kHalves;
  for (int i = 0; i < kHalfQuads; ++i) {
    const int q = kHalf * kHalfQuads + i;
    typename Dot::Weights words[kTileVectors];
    for (int v = 0; v < kTileVectors; ++v) words[v] = Dot::weights(w.words[v][q]);
    for (int r = 0; r < kRows; ++r) {
      const auto a = Dot::quad(x[r].codes + 4 * q);
      for (int v = 0; v < kTileVectors; ++v) sums[r][v] = Dot::add(sums[r][v], words[v], a);
    }
  }
  for (int r = 0; r < kRows; ++r) {
    for (int v = 0; v < kTileVectors; ++v) {
      const auto sum = Dot::total(sums[r][v], bias<Kind>(x[r], kHalf));
      totals[r][v] = add_half<Kind>(kHalf, sum, w.scales[v], totals[r][v]);
    }
  }
}

/// Adds the group's part to kRows rows of results.
template <int kRows, class Dot, class Kind>
HWY_INLINE void add_group(const Weights<Dot, Kind>& w, const CodedGroup* x,
                          float (*results)[kPanelOutputs], int lane) {
  FloatVec totals[kRows][kTileVectors];
  for (auto& row : totals) {
    for (auto& total : row) total = hn::Zero(Floats());
  }
  dot_half<kRows, 0>(w, x, totals);
  if constexpr (Kind::kHalves == 2) dot_half<kRows, 1>(w, x, totals);
  for (int r = 0; r < kRows; ++r) {
    for (int v = 0; v < kTileVectors; ++v) {
      float* const to = results[r] + lane + v * kVectorLanes;
      const FloatVec result = hn::Load(Floats(), to);
      hn::Store(add_total<Kind>(totals[r][v], w.scales[v], x[r], result), Floats(), to);
    }
  }
}

/// Adds the group's part to all rows of a block: kRows at a time, the last ones in halves of that.
template <int kRows, class W>
HWY_INLINE void add_rows(const W& w, const CodedGroup* x, int rows, float (*results)[kPanelOutputs],
                         int lane) {
  int r = 0;
  for (; r + kRows <= rows; r += kRows) add_group<kRows>(w, x + r, results + r, lane);
  if constexpr (kRows > 1) add_rows<kRows / 2>(w, x + r, rows - r, results + r, lane);
}

/// Multiplies a block of rows by a panel.
template <class Dot, class Kind>
void multiply_many(const std::byte* panel, int groups, const CodedGroup* x, int rows,
                   Block& block) {
  std::memset(block.sums, 0, sizeof block.sums[0] * static_cast<std::size_t>(rows));
  for (int g = 0; g < groups; ++g, x += rows) {
    for (int lane = 0; lane < kPanelOutputs; lane += kTileLanes) {
      Weights<Dot, Kind> w;
      w.load(panel, g, lane);
      add_rows<kTileRows>(w, x, rows, block.sums, lane);
    }
  }
}

/// Writes the results of rows [first, first + rows) and a panel to y.
inline void store(const PanelProduct& p, int first, int rows, int panel,
                  const float (*sums)[kPanelOutputs]) {
  const int output = panel * kPanelOutputs;
  const auto count = static_cast<std::size_t>(std::min(kPanelOutputs, p.section->outputs - output));
  for (int r = 0; r < rows; ++r) {
    std::memcpy(p.y + (first + r) * p.y_stride + output, sums[r], sizeof(float) * count);
  }
}

}  // namespace forge::linear::codes::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // per-target include guard
