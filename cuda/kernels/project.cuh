// project: y = x W^T, every projection of the model and its output head.
//
//   grid      x: tiles of 8 rows, y: panels of 32 outputs, so that blocks that run at the same time
//             share weights. A block has a warp for each chunk of 256 inputs, up to 8
//   memory    weights come in panels (weight_panel.cuh): one input of a panel is 128 consecutive
//             bytes (f16: 64; bf16: 128 are two inputs), a lane an output. Each is read once and
//             used for all rows of the tile; 8 loads are in flight a lane. A warp copies its part
//             of x to shared memory first, where all lanes then read the same 16 bytes at once
//   bits      an output is chunk after chunk of 256 inputs, each an fma chain in ascending order;
//             the chunks are added in ascending order (product_reference). So the chunks can be
//             computed side by side, a warp each ("split-K"); only their addition must wait. Bias
//             and multiplier follow in the CPU's order; by 1 a product keeps its bits
//
//   warp 0   chunk 0 --+-- chunk 8 ---+--
//   warp 1   chunk 1 --+-- chunk 9 ---+--    + is a barrier: the sums of a round are in shared
//   ...                |              |        memory, and warp w adds them, ascending, for rows
//   warp 7   chunk 7 --+-- chunk 15 --+--      w, w + W, ... of the tile
#pragma once

#include "forge/gpu/kernels/project.h"
#include "forge/numerics/canonical.h"
#include "forge/simt/dialect.h"
#include "weight_panel.cuh"

namespace FORGE_KERNELS {
using namespace simt;

inline constexpr int kProjectWarps = gpu::ProjectArgs::kThreads / kWarpSize;

/// Floats of x that a warp keeps in shared memory, for all rows of the tile together, and floats of
/// the sums that it leaves there.
inline constexpr int kStagedFloats = 512;
inline constexpr int kPartialFloats = gpu::ProjectArgs::kTileRows * kWarpSize;

/// Inputs [first, end) of a row of x, and the weights of a panel for them.
template <class Panel>
struct ProductChunk {
  gptr<const float> x;                       ///< row 0 of the tile
  gptr<const typename Panel::Word> weights;  ///< of this lane's output: [K / kInputs][32]
  int first;
  int end;
};

/// sums[r] is continued over `count` inputs: staged[r * kStride + k] * weights[k][0].
template <class Panel, int kRows, int kStride>
FORGE_DEVICE void multiply_staged(sptr<const float> staged,
                                  gptr<const typename Panel::Word> weights, int count,
                                  float (&sums)[kRows]) {
  constexpr int kInputs = Panel::kInputs;
  constexpr int kInFlight = 8 / kInputs;  // words
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

/// sums[r] = the chain of one chunk. Of rows beyond `rows` it is one that nobody reads.
template <class Panel, int kRows>
FORGE_DEVICE void multiply_chunk(const ProductChunk<Panel>& chunk, int rows, int inputs,
                                 sptr<float> staged, float (&sums)[kRows]) {
  constexpr int kStride = kStagedFloats / kRows < numerics::kProductChunk ? kStagedFloats / kRows
                                                                          : numerics::kProductChunk;
  for (float& sum : sums) sum = 0.0f;
  for (int first = chunk.first; first < chunk.end; first += kStride) {
    const int count = chunk.end - first < kStride ? chunk.end - first : kStride;
    const int words = gpu::ceil_div(count, Panel::kInputs);
    if (first > chunk.first) sync_warp();
    for (int r = 0; r < kRows; ++r) {
      for (int k = lane(); k < words * Panel::kInputs; k += kWarpSize) {
        float x = 0.0f;
        if (r < rows && k < count) x = chunk.x[r * std::int64_t{inputs} + first + k];
        staged[r * kStride + k] = Panel::activation(x);
      }
    }
    sync_warp();
    multiply_staged<Panel, kRows, kStride>(
        staged, chunk.weights + std::int64_t{first} / Panel::kInputs * linear::kPanelOutputs, count,
        sums);
  }
}

/// The panel of this block: along y, then along z.
FORGE_DEVICE std::int64_t panel_of_block() {
  return std::int64_t{block().z} * grid().y + block().y;
}

/// Rows `first_row`, ... of the tile. staged: [warps][kStagedFloats], partial:
/// [warps][kRows][32].
template <class Panel, int kRows>
FORGE_DEVICE void project_rows(const gpu::ProjectArgs& a, std::int64_t first_row, int rows,
                               sptr<float> staged, sptr<float> partial) {
  const int warps = threads() / kWarpSize;
  const int chunks = gpu::ceil_div(a.inputs, numerics::kProductChunk);
  const std::int64_t panel = panel_of_block();
  const std::int64_t panel_words = gpu::ceil_div(a.inputs, Panel::kInputs) * linear::kPanelOutputs;
  const gptr<const typename Panel::Word> weights =
      global(static_cast<const typename Panel::Word*>(a.panels)) + panel * panel_words + lane();
  const gptr<const float> x = global(a.x) + first_row * a.inputs;

  float totals[kRows] = {};  // of rows warp(), warp() + warps, ...
  for (int round = 0; round < chunks; round += warps) {
    if (round > 0) sync_block();
    const int first = (round + warp()) * numerics::kProductChunk;
    if (first < a.inputs) {
      const int end = first + numerics::kProductChunk;
      float sums[kRows];
      multiply_chunk<Panel, kRows>({x, weights, first, end < a.inputs ? end : a.inputs}, rows,
                                   a.inputs, staged + warp() * kStagedFloats, sums);
      for (int r = 0; r < kRows; ++r) {
        partial[(warp() * kRows + r) * kWarpSize + lane()] = sums[r];
      }
    }
    sync_block();
    for (int n = 0; n < kRows; ++n) {
      const int r = warp() + n * warps;
      for (int c = 0; r < kRows && c < warps && round + c < chunks; ++c) {
        const float sum = partial[(c * kRows + r) * kWarpSize + lane()];
        totals[n] = round + c == 0 ? sum : totals[n] + sum;
      }
    }
  }

  const std::int64_t output = panel * linear::kPanelOutputs + lane();
  if (output >= a.outputs) return;
  const int y_stride = a.y_stride > 0 ? a.y_stride : a.outputs;
  for (int n = 0; n < kRows; ++n) {
    const int r = warp() + n * warps;
    if (r >= rows) break;
    const gptr<float> y = global(a.y) + (first_row + r) * y_stride + output;
    float product = totals[n];
    if (a.bias != nullptr) product = product + global(a.bias)[output];
    if (a.accumulate) {
      const float before = y[0];
      y[0] = numerics::fma(a.multiplier, product, before);
    } else {
      y[0] = a.multiplier * product;
    }
  }
}

/// With the smallest kRows of 1, 2, 4, 8 that holds `rows`.
template <class Panel, int kRows = 1>
FORGE_DEVICE void project_tile(const gpu::ProjectArgs& a, std::int64_t first_row, int rows,
                               sptr<float> staged, sptr<float> partial) {
  if constexpr (kRows < gpu::ProjectArgs::kTileRows) {
    if (rows > kRows) {
      project_tile<Panel, 2 * kRows>(a, first_row, rows, staged, partial);
      return;
    }
  }
  project_rows<Panel, kRows>(a, first_row, rows, staged, partial);
}

FORGE_KERNEL(gpu::ProjectArgs::kThreads) project(gpu::ProjectArgs a) {
  SIMT_SHARED(float, staged, (kProjectWarps * kStagedFloats));
  SIMT_SHARED(float, partial, (kProjectWarps * kPartialFloats));
  constexpr int kTileRows = gpu::ProjectArgs::kTileRows;
  const std::int64_t first_row = std::int64_t{block().x} * kTileRows;
  const std::uint32_t row_count = global(a.row_count)[0];
  if (first_row >= row_count || panel_of_block() * linear::kPanelOutputs >= a.outputs) return;
  const auto left = static_cast<int>(row_count - first_row);
  const int rows = left < kTileRows ? left : kTileRows;
  switch (a.kind) {
    case gpu::WeightKind::f32:
      return project_tile<F32Panel>(a, first_row, rows, staged, partial);
    case gpu::WeightKind::f16:
      return project_tile<F16Panel>(a, first_row, rows, staged, partial);
    case gpu::WeightKind::bf16:
      return project_tile<BF16Panel>(a, first_row, rows, staged, partial);
  }
}

}  // namespace FORGE_KERNELS
