#include <algorithm>
#include <cstring>

#include "forge/numerics/canonical.h"
#include "panels.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "float_kernels.cc"
#include "hwy/foreach_target.h"
// After foreach_target.h:
#include "float_tile-inl.h"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace forge::linear::HWY_NAMESPACE {

using numerics::kProductSegment;

/// Panels of a strip. Where rows are few, it is as wide as a tile. Where they are many, the weights
/// of a strip along one segment (128 KiB of float) stay in the L2 cache while all rows pass, and
/// some rows in the L1 cache while all panels pass.
inline constexpr int kStripPanels = 4;
int strip_panels(int rows) {
  return rows > kTileRowsMax ? kStripPanels
                             : std::max(1, tile_vectors(rows) * kFullLanes / kPanelOutputs);
}

/// A segment of a strip against all rows, in tiles of about equal height.
template <class Weights>
void run_segment(const Segment& c, int rows) {
  const int tiles = (rows + kTileRowsMax - 1) / kTileRowsMax;
  const int height = (rows + tiles - 1) / tiles;
  for (int row = 0; row < rows; row += height) {
    run_rows<Weights>(c, row, std::min(height, rows - row));
  }
}

/// More rows than this pay for widening.
inline constexpr int kManyRows = 4 * kTileRowsMax;

/// A strip along one segment, as F32Weights has it.
struct alignas(64) WidenedStrip {
  float words[kStripPanels][kProductSegment][kPanelOutputs];
};

/// The weights of `c` as floats, in the order of its steps, so that all chains stay the same.
template <class Weights>
Segment widened(const Segment& c, WidenedStrip& out) {
  const int panels = (c.outputs + kPanelOutputs - 1) / kPanelOutputs;
  for (int panel = 0; panel < panels; ++panel) {
    const std::byte* from = c.w + panel * c.w_stride;
    for (int step = 0; step < c.steps; ++step, from += Weights::kStepBytes) {
      for (int lane = 0; lane < kPanelOutputs; lane += kFullLanes) {
        FullVec words[Weights::kWords];
        Weights::load(from + lane * Weights::kLaneBytes, words);
        for (int word = 0; word < Weights::kWords; ++word) {
          float* const to = out.words[panel][step * Weights::kWords + word] + lane;
          hn::Store(words[word], FullTag(), to);
        }
      }
    }
  }
  Segment wide = c;
  wide.w = reinterpret_cast<const std::byte*>(out.words);
  wide.w_stride = sizeof out.words[0];
  wide.steps = c.steps * Weights::kWords;
  wide.far = false;
  return wide;
}

template <class Weights>
void multiply_panels(const PanelProduct& p, const float* x, std::ptrdiff_t x_stride) {
  constexpr int kSteps = kProductSegment / Weights::kInputs;  // of a segment
  const int steps = (p.inputs + Weights::kInputs - 1) / Weights::kInputs;
  const int strip = strip_panels(p.rows);
  const auto stride = static_cast<std::ptrdiff_t>(p.section->panel_bytes);
  const bool far = stride * p.section->panel_count() >= kFarBytes;
  [[maybe_unused]] WidenedStrip strip_as_floats;
  for (int panel = p.first_panel; panel < p.end_panel; panel += strip) {
    const int first = panel * kPanelOutputs;
    const int end = std::min(panel + strip, p.end_panel);
    for (int step = 0; step < steps; step += kSteps) {
      const Segment c = {.x = x + static_cast<std::ptrdiff_t>(step) * Weights::kWords * p.rows,
                         .x_stride = x_stride,
                         .w = p.section->panels + panel * stride +
                              static_cast<std::ptrdiff_t>(step) * Weights::kStepBytes,
                         .w_stride = stride,
                         .y = p.y + first,
                         .y_stride = p.y_stride,
                         .steps = std::min(kSteps, steps - step),
                         .outputs = std::min(end * kPanelOutputs, p.section->outputs) - first,
                         .first = step == 0,
                         .far = far};
      if constexpr (Weights::kWidenFirst) {
        if (p.rows > kManyRows) {
          run_segment<F32Weights>(widened<Weights>(c, strip_as_floats), p.rows);
          continue;
        }
      }
      run_segment<Weights>(c, p.rows);
    }
  }
}

/// With canonical numerics BF16Weights has the bits of the definition on every instruction set.
bool takes_pairs_impl(Numerics numerics) { return numerics == Numerics::native && cpu_has_pairs(); }

void multiply_impl(const PanelProduct& p) {
  const Converted& x = *p.converted;
  switch (p.section->kind) {
    case PanelKind::f32:
      return multiply_panels<F32Weights>(p, x.f32, x.f32_stride);
    case PanelKind::f16:
      return multiply_panels<F16Weights>(p, x.f32, x.f32_stride);
    default:
#if HWY_ARCH_X86_64 && HWY_TARGET <= HWY_AVX3
      if (takes_pairs_impl(p.numerics)) {
        return multiply_panels<BF16Pairs>(p, x.bf16, kProductSegment / 2);
      }
#endif
      return multiply_panels<BF16Weights>(p, x.bf16, kProductSegment);
  }
}

std::uint32_t to_bf16_bits(float x) {
  const std::uint32_t bits = numerics::bits_of(x);
  return (bits + 0x7fffu + (bits >> 16 & 1)) >> 16;
}

/// A segment of a row, to words of BF16Weights or of BF16Pairs.
void convert_pairs(const float* x, int inputs, bool pairs, float* out) {
  for (int k = 0; k < inputs; k += 2) {
    const std::uint32_t even = to_bf16_bits(x[k]);
    const std::uint32_t odd = k + 1 < inputs ? to_bf16_bits(x[k + 1]) : 0;
    if (pairs) {
      out[k / 2] = numerics::float_of(odd << 16 | even);
    } else {
      out[k] = numerics::float_of(odd << 16);
      out[k + 1] = numerics::float_of(even << 16);
    }
  }
}

void convert_impl(PanelKind kind, const Activations& a, int first_row, int end_row,
                  ProductScratch& scratch) {
  const bool pairs = kind == PanelKind::bf16 && takes_pairs_impl(a.numerics);
  const std::ptrdiff_t pitch = pairs ? kProductSegment / 2 : kProductSegment;
  for (int input = 0; input < a.inputs; input += kProductSegment) {
    const int inputs = std::min(kProductSegment, a.inputs - input);
    const std::ptrdiff_t segment = input / kProductSegment * pitch * a.rows;
    for (int row = first_row; row < end_row; ++row) {
      const float* const x = a.x + static_cast<std::ptrdiff_t>(row) * a.inputs + input;
      const std::ptrdiff_t at = segment + row * pitch;
      if (kind == PanelKind::bf16) {
        convert_pairs(x, inputs, pairs, scratch.bf16.data() + at);
      } else {
        std::memcpy(scratch.f32.data() + at, x, sizeof(float) * static_cast<std::size_t>(inputs));
      }
    }
  }
}

int panel_step_impl(int rows) { return strip_panels(rows); }

std::string_view instructions_impl([[maybe_unused]] PanelKind kind,
                                   [[maybe_unused]] Numerics numerics) {
#if HWY_ARCH_X86_64 && HWY_TARGET <= HWY_AVX3
  return kind == PanelKind::bf16 && takes_pairs_impl(numerics) ? "AVX-512 BF16" : "AVX-512";
#else
  return hwy::TargetName(HWY_TARGET);
#endif
}

}  // namespace forge::linear::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace forge::linear::floats {

HWY_EXPORT(multiply_impl);
HWY_EXPORT(convert_impl);
HWY_EXPORT(panel_step_impl);
HWY_EXPORT(instructions_impl);
HWY_EXPORT(takes_pairs_impl);

void multiply(const PanelProduct& product) { HWY_DYNAMIC_DISPATCH(multiply_impl)(product); }

void convert(PanelKind kind, const Activations& x, int first_row, int end_row,
             ProductScratch& scratch) {
  HWY_DYNAMIC_DISPATCH(convert_impl)(kind, x, first_row, end_row, scratch);
}

int panel_step(int rows) { return HWY_DYNAMIC_DISPATCH(panel_step_impl)(rows); }

std::string_view instructions_used(PanelKind kind, Numerics numerics) {
  return HWY_DYNAMIC_DISPATCH(instructions_impl)(kind, numerics);
}

bool takes_pairs(Numerics numerics) { return HWY_DYNAMIC_DISPATCH(takes_pairs_impl)(numerics); }

}  // namespace forge::linear::floats
#endif  // HWY_ONCE
