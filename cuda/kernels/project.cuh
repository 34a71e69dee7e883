// project: y = x W^T, every projection of the model and its output head.
//
//   grid      x: tiles of 8 rows, y: panels of 32 outputs, so that blocks that run at the same time
//             share weights. A block has a warp for each segment of 256 inputs, or for each group
//             of 32 of codes, up to 8
//   memory    weights come in panels (weight_panel.cuh, code_panel.cuh): a word of each output of a
//             panel is 128 consecutive bytes (f16: 64), a lane an output. Each is read once and
//             used for all rows of the tile. Floats: 8 loads are in flight a lane; a warp copies
//             its part of x to shared memory first, where all lanes then read the same 16 bytes at
//             once. Codes: those of a group are in flight; all lanes read the same 48 bytes of x
//   bits      those of linear/product.h. An output of floats is the sum of segments of 256 inputs,
//             each an fma chain in ascending order; the segments are added in ascending order. So
//             the segments can be computed side by side, a warp each ("split-K"); only their
//             addition must wait. Codes: multiply_codes.cuh. Bias, multiplier and cap follow in the
//             CPU's order; by 1 a product keeps its bits
//
//   warp 0   segment 0 --+-- segment 8 ----+--
//   warp 1   segment 1 --+-- segment 9 ----+--     + is a barrier: the sums of a round are in
//   ...                  |                 |        shared memory, and warp w adds them for rows
//   warp 7   segment 7 --+-- segment 15 ---+--      w, w + W, ... of the tile
#pragma once

#include "forge/gpu/kernels/project.h"
#include "forge/numerics/canonical.h"
#include "forge/simt/dialect.h"
#include "multiply_codes.cuh"
#include "product.cuh"
#include "weight_panel.cuh"

namespace FORGE_KERNELS {
using namespace simt;

/// Floats of x that a warp keeps in shared memory, for all rows of the tile together.
inline constexpr int kStagedFloats = 512;
static_assert(kStagedFloats <= kWorkFloats);

/// What a block multiplies, by one panel.
template <class Panel, class Rows>
struct FloatProduct {
  ProductInputs<Rows> in;
  gptr<const typename Panel::Word> weights;  ///< those of this lane's output: [K / kInputs][32]
};

/// sums[r] is continued over `count` inputs: staged[r * kStride + k] * weights[k][0].
template <class Panel, int kRows, int kStride>
FORGE_DEVICE void multiply_staged(sptr<const float> staged,
                                  gptr<const typename Panel::Word> weights, int count,
                                  float (&sums)[kRows]) {
  constexpr int kInputs = Panel::kInputs;
  constexpr int kInFlight = 8;  // words
  int k = 0;
  for (; k + kInFlight * kInputs <= count; k += kInFlight * kInputs) {
    typename Panel::Word words[kInFlight];
    for (int n = 0; n < kInFlight; ++n) {
      words[n] = weights[(k / kInputs + n) * linear::kPanelOutputs];
    }
    float w[kInFlight * kInputs];
    for (int n = 0; n < kInFlight; ++n) Panel::widen(words[n], w + n * kInputs);
    for (int r = 0; r < kRows; ++r) {
      for (int n = 0; n < kInFlight * kInputs; n += 4) {
        const Float4 x = load4(staged + r * kStride + k + n);
        sums[r] = Panel::add_four(x, w + n, sums[r]);
      }
    }
  }
  for (; k < count; k += kInputs) {
    const typename Panel::Word word = weights[k / kInputs * linear::kPanelOutputs];
    float w[kInputs];
    Panel::widen(word, w);
    for (int r = 0; r < kRows; ++r) {
      for (int n = kInputs - 1; n >= 0; --n) {
        const float x = staged[r * kStride + k + n];
        sums[r] = numerics::fma(x, w[n], sums[r]);
      }
    }
  }
}

/// sums[r] = the chain of the segment [begin, end) of inputs. For rows that the product does not
/// have it is one that no thread reads.
template <int kRows, class Panel, class Rows>
FORGE_DEVICE void multiply_segment(const FloatProduct<Panel, Rows>& product, int begin, int end,
                                   sptr<float> staged, float (&sums)[kRows]) {
  constexpr int kStride = kStagedFloats / kRows < numerics::kProductSegment
                              ? kStagedFloats / kRows
                              : numerics::kProductSegment;
  const ProductInputs<Rows>& in = product.in;
  for (float& sum : sums) sum = 0.0f;
  for (int first = begin; first < end; first += kStride) {
    const int count = end - first < kStride ? end - first : kStride;
    const int words = gpu::ceil_div(count, Panel::kInputs);
    if (first > begin) sync_warp();
    for (int r = 0; r < kRows; ++r) {
      const std::int64_t vector = in.rows(r < in.row_count ? r : 0);
      const gptr<const float> row = in.x + vector * in.stride + first;
      for (int k = lane(); k < words * Panel::kInputs; k += kWarpSize) {
        float x = 0.0f;
        if (r < in.row_count && k < count) x = row[k];
        staged[r * kStride + k] = Panel::activation(x);
      }
    }
    sync_warp();
    multiply_staged<Panel, kRows, kStride>(
        staged, product.weights + std::int64_t{first} / Panel::kInputs * linear::kPanelOutputs,
        count, sums);
  }
}

/// Calls write(r, y) with this lane's output of each row, in one warp for each row.
template <int kRows, class Panel, class Rows, class Write>
FORGE_DEVICE void multiply_rows(const FloatProduct<Panel, Rows>& product,
                                const ProductMemory& memory, const Write& write) {
  const int warps = threads() / kWarpSize;
  const int segments = gpu::ceil_div(product.in.inputs, numerics::kProductSegment);
  float totals[kRows] = {};  // of rows warp(), warp() + warps, ...
  for (int round = 0; round < segments; round += warps) {
    if (round > 0) sync_block();
    const int first = (round + warp()) * numerics::kProductSegment;
    if (first < product.in.inputs) {
      const int end = first + numerics::kProductSegment;
      float sums[kRows];
      multiply_segment<kRows>(product, first, end < product.in.inputs ? end : product.in.inputs,
                              memory.work + warp() * kWorkFloats, sums);
      for (int r = 0; r < kRows; ++r) {
        memory.partial[(warp() * kRows + r) * kWarpSize + lane()] = sums[r];
      }
    }
    sync_block();
    for (int n = 0; n < kRows; ++n) {
      const int r = warp() + n * warps;
      for (int c = 0; r < kRows && c < warps && round + c < segments; ++c) {
        const float sum = memory.partial[(c * kRows + r) * kWarpSize + lane()];
        totals[n] = round + c == 0 ? sum : totals[n] + sum;
      }
    }
  }
  for (int n = 0; n < kRows; ++n) {
    const int r = warp() + n * warps;
    if (r >= product.in.row_count) break;
    write(r, totals[n]);
  }
}

/// Calls multiply_rows with the smallest kRows of 1, 2, 4, 8 that holds the rows.
template <int kRows = 1, class Panel, class Rows, class Write>
FORGE_DEVICE void multiply_tile(const FloatProduct<Panel, Rows>& product,
                                const ProductMemory& memory, const Write& write) {
  if constexpr (kRows < gpu::ProjectArgs::kTileRows) {
    if (product.in.row_count > kRows) {
      multiply_tile<2 * kRows>(product, memory, write);
      return;
    }
  }
  multiply_rows<kRows>(product, memory, write);
}

/// The panels of a matrix so many bytes behind those at `panels`.
FORGE_DEVICE const void* matrix_at(const void* panels, std::uint64_t bytes) {
  return static_cast<const std::byte*>(panels) + bytes;
}

/// Panel `index` of those that lie one after the other at `panels`.
struct WeightPanel {
  const void* panels;
  linear::PanelKind kind;
  std::int64_t index;
  int inputs;

  /// The floats of this lane's output in it.
  template <class Panel>
  FORGE_DEVICE gptr<const typename Panel::Word> words() const {
    using Word = const typename Panel::Word;
    const std::int64_t panel_words = gpu::ceil_div(inputs, Panel::kInputs) * linear::kPanelOutputs;
    return global(static_cast<Word*>(panels)) + index * panel_words + lane();
  }

  FORGE_DEVICE CodePanel codes() const {
    const auto bytes = static_cast<std::int64_t>(linear::codes::panel_bytes(kind, inputs));
    return {static_cast<const std::byte*>(panels) + index * bytes, kind};
  }
};

/// Calls write(r, y) with this lane's output of each row, in one warp for each row.
template <class Rows, class Write>
FORGE_DEVICE void multiply_panel(const WeightPanel& panel, const ProductInputs<Rows>& in,
                                 const ProductMemory& memory, const Write& write) {
  switch (panel.kind) {
    case linear::PanelKind::f32:
      return multiply_tile(FloatProduct<F32Panel, Rows>{in, panel.words<F32Panel>()}, memory,
                           write);
    case linear::PanelKind::f16:
      return multiply_tile(FloatProduct<F16Panel, Rows>{in, panel.words<F16Panel>()}, memory,
                           write);
    case linear::PanelKind::bf16:
      return multiply_tile(FloatProduct<BF16Panel, Rows>{in, panel.words<BF16Panel>()}, memory,
                           write);
    default:
      return multiply_codes(in, panel.codes(), memory, write);
  }
}

/// Vectors first, first + step, ...
struct EvenRows {
  std::int64_t first;
  std::int64_t step;

  FORGE_DEVICE std::int64_t operator()(int r) const { return first + r * step; }
};

/// This lane's output of rows first_row, first_row + 1, ... goes to y.
struct WriteProducts {
  const gpu::ProjectArgs& a;
  std::int64_t first_row;
  std::int64_t output;

  FORGE_DEVICE void operator()(int r, float sum) const {
    if (output >= a.outputs) return;  // of the last panel, which is padded
    const int y_stride = a.y_stride > 0 ? a.y_stride : a.outputs;
    const gptr<float> y = global(a.y) + (first_row + r) * y_stride + output;
    float product = sum;
    if (a.bias != nullptr) product = product + global(a.bias)[output];
    if (a.accumulate) {
      const float before = y[0];
      y[0] = numerics::fma(a.multiplier, product, before);
    } else {
      const float scaled = a.multiplier * product;
      y[0] = a.cap > 0.0f ? numerics::soft_cap(scaled, a.cap) : scaled;
    }
  }
};

FORGE_KERNEL(gpu::ProjectArgs::kThreads, 3) project(gpu::ProjectArgs a) {
  SIMT_SHARED(float, work, (kWorkSize));
  SIMT_SHARED(float, partial, (kPartialSize));
  constexpr int kTileRows = gpu::ProjectArgs::kTileRows;
  const std::int64_t first_row = std::int64_t{block().x} * kTileRows;
  const std::uint32_t row_count = global(a.row_count)[0];
  const std::int64_t panel = panel_of_block();
  if (first_row >= row_count || panel * linear::kPanelOutputs >= a.outputs) return;
  const auto rows = static_cast<int>(row_count - first_row);
  const ProductInputs<EvenRows> in{.x = global(a.x),
                                   .stride = a.inputs,
                                   .coded = global(a.coded),
                                   .rows = {first_row, 1},
                                   .row_count = rows < kTileRows ? rows : kTileRows,
                                   .inputs = a.inputs};
  multiply_panel({a.panels, a.kind, panel, a.inputs}, in, {work, partial},
                 WriteProducts{a, first_row, panel * linear::kPanelOutputs + lane()});
}

}  // namespace FORGE_KERNELS
