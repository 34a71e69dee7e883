// Tensor: a named array in the memory that a file is mapped to, whatever the file's format.
//
// SafeTensors (safetensors.h) and GGUF (gguf.h) differ in how they describe tensors; what a reader
// of weights sees is this. Shapes are as checkpoints in PyTorch have them, slowest dimension first,
// so a linear layer is [outputs, inputs].
//
// Every offset, count and product has been checked against the size of the file: `bytes` lies
// within it, is exactly as long as type and shape say, and overlaps no other tensor. It may start
// at any byte: SafeTensors promises no alignment, so numbers are copied out, never read in place.
//
// Thread contract: values.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "forge/quant/weight_type.h"

namespace forge::formats {

/// The type in which the elements of a tensor are stored: a type of weights, of the integers
/// that accompany quantized weights in SafeTensors, or floats of 8 bits, whose scales are another
/// tensor.
enum class ElementType : std::uint8_t {
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
  mxfp4,  // as quant::WeightType
  u8,
  i32,
  i64,
  f8_e4m3
};

std::string_view name_of(ElementType type);

/// The type as a type of weights; nullopt for u8, i32, i64, f8_e4m3.
std::optional<quant::WeightType> weight_type(ElementType type);

/// Inverse of weight_type.
ElementType element_type(quant::WeightType type);

/// The product of a shape; nullopt if it is more than a std::uint64_t can hold. A scalar has 1.
std::optional<std::uint64_t> elements_of(std::span<const std::uint64_t> shape);

/// The bytes of a tensor; nullopt if they are more than a std::uint64_t can hold, or if the rows
/// (the last dimension) are not whole blocks.
std::optional<std::uint64_t> bytes_of(ElementType type, std::span<const std::uint64_t> shape);

/// "F32[512, 64]"
std::string to_string(ElementType type, std::span<const std::uint64_t> shape);

struct Tensor {
  std::string name;
  ElementType type = ElementType::f32;
  std::vector<std::uint64_t> shape;  ///< slowest first; empty: a scalar
  std::span<const std::byte> bytes;  ///< borrowed from the file
  std::uint64_t offset = 0;          ///< of `bytes`, from the start of its file

  std::uint64_t elements() const;  ///< product of the shape
};

/// Type and shape.
std::string to_string(const Tensor& tensor);

}  // namespace forge::formats
