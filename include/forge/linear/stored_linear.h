// StoredLinear: a linear layer as a checkpoint has it, in one of the five forms that occur.
//
//   form   what the file holds                                  W[n][k] is
//   rows   one tensor [N][K] of a WeightType (not i8)           dequantize()
//   int8   codes i8 [N][K], scales f32 [N]                      scale[n] * code
//   gptq   codes i32 [K/8][N], 8 codes of 4 bits down a column  scale[g][n] * (code - zero[g][n]),
//          zeros i32 [G][N/8] along a row, scales f16 [G][N]    group g = order[k]
//   awq    codes i32 [K][N/8], 8 codes of 4 bits along a row    the same,
//          zeros i32 [G][N/8] likewise, scales f16 [G][N]       group g = k / group_size
//
// GPTQ's files hold (zero - 1) & 15 (a habit of AutoGPTQ's first format, kept by all tools since).
// Zero points of 4 bits are 0 .. 15, so a stored 15 is 0: AutoGPTQ and ExLlamaV2 read it so ("Avoid
// zeros overflow with & 0x0f" in the CUDA kernels of both). vLLM's CUDA kernel and AutoGPTQ's
// Triton kernel take it for 16, which no quantizer of 4 bits can have meant. AWQ packs the outputs
// of an i32 in the order 0 2 4 6 1 3 5 7, from the lowest bits up. Act-order ("desc_act") gives
// order[k] in any order; without it order is empty and g = k / group_size.
// Sources: Frantar et al., arXiv:2210.17323 (GPTQ); Lin et al., arXiv:2306.00978 (AWQ).
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
  enum class Packing : std::uint8_t { gptq, awq };
  Packing packing = Packing::gptq;
  int group_size = 128;
  const std::byte* codes = nullptr;     ///< i32
  const std::byte* zeros = nullptr;     ///< i32
  const std::byte* scales = nullptr;    ///< f16 [G][N]
  std::span<const std::int32_t> order;  ///< [K], group of each input; or empty
};

struct StoredLinear {
  int outputs = 0;
  int inputs = 0;
  std::variant<StoredRows, StoredInt8, StoredGroups> form;
};

/// One of the arrays of which a matrix consists.
struct StoredArray {
  std::string_view part;  ///< "codes", "zeros", "scales" or "order"; empty for rows
  std::string_view type;  ///< "F32", "Q4_K", ... (weight_type.h), "I8" or "I32"
  std::vector<std::size_t> shape;
  std::span<const std::byte> bytes;
};

/// All arrays of a matrix, in the shapes above.
std::vector<StoredArray> arrays_of(const StoredLinear& linear);

/// W[output][0 .. K) as floats: the definition that every product is tested against. Inputs come in
/// the order of the layer's input, also where groups have an order. out: [K].
void stored_row(const StoredLinear& linear, int output, float* out);

}  // namespace forge::linear
