// Products of a few rows and panels of codes, which wait for memory; compiled once per instruction
// set and version of Dot.
//
// Weights pass through registers once, in the order in which they lie in memory, and what lies some
// KiB further on is asked for line by line as they pass: in bursts, or in another order within the
// group, a core reads up to a tenth less of it. Sums stay in registers from the first group to the
// last. Codes of 8 bits are read from two panels in turns; so a core reads them faster, and smaller
// ones slower (bench/README.md, Beside llama.cpp).
#include <algorithm>

#include "code_tile-inl.h"

#if defined(FORGE_LINEAR_CODE_FEW_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef FORGE_LINEAR_CODE_FEW_INL_H
#undef FORGE_LINEAR_CODE_FEW_INL_H
#else
#define FORGE_LINEAR_CODE_FEW_INL_H
#endif

HWY_BEFORE_NAMESPACE();
namespace forge::linear::codes::HWY_NAMESPACE {

/// The most rows whose sums the registers hold. The portable version, whose vectors are arrays,
/// waits for arithmetic.
#if HWY_CAP_GE512
inline constexpr int kFewRows = 4;
#elif HWY_TARGET == HWY_EMU128 || HWY_TARGET == HWY_SCALAR
inline constexpr int kFewRows = 0;
#else
inline constexpr int kFewRows = 2;
#endif

/// Panels that are taken together.
template <class Kind>
constexpr int few_panels(int rows) {
  return rows <= std::min(kFewRows, 2) && Kind::kStepWords == 1 ? 2 : 1;
}

/// Panels one after the other.
struct Panels {
  const std::byte* first;
  std::size_t bytes;  ///< of a panel

  const std::byte* operator[](int panel) const {
    return first + static_cast<std::size_t>(panel) * bytes;
  }
};

/// Sums of (c - o) a of kRows rows over one group, for the vectors of a tile of kPanels panels.
template <int kRows, int kPanels, class Dot, class Kind>
struct GroupSums {
  typename Dot::Sum sums[kPanels][kRows][kTileVectors][Kind::kHalves];

  HWY_INLINE void begin(const CodedGroup* x) {
    for (auto& panel : sums) {
      for (int r = 0; r < kRows; ++r) {
        for (auto& sum : panel[r]) {
          for (int half = 0; half < Kind::kHalves; ++half) {
            sum[half] = Dot::begin(bias<Kind>(x[r], half));
          }
        }
      }
    }
  }

  /// Adds a step of `group` of all panels.
  HWY_INLINE void add(const Panels& panels, int group, int lane, int step, const CodedGroup* x) {
    for (int p = 0; p < kPanels; ++p) {
      const std::byte* const panel = panels[p];
      if (lane == 0) fetch_ahead<Kind>(panel, group, step);
      for (int v = 0; v < kTileVectors; ++v) {
        hn::Vec<Words> words[Kind::kStepWords];
        Kind::words(panel, group, lane + v * kVectorLanes, step, words);
        for (int i = 0; i < Kind::kStepWords; ++i) {
          const auto w = Dot::weights(words[i]);
          for (int r = 0; r < kRows; ++r) {
            // Of kinds with halves, quads step and 4 + step are of one each.
            auto& sum = sums[p][r][v][Kind::kHalves == 1 ? 0 : i];
            sum = Dot::add(sum, w, Dot::quad(x[r].codes + 4 * (step + i * Kind::kSteps)));
          }
        }
      }
    }
  }
};

/// Multiplies kRows rows by kPanels panels. Row r of panel p becomes row p * kRows + r of the
/// block.
template <int kRows, int kPanels, class Dot, class Kind>
void multiply_few(const Panels& panels, int groups, const CodedGroup* x, Block& block) {
  constexpr int kTiles = kPanelOutputs / kTileLanes;
  FloatVec results[kTiles][kPanels][kRows][kTileVectors];
  for (auto& tile : results) {
    for (auto& panel : tile) {
      for (auto& row : panel) {
        for (auto& result : row) result = hn::Zero(Floats());
      }
    }
  }
  for (int g = 0; g < groups; ++g, x += kRows) {
    for (int tile = 0; tile < kTiles; ++tile) {
      GroupSums<kRows, kPanels, Dot, Kind> group;
      group.begin(x);
      for (int step = 0; step < Kind::kSteps; ++step) {
        group.add(panels, g, tile * kTileLanes, step, x);
      }
      for (int p = 0; p < kPanels; ++p) {
        for (int v = 0; v < kTileVectors; ++v) {
          Scales scales;
          Kind::scales(panels[p], g, tile * kTileLanes + v * kVectorLanes, scales);
          for (int r = 0; r < kRows; ++r) {
            FloatVec total = hn::Zero(Floats());
            for (int half = 0; half < Kind::kHalves; ++half) {
              const auto sum = Dot::total(group.sums[p][r][v][half], bias<Kind>(x[r], half));
              total = add_half<Kind>(half, sum, scales, total);
            }
            FloatVec& result = results[tile][p][r][v];
            result = add_total<Kind>(total, scales, x[r], result);
          }
        }
      }
    }
  }
  for (int tile = 0; tile < kTiles; ++tile) {
    for (int p = 0; p < kPanels; ++p) {
      for (int r = 0; r < kRows; ++r) {
        for (int v = 0; v < kTileVectors; ++v) {
          hn::Store(results[tile][p][r][v], Floats(),
                    block.sums[p * kRows + r] + tile * kTileLanes + v * kVectorLanes);
        }
      }
    }
  }
}

/// Multiplies all rows, which are kRows, by the panels from `panel` on: kPanels together, then the
/// rest.
template <int kRows, int kPanels, class Dot, class Kind>
void multiply_few_panels(const PanelProduct& p, int panel, Block& block) {
  const Panels panels{p.section->panels, p.section->panel_bytes};
  for (; panel + kPanels <= p.end_panel; panel += kPanels) {
    multiply_few<kRows, kPanels, Dot, Kind>({panels[panel], panels.bytes}, group_count(p.inputs),
                                            p.converted->groups, block);
    for (int i = 0; i < kPanels; ++i) store(p, 0, kRows, panel + i, block.sums + i * kRows);
  }
  if constexpr (kPanels > 1) multiply_few_panels<kRows, 1, Dot, Kind>(p, panel, block);
}

/// Multiplies p.rows rows, 1 .. kFewRows.
template <class Dot, class Kind, int kRows = kFewRows>
void multiply_few_rows(const PanelProduct& p) {
  if constexpr (kRows > 1) {
    if (p.rows < kRows) return multiply_few_rows<Dot, Kind, kRows - 1>(p);
  }
  Block block;
  multiply_few_panels<kRows, few_panels<Kind>(kRows), Dot, Kind>(p, p.first_panel, block);
}

}  // namespace forge::linear::codes::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // per-target include guard
