// WeightType: how a file stores the numbers of a weight tensor.
//
// Plain types store one number at a time. Block types store 32 or 256 consecutive numbers of a row
// as small integer codes with shared scales (block_formats.h). A row is a whole number of blocks.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace forge::quant {

enum class WeightType : std::uint8_t {
  f32,
  f16,
  bf16,
  i8,
  q8_0,
  q4_0,
  q5_0,
  q5_1,
  q4_k,
  q5_k,
  q6_k,
  q4_1,
  q2_k,
  q3_k,
  iq4_nl,
  iq4_xs,
  mxfp4
};

inline constexpr std::array kWeightTypes = {
    WeightType::f32,    WeightType::f16,  WeightType::bf16, WeightType::i8,   WeightType::q8_0,
    WeightType::q4_0,   WeightType::q5_0, WeightType::q5_1, WeightType::q4_k, WeightType::q5_k,
    WeightType::q6_k,   WeightType::q4_1, WeightType::q2_k, WeightType::q3_k, WeightType::iq4_nl,
    WeightType::iq4_xs, WeightType::mxfp4};

/// The field's name: "F32", "BF16", "Q4_K".
std::string_view name_of(WeightType type);

/// Inverse of name_of, in any case of letters.
std::optional<WeightType> weight_type(std::string_view name);

/// Consecutive numbers that are stored together: 1, 32 or 256.
std::size_t block_elements(WeightType type);

/// Bytes that block_elements(type) numbers take.
std::size_t block_bytes(WeightType type);

/// Bytes of `count` numbers; none if they are not whole blocks, or more than a std::size_t can say.
std::optional<std::size_t> bytes_of(WeightType type, std::size_t count);

}  // namespace forge::quant
