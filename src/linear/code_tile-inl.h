// Products of blocks of rows and panels of codes, compiled once per instruction set and version of
// Dot.
//
// The weights of a group are unpacked into registers (32 outputs in 16 of the 32 of AVX-512) and
// stay there while the rows of the block pass, eight at a time, whose 16 independent sums hide the
// latency of the instruction; so unpacking costs little where rows are many, and needs no memory
// where they are few. The rows' partial results, 128 bytes each, wait in the L1 cache for the next
// group. One or two rows wait for memory, and take two panels in turns (code_rows.h).
//
// The instruction takes unsigned weights: the sum of (c - o) a is that of (c - o + 128) a, begun at
// -128 times the sum of a.
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
inline constexpr int kTileRows = 8;
#else
inline constexpr int kTileVectors = 1;
inline constexpr int kTileRows = 2;
#endif

/// Asks memory for the weights kAhead bytes after those of `group`, which may be the next panel's:
/// the processor alone asks for too few at a time while it computes. Nothing is read past the end.
template <class Kind>
HWY_INLINE void fetch_ahead(const std::byte* panel, int group) {
  constexpr std::size_t kAhead = 4096;
  const std::byte* const first =
      panel + static_cast<std::size_t>(group) * Kind::kGroupBytes + kAhead;
  for (std::size_t i = 0; i < Kind::kGroupBytes; i += 64) hwy::Prefetch(first + i);
}

/// Partial results of a block of rows against a panel.
struct alignas(64) Block {
  float sums[kRowBlock][kPanelOutputs];
};

/// The weights of one group for a few vectors of outputs.
template <class Dot, class Kind, int kVectorsTogether>
struct Weights {
  static constexpr int kVectors = kVectorsTogether;

  Unpacked unpacked[kVectors];

  HWY_INLINE void load(const std::byte* panel, int group, int lane) {
    for (int v = 0; v < kVectors; ++v) {
      Kind::unpack(panel, group, lane + v * kVectorLanes, unpacked[v]);
    }
  }

  HWY_INLINE typename Dot::Weights quad(int v, int q) const {
    return Dot::weights(unpacked[v].words[q]);
  }
};

/// The value with which the sum over a half of the group, or all of it, begins.
template <class Kind>
HWY_INLINE hn::Vec<Ints> bias(const CodedGroup& x, int half) {
  if (!Kind::kBiased) return hn::Zero(Ints());
  return hn::Set(Ints(), Kind::kHalves == 1 ? x.bias : x.biases[half]);
}

/// Computes for kRows rows the sums of (c - o) a over a half of the group, or all of it, as floats.
/// They are exact, since they are below 2^24.
template <int kRows, class Dot, class Kind, int kVectors>
HWY_INLINE void dot_half(const Weights<Dot, Kind, kVectors>& w, const CodedGroup* x, int half,
                         FloatVec (&totals)[kRows][kVectors]) {
  typename Dot::Sum sums[kRows][kVectors];
  for (int r = 0; r < kRows; ++r) {
    for (int v = 0; v < kVectors; ++v) sums[r][v] = Dot::begin(bias<Kind>(x[r], half));
  }
  constexpr int kHalfQuads = kQuads / Kind::kHalves;
  for (int i = 0; i < kHalfQuads; ++i) {
    const int q = half * kHalfQuads + i;
    typename Dot::Weights words[kVectors];
    for (int v = 0; v < kVectors; ++v) words[v] = w.quad(v, q);
    for (int r = 0; r < kRows; ++r) {
      const auto a = Dot::quad(x[r].codes + 4 * q);
      for (int v = 0; v < kVectors; ++v) sums[r][v] = Dot::add(sums[r][v], words[v], a);
    }
  }
  for (int r = 0; r < kRows; ++r) {
    for (int v = 0; v < kVectors; ++v) {
      totals[r][v] = hn::ConvertTo(Floats(), Dot::total(sums[r][v]));
    }
  }
}

/// Computes for kRows rows the sums of (c - o) h a over the group. They are exact too, so these
/// operations may be others than the definition's.
template <int kRows, class Dot, class Kind, int kVectors>
HWY_INLINE void dot_group(const Weights<Dot, Kind, kVectors>& w, const CodedGroup* x,
                          FloatVec (&totals)[kRows][kVectors]) {
  dot_half<kRows>(w, x, 0, totals);
  if constexpr (Kind::kHalves == 2) {
    FloatVec others[kRows][kVectors];
    dot_half<kRows>(w, x, 1, others);
    for (int r = 0; r < kRows; ++r) {
      for (int v = 0; v < kVectors; ++v) {
        const auto& scales = w.unpacked[v].half_scales;
        totals[r][v] = fused(others[r][v], scales[1], hn::Mul(totals[r][v], scales[0]));
      }
    }
  }
}

/// Adds the group's part to kRows rows of sums.
template <int kRows, class Dot, class Kind, int kVectors>
HWY_INLINE void add_group(const Weights<Dot, Kind, kVectors>& w, const CodedGroup* x,
                          float (*sums)[kPanelOutputs], int lane) {
  const Floats d;
  FloatVec totals[kRows][kVectors];
  dot_group<kRows>(w, x, totals);
  for (int r = 0; r < kRows; ++r) {
    const FloatVec scale = hn::Set(d, x[r].scale);
    for (int v = 0; v < kVectors; ++v) {
      float* const to = sums[r] + lane + v * kVectorLanes;
      const Unpacked& from = w.unpacked[v];
      FloatVec sum = fused(totals[r][v], hn::Mul(from.step, scale), hn::Load(d, to));
      if constexpr (Kind::kMinima) {
        sum = fused(from.minus_minimum, hn::Set(d, x[r].scaled_sum), sum);
      }
      hn::Store(sum, d, to);
    }
  }
}

/// Adds the group's part to all rows of a block: kRows at a time, the last ones in halves of that.
template <int kRows, class W>
HWY_INLINE void add_rows(const W& w, const CodedGroup* x, int rows, float (*sums)[kPanelOutputs],
                         int lane) {
  int r = 0;
  for (; r + kRows <= rows; r += kRows) add_group<kRows>(w, x + r, sums + r, lane);
  if constexpr (kRows > 1) add_rows<kRows / 2>(w, x + r, rows - r, sums + r, lane);
}

/// Multiplies a block of rows by a panel.
template <class Dot, class Kind>
void multiply_many(const std::byte* panel, int groups, const CodedGroup* x, int rows,
                   Block& block) {
  std::memset(block.sums, 0, sizeof block.sums[0] * static_cast<std::size_t>(rows));
  for (int g = 0; g < groups; ++g, x += rows) {
    fetch_ahead<Kind>(panel, g);
    for (int lane = 0; lane < kPanelOutputs; lane += kTileVectors * kVectorLanes) {
      Weights<Dot, Kind, kTileVectors> w;
      w.load(panel, g, lane);
      add_rows<kTileRows>(w, x, rows, block.sums, lane);
    }
  }
}

/// Multiplies kRows rows by kPanels panels: weights pass through registers vector by vector. Row r
/// of panel p becomes row p * kRows + r of the block.
template <int kRows, int kPanels, class Dot, class Kind>
void multiply_few(const std::byte* panels, std::size_t panel_bytes, int groups, const CodedGroup* x,
                  Block& block) {
  std::memset(block.sums, 0, sizeof block.sums[0] * kRows * kPanels);
  for (int g = 0; g < groups; ++g, x += kRows) {
    for (int p = 0; p < kPanels; ++p) {
      const std::byte* const panel = panels + static_cast<std::size_t>(p) * panel_bytes;
      fetch_ahead<Kind>(panel, g);
      for (int lane = 0; lane < kPanelOutputs; lane += kVectorLanes) {
        Weights<Dot, Kind, 1> w;
        w.load(panel, g, lane);
        add_group<kRows>(w, x, block.sums + p * kRows, lane);
      }
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

/// Multiplies all rows, which are kRows, by the panels from `panel` on: kPanels together, then the
/// rest.
template <int kRows, int kPanels, class Dot, class Kind>
void multiply_few_panels(const PanelProduct& p, int panel, Block& block) {
  const Section& section = *p.section;
  for (; panel + kPanels <= p.end_panel; panel += kPanels) {
    multiply_few<kRows, kPanels, Dot, Kind>(
        section.panels + static_cast<std::size_t>(panel) * section.panel_bytes, section.panel_bytes,
        group_count(p.inputs), p.converted->groups, block);
    for (int i = 0; i < kPanels; ++i) store(p, 0, kRows, panel + i, block.sums + i * kRows);
  }
  if constexpr (kPanels > 1) multiply_few_panels<kRows, 1, Dot, Kind>(p, panel, block);
}

template <class Dot, class Kind>
void multiply_panels(const PanelProduct& p) {
  static_assert(kFewRows == 2);
  Block block;
  if (p.rows == 1) return multiply_few_panels<1, kFewPanels, Dot, Kind>(p, p.first_panel, block);
  if (p.rows == 2) return multiply_few_panels<2, kFewPanels, Dot, Kind>(p, p.first_panel, block);
  const int groups = group_count(p.inputs);
  for (int first = 0; first < p.rows; first += kRowBlock) {
    const int rows = block_rows(first, p.rows);
    const CodedGroup* const x = p.converted->groups + block_begin(first, groups);
    for (int panel = p.first_panel; panel < p.end_panel; ++panel) {
      const std::byte* const weights =
          p.section->panels + static_cast<std::size_t>(panel) * p.section->panel_bytes;
      multiply_many<Dot, Kind>(weights, groups, x, rows, block);
      store(p, first, rows, panel, block.sums);
    }
  }
}

}  // namespace forge::linear::codes::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // per-target include guard
