#include "forge/numerics/packed_matrix.h"

#include <algorithm>
#include <cstring>

#include "forge/core/check.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "packed_matrix.cc"
#include "hwy/foreach_target.h"
// After foreach_target.h:
#include "hwy/highway.h"
#include "simd-inl.h"

// The kernel holds a tile of y in registers, rows x vectors, and walks along one chunk of k: per
// step it loads one vector of weights per column vector and broadcasts one x per row. All elements
// of the tile are independent chains, which hides the latency of fma.
HWY_BEFORE_NAMESPACE();
namespace forge::numerics::HWY_NAMESPACE {

/// Tile accumulators: what fits into the registers beside weights and broadcasts.
#if HWY_CAP_GE512 || HWY_ARCH_ARM_A64
inline constexpr int kAccumulators = 24;  // of 32 registers
#else
inline constexpr int kAccumulators = 12;  // of 16 registers
#endif

/// Rows of the tallest tile, which is two vectors wide.
inline constexpr int kTileRowsMax = kAccumulators / 2;

/// Outputs of a strip, the unit of work: its weights along one chunk (128 KiB) stay in the L2 cache
/// while all rows pass.
inline constexpr int kStripOutputs = 4 * kPanelWidth;

/// Vectors across a tile of `rows` rows: a power of two, up to 8.
constexpr int tile_vectors(int rows) {
  int vectors = 8;
  while (vectors * rows > kAccumulators) vectors /= 2;
  return std::min(vectors, kStripOutputs / kFullLanes);
}

/// One chunk of the product for one strip.
struct Strip {
  const float* x;           ///< row 0, first input of the chunk
  std::ptrdiff_t x_stride;  ///< floats from a row of x to the next: K
  const float* w;           ///< first panel of the strip, first input of the chunk
  std::ptrdiff_t w_stride;  ///< floats from a panel to the next
  float* y;                 ///< row 0, first output of the strip
  std::ptrdiff_t y_stride;  ///< floats from a row of y to the next: N
  int inputs;               ///< of the chunk, 1 .. kProductChunk
  int outputs;              ///< of the strip, 1 .. kStripOutputs
  bool first_chunk;         ///< set y, rather than add to it
};

template <int kRows, int kVectors>
struct Tile {
  static constexpr int kWidth = kVectors * kFullLanes;

  /// Accumulates the tile at (row, column) of the strip and stores or adds it to y.
  static HWY_INLINE void run(const Strip& s, int row, int column) {
    const FullTag d;
    hn::Vec<FullTag> sums[kRows][kVectors];
    for (auto& row_sums : sums) {
      for (auto& sum : row_sums) sum = hn::Zero(d);
    }
    const float* x = s.x + row * s.x_stride;
    const float* w = s.w + column / kPanelWidth * s.w_stride + column % kPanelWidth;
    for (int k = 0; k < s.inputs; ++k) {
      hn::Vec<FullTag> weights[kVectors];
      for (int v = 0; v < kVectors; ++v) {
        const int offset = v * kFullLanes;
        weights[v] = hn::Load(
            d, w + offset / kPanelWidth * s.w_stride + k * kPanelWidth + offset % kPanelWidth);
      }
      for (int r = 0; r < kRows; ++r) {
        const auto input = hn::Set(d, x[r * s.x_stride + k]);
        for (int v = 0; v < kVectors; ++v) sums[r][v] = fused(input, weights[v], sums[r][v]);
      }
    }

    float* y = s.y + row * s.y_stride + column;
    for (int r = 0; r < kRows; ++r) {
      store_row(s, sums[r], y + r * s.y_stride, s.outputs - column);
    }
  }

  /// y [outputs left, of which at most kWidth belong to the tile] = or += sums.
  static HWY_INLINE void store_row(const Strip& s, const hn::Vec<FullTag>* sums, float* y,
                                   int outputs_left) {
    const FullTag d;
    if (outputs_left >= kWidth) {
      for (int v = 0; v < kVectors; ++v) {
        float* target = y + v * kFullLanes;
        hn::StoreU(s.first_chunk ? sums[v] : hn::Add(hn::LoadU(d, target), sums[v]), d, target);
      }
      return;
    }
    HWY_ALIGN float row[kWidth];
    for (int v = 0; v < kVectors; ++v) hn::Store(sums[v], d, row + v * kFullLanes);
    for (int i = 0; i < outputs_left; ++i) y[i] = s.first_chunk ? row[i] : y[i] + row[i];
  }
};

/// All outputs of the strip from `column` on, for kRows rows from `row` on: tiles as wide
/// as fit, then narrower ones (the padding of the last panel counts as outputs).
template <int kRows, int kVectors>
HWY_INLINE void run_columns(const Strip& s, int row, int column) {
  const int padded = (s.outputs + kPanelWidth - 1) / kPanelWidth * kPanelWidth;
  constexpr int kWidth = Tile<kRows, kVectors>::kWidth;
  for (; column + kWidth <= padded; column += kWidth) {
    Tile<kRows, kVectors>::run(s, row, column);
  }
  if constexpr (kWidth > kPanelWidth) {
    if (column < padded) run_columns<kRows, kVectors / 2>(s, row, column);
  }
}

/// The last rows of a strip, fewer than kTileRowsMax: finds the tile of exactly that height.
template <int kRows>
HWY_INLINE void run_last_rows(const Strip& s, int row, int rows) {
  if constexpr (kRows > 0) {
    if (rows - row == kRows) {
      run_columns<kRows, tile_vectors(kRows)>(s, row, 0);
    } else {
      run_last_rows<kRows - 1>(s, row, rows);
    }
  }
}

void multiply_impl(const float* x, int rows, const PackedMatrix& w, float* y) {
  const std::ptrdiff_t inputs = w.inputs();
  for (int output = 0; output < w.outputs(); output += kStripOutputs) {
    for (int input = 0; input < w.inputs(); input += kProductChunk) {
      const Strip strip = {
          .x = x + input,
          .x_stride = inputs,
          .w = w.panel(output / kPanelWidth) + static_cast<std::ptrdiff_t>(input) * kPanelWidth,
          .w_stride = inputs * kPanelWidth,
          .y = y + output,
          .y_stride = w.outputs(),
          .inputs = std::min(kProductChunk, w.inputs() - input),
          .outputs = std::min(kStripOutputs, w.outputs() - output),
          .first_chunk = input == 0};
      int row = 0;
      for (; row + kTileRowsMax <= rows; row += kTileRowsMax) {
        run_columns<kTileRowsMax, tile_vectors(kTileRowsMax)>(strip, row, 0);
      }
      run_last_rows<kTileRowsMax - 1>(strip, row, rows);
    }
  }
}

}  // namespace forge::numerics::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace forge::numerics {

HWY_EXPORT(multiply_impl);

PackedMatrix::PackedMatrix(const float* weights, int outputs, int inputs)
    : outputs_(outputs), inputs_(inputs) {
  FORGE_CHECK(outputs >= 0 && inputs >= 0, "outputs=", outputs, " inputs=", inputs);
  const std::size_t size = static_cast<std::size_t>(panels()) * inputs * kPanelWidth;
  storage_.reset(new (std::align_val_t{64}) float[size]());
  for (int output = 0; output < outputs; ++output) {
    float* column =
        storage_.get() + (panel(output / kPanelWidth) - panel(0)) + output % kPanelWidth;
    const float* row = weights + static_cast<std::ptrdiff_t>(output) * inputs;
    for (int input = 0; input < inputs; ++input) {
      column[static_cast<std::ptrdiff_t>(input) * kPanelWidth] = row[input];
    }
  }
}

void multiply(const float* x, int rows, const PackedMatrix& w, float* y) {
  FORGE_CHECK(rows >= 0, "rows=", rows);
  if (rows == 0 || w.inputs() == 0) {
    std::fill_n(y, static_cast<std::ptrdiff_t>(rows) * w.outputs(), 0.0f);
    return;
  }
  HWY_DYNAMIC_DISPATCH(multiply_impl)(x, rows, w, y);
}

void multiply_reference(const float* x, int rows, const PackedMatrix& w, float* y) {
  for (int row = 0; row < rows; ++row, x += w.inputs(), y += w.outputs()) {
    for (int output = 0; output < w.outputs(); ++output) {
      float total = 0.0f;
      for (int first = 0; first < w.inputs(); first += kProductChunk) {
        const int last = std::min(first + kProductChunk, w.inputs());
        float chunk = 0.0f;
        for (int k = first; k < last; ++k) chunk = fma(x[k], w.weight(output, k), chunk);
        total = first == 0 ? chunk : total + chunk;
      }
      y[output] = total;
    }
  }
}

}  // namespace forge::numerics
#endif  // HWY_ONCE
