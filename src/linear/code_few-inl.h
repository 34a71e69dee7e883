// Products of a few rows and panels of codes, which wait for memory; compiled once per instruction
// set and version of Dot.
//
// Weights pass through registers once, in the order in which they lie in memory, and what lies some
// KiB further on is asked for line by line as they pass: in bursts, or in another order within the
// group, a core reads up to a fifth less of it. Sums stay in registers from the first group to the
// last. Bytes come from two panels in turns, because a core reads faster in two places at a time;
// smaller codes need the time to unpack.
#include "code_tile-inl.h"

#if defined(FORGE_LINEAR_CODE_FEW_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef FORGE_LINEAR_CODE_FEW_INL_H
#undef FORGE_LINEAR_CODE_FEW_INL_H
#else
#define FORGE_LINEAR_CODE_FEW_INL_H
#endif

HWY_BEFORE_NAMESPACE();
namespace forge::linear::codes::HWY_NAMESPACE {

/// The most rows whose sums the registers hold.
inline constexpr int kFewRows = HWY_CAP_GE512 ? 4 : 2;

/// Panels that are taken together.
template <class Kind>
constexpr int few_panels(int rows) {
  return rows <= 2 && Kind::kStepWords == 1 ? 2 : 1;
}

/// Sums of (c - o) a of kRows rows over one group, for the vectors of a tile of kPanels panels.
template <int kRows, int kPanels, class Dot, class Kind>
struct GroupSums {
  static constexpr int kHalfQuads = kQuads / Kind::kHalves;

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

  /// Adds all steps of `group`, where panel p begins at panels + p * panel_bytes.
  template <int kStep = 0>
  HWY_INLINE void add(const std::byte* panels, std::size_t panel_bytes, int group, int lane,
                      const CodedGroup* x) {
    if constexpr (kStep < Kind::kSteps) {
      for (int p = 0; p < kPanels; ++p) {
        const std::byte* const panel = panels + static_cast<std::size_t>(p) * panel_bytes;
        if (lane == 0) fetch_ahead<Kind, kStep>(panel, group);
        for (int v = 0; v < kTileVectors; ++v) {
          hn::Vec<Words> words[Kind::kStepWords];
          Kind::template words<kStep>(panel, group, lane + v * kVectorLanes, words);
          for (int i = 0; i < Kind::kStepWords; ++i) {
            const int q = kStep + i * Kind::kSteps;
            const auto w = Dot::weights(words[i]);
            for (int r = 0; r < kRows; ++r) {
              auto& sum = sums[p][r][v][q / kHalfQuads];
              sum = Dot::add(sum, w, Dot::quad(x[r].codes + 4 * q));
            }
          }
        }
      }
      add<kStep + 1>(panels, panel_bytes, group, lane, x);
    }
  }
};

/// Multiplies kRows rows by kPanels panels. Row r of panel p becomes row p * kRows + r of the
/// block.
template <int kRows, int kPanels, class Dot, class Kind>
void multiply_few(const std::byte* panels, std::size_t panel_bytes, int groups, const CodedGroup* x,
                  Block& block) {
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
      group.add(panels, panel_bytes, g, tile * kTileLanes, x);
      for (int p = 0; p < kPanels; ++p) {
        const std::byte* const panel = panels + static_cast<std::size_t>(p) * panel_bytes;
        for (int v = 0; v < kTileVectors; ++v) {
          Scales scales;
          Kind::scales(panel, g, tile * kTileLanes + v * kVectorLanes, scales);
          for (int r = 0; r < kRows; ++r) {
            FloatVec total = hn::Zero(Floats());
            for (int half = 0; half < Kind::kHalves; ++half) {
              total = add_half<Kind>(half, Dot::total(group.sums[p][r][v][half]), scales, total);
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
  const Section& section = *p.section;
  for (; panel + kPanels <= p.end_panel; panel += kPanels) {
    multiply_few<kRows, kPanels, Dot, Kind>(
        section.panels + static_cast<std::size_t>(panel) * section.panel_bytes, section.panel_bytes,
        group_count(p.inputs), p.converted->groups, block);
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
