// TensorProduct: a product of rows with weights of 16 bits on tensor cores, as fast numerics have
// it (numerics/tensor_product.h): v = s x W^T + bias, and what becomes of v:
//
//   what is given         result
//   y                     y = m v, or soft_cap(m v)           qkv, logits
//     or candidates,        of each 8 neighbours of y the       logits from which a token is picked
//     or both               largest (candidates.h)
//   y, accumulate         y = fma(m, v, y)                    the residual stream
//     and next            and its rows scaled for the next    (scale_rows.h)
//                         norm, and their squares
//   gated                 gated = half_of(f(v_gate, v_up))    gate and up, F outputs each
//
// Two kernels compute it, with the same bits: project_narrow, made for few rows, where what counts
// is how fast weights come from memory, and project_wide, made for more, where what counts is how
// often a number that has come is multiplied. Where a vendor's library has made the sums,
// finish_product does what is left.
#pragma once

#include "forge/gpu/kernels/candidates.h"
#include "forge/gpu/kernels/glu.h"
#include "forge/gpu/kernels/kernel_launch.h"
#include "forge/numerics/half.h"
#include "forge/numerics/scaled_norm.h"

namespace forge::gpu {

/// Rows of a launch up to which project_narrow takes it, and above which project_wide does.
inline constexpr int kNarrowRowsMax = 16;

/// The factor s of rows whose norm was taken apart (numerics/scaled_norm.h).
struct RowNorm {
  const float* squares = nullptr;  ///< [rows][K / 8], or null: s is 1
  float eps = 0;
};

/// The residual stream as the next product reads it.
struct NextRows {
  void* h = nullptr;              ///< [rows][N] of the type, or null: nobody wants it
  const float* weight = nullptr;  ///< [N] of the next norm, or null: 1
  float* squares = nullptr;       ///< [rows][N / 8], or null
};

/// Outputs of gate and up as one.
struct Gated {
  void* h = nullptr;  ///< [rows][N / 2] of the type, or null: outputs are not gated
  GluFunction function = {};
};

struct TensorProduct {
  const std::uint32_t* row_count;  ///< rows of x: &counts->rows or &counts->logit_rows
  int rows_max;                    ///< that the launch covers
  const void* x;                   ///< [rows][K] of `type`
  const void* weights;             ///< [N, padded to 32][K] of `type`: panels.h, kinds of rows
  int inputs;                      ///< K, a multiple of 8
  int outputs;                     ///< N; a multiple of 8 if `next` is wanted, even if gated
  numerics::HalfType type;
  RowNorm norm = {};
  const float* bias = nullptr;  ///< [N] or null
  float multiplier = 1;         ///< m
  float cap = 0;                ///< soft cap of y, which is not accumulated; 0: none
  float* y = nullptr;           ///< [rows][N], or null: nobody wants it
  bool accumulate = false;      ///< add to y
  int y_stride = 0;             ///< numbers from a row of y to the next; 0: N
  /// [rows][candidate_count(N)] of y, which is not accumulated, or null: nobody wants them.
  sampling::BestToken* candidates = nullptr;
  NextRows next = {};
  Gated gated = {};

  FORGE_HOST_DEVICE bool is_gated() const { return gated.h != nullptr; }
  /// Numbers of a row of the result: N, or F.
  FORGE_HOST_DEVICE int columns() const { return is_gated() ? outputs / 2 : outputs; }
  FORGE_HOST_DEVICE int stride() const { return y_stride > 0 ? y_stride : outputs; }
};

}  // namespace forge::gpu
