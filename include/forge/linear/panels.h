// Panels: how products read a matrix of floats, on a CPU and on a GPU.
//
// Panel p holds the outputs [32 p, 32 p + 32) of W [outputs][inputs], zero padded, input by input,
// so that one step along the inputs reads 128 consecutive bytes, an output for each lane:
//
//   panel 0:  W[0][0] W[1][0] ... W[31][0] | W[0][1] W[1][1] ... W[31][1] | ... the last input
//   panel 1:  W[32][0] ...
//
// Other numbers lie in panels of other kinds (linear_weights.h), codes as code_layout.h has them.
// In panels of rows, which the tensor cores of a GPU read, outputs lie as they are stored, one row
// after the other: all panels together are the matrix, padded.
#pragma once

#include <cstdint>

#include "forge/core/names.h"
#include "forge/numerics/host_device.h"

namespace forge::linear {

inline constexpr int kPanelOutputs = 32;

enum class PanelKind : std::uint8_t {
  f32,
  f16,
  bf16,
  q8_0,
  int8,
  q4_0,
  int4,
  q5_0,
  q5_1,
  q4_k,
  q5_k,
  q6_k,
  table4,
  q2_k,
  q3_k,
  f16_rows,
  bf16_rows
};
constexpr Names<PanelKind> names_of(PanelKind) {
  return {"f32",  "f16",  "bf16", "q8_0",   "int8", "q4_0", "int4",     "q5_0",     "q5_1",
          "q4_k", "q5_k", "q6_k", "table4", "q2_k", "q3_k", "f16_rows", "bf16_rows"};
}

/// Whether panels are rows of outputs as they are stored.
FORGE_HOST_DEVICE constexpr bool has_rows(PanelKind kind) {
  return kind == PanelKind::f16_rows || kind == PanelKind::bf16_rows;
}

/// Whether panels have codes, not floats.
FORGE_HOST_DEVICE constexpr bool has_codes(PanelKind kind) {
  return kind != PanelKind::f32 && kind != PanelKind::f16 && kind != PanelKind::bf16 &&
         !has_rows(kind);
}

/// Whether a weight is a multiple of its code plus something else, the -m of product.h.
FORGE_HOST_DEVICE constexpr bool has_minima(PanelKind kind) {
  return kind == PanelKind::q5_1 || kind == PanelKind::q2_k || kind == PanelKind::q4_k ||
         kind == PanelKind::q5_k;
}

/// Whether the two halves of a group of 32 inputs have scales of their own.
FORGE_HOST_DEVICE constexpr bool has_half_scales(PanelKind kind) {
  return kind == PanelKind::q2_k || kind == PanelKind::q3_k || kind == PanelKind::q6_k;
}

}  // namespace forge::linear
