// Tiles of y in registers, rows x outputs of a panel, for one segment of packed floats; compiled
// once per instruction set.
//
// A step loads the weights of some inputs for each vector of outputs and broadcasts those inputs of
// each row. All elements of a tile are independent chains, which hides the latency of fma.
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

// How weights lie in a panel and what a step does with them. A step reads kWords words of x and
// kStepBytes bytes of a panel. load() reads the weights of kFullLanes outputs, one vector for each
// word, from the step's bytes on.

struct F32Weights {
  static constexpr int kWords = 1;
  static constexpr int kInputs = 1;
  static constexpr int kStepBytes = kPanelOutputs * 4;
  static constexpr int kLaneBytes = 4;

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

/// Vectors across a panel.
inline constexpr int kVectors = kPanelOutputs / kFullLanes;

/// Accumulators of a tile: what fits into the registers beside weights and broadcasts.
#if HWY_CAP_GE512 || HWY_ARCH_ARM_A64
inline constexpr int kAccumulators = 24;  // of 32 registers
#else
inline constexpr int kAccumulators = 12;  // of 16 registers
#endif

/// Rows of the tallest tile.
inline constexpr int kTileRowsMax = kVectors < kAccumulators ? kAccumulators / kVectors : 1;

/// Panels across a tile of `rows` rows: several where rows are few, because a core reads memory
/// faster in several places at a time.
constexpr int tile_panels(int rows) {
  int panels = rows <= 4 ? 4 : 1;
  while (panels > 1 && panels * rows * kVectors > kAccumulators) panels /= 2;
  return panels;
}

/// Weights are fetched this many bytes ahead: prefetchers stop at the end of a page.
inline constexpr int kBytesAhead = 1024;
inline constexpr int kLineBytes = 64;

/// Weights of this many bytes come from memory each time; a core's cache keeps fewer.
inline constexpr std::ptrdiff_t kFarBytes = std::ptrdiff_t{512} << 10;

/// One segment of the product for some panels.
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

template <class Weights, int kRows, int kPanels>
struct Tile {
  static constexpr int kWords = Weights::kWords;

  /// Accumulates rows [row, row + kRows) and stores or adds them to y.
  static HWY_INLINE void run(const Segment& c, int row) {
    const FullTag d;
    FullVec sums[kRows][kPanels * kVectors];
    for (auto& row_sums : sums) {
      for (auto& sum : row_sums) sum = hn::Zero(d);
    }
    const float* x = c.x + row * c.x_stride;
    const std::byte* w = c.w;
    for (int step = 0; step < c.steps; ++step, x += kWords, w += Weights::kStepBytes) {
      FullVec weights[kPanels * kVectors][kWords];
      for (int panel = 0; panel < kPanels; ++panel) {
        const std::byte* const from = w + panel * c.w_stride;
        for (int line = 0; c.far && line < Weights::kStepBytes; line += kLineBytes) {
          hwy::Prefetch(from + kBytesAhead + line);
        }
        for (int v = 0; v < kVectors; ++v) {
          Weights::load(from + v * kFullLanes * Weights::kLaneBytes, weights[panel * kVectors + v]);
        }
      }
      for (int word = 0; word < kWords; ++word) {
        for (int r = 0; r < kRows; ++r) {
          const FullVec input = hn::Set(d, x[r * c.x_stride + word]);
          for (int v = 0; v < kPanels * kVectors; ++v) {
            sums[r][v] = Weights::add(input, weights[v][word], sums[r][v]);
          }
        }
      }
    }
    for (int r = 0; r < kRows; ++r) {
      float* const y = c.y + (row + r) * c.y_stride;
      for (int panel = 0; panel < kPanels; ++panel) {
        const int first = panel * kPanelOutputs;
        store_row(c, sums[r] + panel * kVectors, std::min(c.outputs - first, kPanelOutputs),
                  y + first);
      }
    }
  }

  /// Sets y [outputs] to the sums of one panel, or adds them to it.
  static HWY_INLINE void store_row(const Segment& c, const FullVec* sums, int outputs, float* y) {
    const FullTag d;
    if (outputs == kPanelOutputs) {
      for (int v = 0; v < kVectors; ++v) {
        float* target = y + v * kFullLanes;
        hn::StoreU(c.first ? sums[v] : hn::Add(hn::LoadU(d, target), sums[v]), d, target);
      }
      return;
    }
    HWY_ALIGN float row[kPanelOutputs];
    for (int v = 0; v < kVectors; ++v) hn::Store(sums[v], d, row + v * kFullLanes);
    for (int i = 0; i < outputs; ++i) y[i] = c.first ? row[i] : y[i] + row[i];
  }
};

/// Multiplies `rows` rows from `row` on, 1 .. kTileRowsMax, by one panel: by the tile of exactly
/// that height.
template <class Weights, int kRows = kTileRowsMax>
HWY_INLINE void run_rows(const Segment& c, int row, int rows) {
  if constexpr (kRows > 1) {
    if (rows < kRows) return run_rows<Weights, kRows - 1>(c, row, rows);
  }
  Tile<Weights, kRows, 1>::run(c, row);
}

/// Multiplies kRows rows from row 0 on by all panels of c: kPanels together, the rest in tiles half
/// as wide.
template <class Weights, int kRows, int kPanels>
HWY_INLINE void run_widths(Segment c, int panels) {
  for (; panels >= kPanels; panels -= kPanels) {
    Tile<Weights, kRows, kPanels>::run(c, 0);
    c.w += kPanels * c.w_stride;
    c.y += kPanels * kPanelOutputs;
    c.outputs -= kPanels * kPanelOutputs;
  }
  if constexpr (kPanels > 1) {
    if (panels > 0) run_widths<Weights, kRows, kPanels / 2>(c, panels);
  }
}

/// Multiplies all rows, 1 .. kTileRowsMax, by all panels of c.
template <class Weights, int kRows = kTileRowsMax>
HWY_INLINE void run_panels(const Segment& c, int rows, int panels) {
  if constexpr (kRows > 1) {
    if (rows < kRows) return run_panels<Weights, kRows - 1>(c, rows, panels);
  }
  run_widths<Weights, kRows, tile_panels(kRows)>(c, panels);
}

}  // namespace forge::linear::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // per-target include guard
