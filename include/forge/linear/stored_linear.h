// StoredLinear: a linear layer as a checkpoint has it, in one of the forms that occur.
//
//   form   what the file holds                                  W[n][k] is
//   rows   one tensor [N][K] of a WeightType (not i8)           dequantize()
//   int8   codes i8 [N][K], scales f32 [N]                      scale[n] * code
//   gptq   codes i32 [K/c][N], c codes of b bits down a column  scale[g][n] * (code - zero[g][n]),
//          zeros i32 [G][N/c] along a row, scales f16 [G][N]    group g = order[k]
//   awq    codes i32 [K][N/8], 8 codes of 4 bits along a row    the same,
//          zeros i32 [G][N/8] likewise, scales f16 [G][N]       group g = k / group_size
//   rows   codes i32 [N][K/c], c codes of b bits along a row    as gptq
//          zeros and scales as gptq
//   float8 codes e4m3 [N][K], scales f32, one for each block    scale of the block * code
//          of R rows and C columns: [N / R][K / C], rounded up
//
// A code has b = 4 bits, or 8 but for AWQ, and a word of 32 bits has c = 32 / b of them, from the
// lowest bits up. Without zeros, every zero point is 2^(b - 1).
//
// GPTQ's first format holds zero points less one (a habit of AutoGPTQ's, kept by all tools since),
// its second, gptq_v2, as they are. One is taken from all zero points of a word at once, by
// subtracting 0x11111111, or 0x01010101 with 8 bits, so that a zero point of 0 borrows from the
// next: GPTQModel writes and reads it so, the only tool that keeps such zero points. (AutoGPTQ's
// own packer lost those that come after one of 0 in a word.) AWQ packs the outputs of an i32 in the
// order 0 2 4 6 1 3 5 7, from the lowest bits up. Act-order ("desc_act") gives order[k] in any
// order; without it order is empty and g = k / group_size. Rows are what compressed-tensors calls
// pack-quantized (https://github.com/vllm-project/compressed-tensors, pack_quantized.py); it has
// scales [N][G] and zeros [N/c][G], of which the loader makes these.
// float8: blocks of 128 x 128 (DeepSeek-V3), rows (R = 1, C = K) or the whole (R = N, C = K).
//
// Scales of integers may have any sign, as AutoRound's symmetric quantizer takes the one that gives
// a group's largest weight the code -2^(b - 1), and be 0, as f16, where GPTQ and AWQ have them, is
// too narrow for very small ones. Scales of floats are above 0.
// Sources: Frantar et al., arXiv:2210.17323 (GPTQ); Lin et al., arXiv:2306.00978 (AWQ); DeepSeek-V3
// Technical Report, arXiv:2412.19437, and the weight_dequant of its kernels (float8).
//
// Borrows everything. Legend: N outputs, K inputs, G = K / group_size groups.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <variant>
#include <vector>

#include "forge/quant/weight_type.h"

namespace forge::linear {

struct StoredRows {
  quant::WeightType type = quant::WeightType::f32;
  const std::byte* rows = nullptr;  ///< [N] rows of bytes_of(type, K), one after the other
};

struct StoredInt8 {
  const std::byte* codes = nullptr;  ///< i8 [N][K]
  std::span<const float> scales;     ///< [N]
};

struct StoredGroups {
  enum class Packing : std::uint8_t { gptq, awq, gptq_v2, rows };
  Packing packing = Packing::gptq;
  int group_size = 128;
  const std::byte* codes = nullptr;     ///< i32
  const std::byte* zeros = nullptr;     ///< i32; null: all are 2^(bits - 1)
  const std::byte* scales = nullptr;    ///< of scale_type, [G][N]
  std::span<const std::int32_t> order;  ///< [K], group of each input; or empty
  int bits = 4;                         ///< 4 or 8
  /// F16, or, where f16 does not hold the scales exactly, F32.
  quant::WeightType scale_type = quant::WeightType::f16;

  int codes_of_word() const { return 32 / bits; }

  /// The zero points of a word of `zeros`, which GPTQ's first format stores less one.
  std::uint32_t zero_points(std::uint32_t word) const {
    if (packing != Packing::gptq) return word;
    return word + (bits == 8 ? 0x01010101U : 0x11111111U);
  }
};

struct StoredFloat8 {
  const std::byte* codes = nullptr;  ///< E4M3 (quant/float8.h) [N][K]
  std::span<const float> scales;     ///< of the blocks, row by row
  int block_rows = 1;
  int block_columns = 1;
};

struct StoredLinear {
  int outputs = 0;
  int inputs = 0;
  std::variant<StoredRows, StoredInt8, StoredGroups, StoredFloat8> form;
};

/// One of the arrays of which a matrix consists.
struct StoredArray {
  std::string_view part;  ///< "codes", "zeros", "scales" or "order"; empty for rows
  std::string_view type;  ///< "F32", "Q4_K", ... (weight_type.h), "I8", "I32" or "F8_E4M3"
  std::vector<std::size_t> shape;
  std::span<const std::byte> bytes;
};

/// All arrays of a matrix, in the shapes above.
std::vector<StoredArray> arrays_of(const StoredLinear& linear);

/// W[output][0 .. K) as floats: the definition that every product is tested against. Inputs come in
/// the order of the layer's input, also where groups have an order. out: [K].
void stored_row(const StoredLinear& linear, int output, float* out);

}  // namespace forge::linear
