// The panels that project reads: 32 outputs, inputs one after the other (linear/linear_weights.h).
// Word: what a lane, which has an output, loads at once; it holds kInputs inputs.
//
//   kind   word              products
//   f32    an input          of floats, ascending
//   f16    an input          likewise, of the weight widened
//   bf16   inputs 2p, 2p+1   of the activation rounded to bf16; of a pair the second comes first,
//                            as the instruction of CPUs for pairs has it. A last input that is
//                            alone has a zero beside it
//
// add_four: four inputs continue the sum, in that order. These are the definitions of
// linear/product.h (multiply_reference).
#pragma once

#include "forge/simt/dialect.h"
#include "widen.cuh"

namespace FORGE_KERNELS {
using namespace simt;

struct F32Panel {
  using Word = float;
  static constexpr int kInputs = 1;

  static FORGE_DEVICE void widen(Word word, float* w) { w[0] = word; }
  static FORGE_DEVICE float activation(float x) { return x; }
  static FORGE_DEVICE float add_four(const Float4& x, const float* w, float sum) {
    sum = numerics::fma(x.x, w[0], sum);
    sum = numerics::fma(x.y, w[1], sum);
    sum = numerics::fma(x.z, w[2], sum);
    return numerics::fma(x.w, w[3], sum);
  }
};

struct F16Panel : F32Panel {
  using Word = std::uint16_t;

  static FORGE_DEVICE void widen(Word word, float* w) { w[0] = widened_f16(word); }
};

struct BF16Panel {
  using Word = std::uint32_t;
  static constexpr int kInputs = 2;

  static FORGE_DEVICE void widen(Word word, float* w) {
    w[0] = widened_bf16(word);
    w[1] = numerics::float_of(word & 0xffff0000u);
  }
  static FORGE_DEVICE float activation(float x) { return rounded_to_bf16(x); }
  static FORGE_DEVICE float add_four(const Float4& x, const float* w, float sum) {
    sum = numerics::fma(x.y, w[1], sum);
    sum = numerics::fma(x.x, w[0], sum);
    sum = numerics::fma(x.w, w[3], sum);
    return numerics::fma(x.z, w[2], sum);
  }
};

}  // namespace FORGE_KERNELS
