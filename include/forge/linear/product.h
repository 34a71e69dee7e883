// Products y = x W^T with stored weights, whose bits do not depend on the batch.
//
// Each element of y is computed by one fixed sequence of operations, given below by what W is
// packed as. It does not know of the other rows, the number of threads or the tile; so decoding
// alone, in a batch and as a chunk of a prompt give the same bits. (A BLAS picks kernel, tile and
// order by shape: one row alone and the same row among 64 differ in most elements.) Speed comes
// from computing many such sequences side by side, SIMD lanes across outputs. It is the same on
// every machine too, but for bf16 with native numerics (numerics.h).
//
//   f32      the fma chain of numerics/canonical.h: ascending k, in segments of 256 added in order
//   f16      the same, of the weight widened to f32
//   bf16     x rounded to bf16 (to nearest, ties to even); chains as above but over pairs, k odd
//            before k even. Native numerics use vdpbf16ps where a machine has it, which takes them
//            in this order, but rounds otherwise and takes subnormal operands and results for
//            zeros: those bits are the instruction's
//   codes*   x rounded to 8 bits in groups of 32: dx = max |x| / 127, a = round(x / dx); then, with
//            w = s c - m in groups (c the unsigned code, o its offset, m zero where codes are
//            symmetric around o):
//              acc = fma(float(sum of (c - o) a over the group), s * dx, acc)
//              acc = fma(-m, dx * float(sum of a), acc)                       (kinds with m)
//            groups ascending. Sums of integers are exact, so their order is free. Kinds whose
//            scales are for 16 inputs (Q2_K, Q3_K, Q6_K): (c - o) a times the scale of its half in
//            the sum, s the scale of the block; the offsets of Q2_K likewise times a. Codes of a
//            table: c - o is the number that the code stands for.
//
// Errors of 8-bit activations: each x is off by at most dx / 2, the products' rms error is about
// 0.4% of their size; llama.cpp does the same.
//
// Legend: M rows of x (tokens), K inputs, N outputs.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "forge/linear/linear_weights.h"
#include "forge/linear/stored_linear.h"
#include "forge/linear/thread_pool.h"

namespace forge::linear {

/// 32 activations in 8 bits: x is about scale * a.
struct CodedGroup {
  std::int8_t codes[32];   ///< a
  float scale;             ///< dx
  float scaled_sum;        ///< dx * float(sum of a)
  std::int32_t bias;       ///< -128 * sum of a
  std::int32_t biases[2];  ///< the same for inputs 0 .. 15 and 16 .. 31
};

/// 32 inputs in 8 bits, the definition:
///   dx = max |x| / 127; a = x / dx clamped to -127 .. 127, rounded to nearest, ties to even.
/// dx = 0 (all x are 0, or so small that dx is) gives zeros. The clamp matters only where dx is
/// subnormal, hence inaccurate.
CodedGroup code_group(std::span<const float, 32> x);

/// Activations in the forms that products read. Grows to the largest product seen, then
/// allocates nothing.
struct ProductScratch {
  std::vector<float> f32;          ///< [segments of 256 inputs][M][256]
  std::vector<float> bf16;         ///< likewise, rounded; or pairs of bf16 as words
  std::vector<CodedGroup> groups;  ///< M x K / 32, in the order of src/linear/code_rows.h
};

/// Rows of activations, one after the other. Borrowed.
struct Rows {
  const float* data = nullptr;
  int count = 0;
};

/// y = x W^T. x [count][K], y [count][N], of any alignment, not overlapping. Row r of y depends on
/// row r of x alone, in every bit. Requires: count >= 0, x finite.
void multiply(Rows x, const LinearWeights& w, float* y, ProductScratch& scratch, ThreadPool& pool);

/// The definition of multiply, by plain loops over the stored weights: the bits of canonical
/// numerics, and of native ones where has_defined_bits says so. It is slow.
void multiply_reference(const float* x, int rows, std::span<const StoredLinear> parts, float* y);

/// The instruction set that products with `kind` use on this machine: "AVX2", "AVX-512 VNNI", ...
std::string_view instructions_used(PanelKind kind, Numerics numerics = Numerics::native);

/// The instruction set on which the bits of a run can depend, for its record: that of products of
/// bf16, "AVX-512 BF16" where they take the instruction for pairs.
std::string_view instructions_used(Numerics numerics);

/// Whether multiply has the bits of multiply_reference on this machine, and so those of every other
/// machine for which this is true.
bool has_defined_bits(PanelKind kind, Numerics numerics);

}  // namespace forge::linear
