// Quantized layers for tests, in each of the forms in which checkpoints store them, of random
// codes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <numeric>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

#include "forge/linear/stored_linear.h"
#include "forge/numerics/half.h"
#include "forge/numerics/philox.h"
#include "forge/quant/weight_type.h"
#include "quant/random_blocks.h"

namespace forge::linear {

/// Blocks of 32 first, then those of 256.
enum class Form {
  q8_0,
  q4_0,
  q5_0,
  q5_1,
  q4_1,
  iq4_nl,
  mxfp4,
  q4_k,
  q5_k,
  q6_k,
  q2_k,
  q3_k,
  iq4_xs,
  int8,
  gptq,
  gptq_act_order,
  awq,
  gptq_v2,
  gptq_of_8_bits,
  packed,
  packed_of_8_bits
};

inline constexpr Form kLastOfShortBlocks = Form::mxfp4;
inline constexpr Form kLastOfBlocks = Form::iq4_xs;

inline const std::vector<Form> kForms = {
    Form::q8_0,           Form::q4_0,   Form::q5_0,
    Form::q5_1,           Form::q4_k,   Form::q5_k,
    Form::q6_k,           Form::int8,   Form::gptq,
    Form::gptq_act_order, Form::awq,    Form::q4_1,
    Form::iq4_nl,         Form::mxfp4,  Form::q2_k,
    Form::q3_k,           Form::iq4_xs, Form::gptq_v2,
    Form::gptq_of_8_bits, Form::packed, Form::packed_of_8_bits};

inline std::string name_of(Form form) {
  static const char* const kNames[] = {"Q8_0",
                                       "Q4_0",
                                       "Q5_0",
                                       "Q5_1",
                                       "Q4_1",
                                       "IQ4_NL",
                                       "MXFP4",
                                       "Q4_K",
                                       "Q5_K",
                                       "Q6_K",
                                       "Q2_K",
                                       "Q3_K",
                                       "IQ4_XS",
                                       "INT8",
                                       "GPTQ",
                                       "GPTQ with act-order",
                                       "AWQ",
                                       "GPTQ v2",
                                       "GPTQ of 8 bits",
                                       "packed",
                                       "packed of 8 bits"};
  return kNames[static_cast<int>(form)];
}

inline std::ostream& operator<<(std::ostream& out, Form form) { return out << name_of(form); }

/// A stored layer with the memory behind it.
struct CodeLayer {
  quant::Bytes codes;
  quant::Bytes zeros;
  quant::Bytes scales;
  std::vector<float> row_scales;
  std::vector<std::int32_t> order;
  StoredLinear linear;
};

/// What to make. Where bytes or scales are given, all codes or f16 scales are those.
struct LayerSpec {
  Form form = Form::q8_0;
  int outputs = 32;     ///< of groups a multiple of 8
  int inputs = 256;     ///< a multiple of what the form asks for: 256, 32, or group_size
  int group_size = 64;  ///< of groups
  std::uint64_t seed = 1;
  int code_byte = -1;   ///< 0 .. 255, or random codes
  int scale_bits = -1;  ///< of f16, or random finite scales of magnitude 2^-8 .. 1
};

namespace detail {

inline quant::Bytes code_bytes(const LayerSpec& spec, std::size_t count, std::uint64_t salt) {
  if (spec.code_byte < 0) return quant::random_bytes(count, spec.seed * 8 + salt);
  return quant::Bytes(count, static_cast<std::byte>(spec.code_byte));
}

inline std::uint16_t scale_bits(const LayerSpec& spec, std::uint32_t index) {
  if (spec.scale_bits >= 0) return static_cast<std::uint16_t>(spec.scale_bits);
  const std::uint32_t word = numerics::philox({{index, 9, 0, 0}}, spec.seed).x[0];
  return static_cast<std::uint16_t>((word & 0x83ffu) | (7 + (word >> 16) % 8) << 10);
}

inline void make_rows(const LayerSpec& spec, quant::WeightType type, CodeLayer& layer) {
  const auto count = static_cast<std::size_t>(spec.outputs) * static_cast<std::size_t>(spec.inputs);
  const std::size_t blocks = count / quant::block_elements(type);
  layer.codes = code_bytes(spec, blocks * quant::block_bytes(type), 0);
  std::uint32_t index = 0;
  for (std::size_t block = 0; block < blocks; ++block) {
    for (const std::size_t place : quant::places_of_scales(type)) {
      const std::uint16_t bits = scale_bits(spec, index++);
      std::memcpy(&layer.codes[block * quant::block_bytes(type) + place], &bits, sizeof bits);
    }
    if (type == quant::WeightType::mxfp4) {  // a power of two of the size that an f16 would have
      const int exponent = (scale_bits(spec, index++) & 0x7c00) >> 10;
      layer.codes[block * quant::block_bytes(type)] = static_cast<std::byte>(exponent - 15 + 128);
    }
  }
  layer.linear.form = StoredRows{type, layer.codes.data()};
}

inline void make_int8(const LayerSpec& spec, CodeLayer& layer) {
  const auto outputs = static_cast<std::size_t>(spec.outputs);
  layer.codes = code_bytes(spec, outputs * static_cast<std::size_t>(spec.inputs), 0);
  for (std::uint32_t n = 0; n < outputs; ++n) {
    layer.row_scales.push_back(to_float(numerics::F16{scale_bits(spec, n)}) * 1.01F);
  }
  layer.linear.form = StoredInt8{layer.codes.data(), layer.row_scales};
}

/// A shuffled group of each input, every group as often as the others.
inline std::vector<std::int32_t> shuffled_groups(const LayerSpec& spec) {
  std::vector<std::int32_t> groups(static_cast<std::size_t>(spec.inputs));
  for (std::size_t k = 0; k < groups.size(); ++k) {
    groups[k] = static_cast<std::int32_t>(k) / spec.group_size;
  }
  for (std::uint32_t k = 1; k < groups.size(); ++k) {
    std::swap(groups[k], groups[numerics::philox({{k, 5, 0, 0}}, spec.seed).x[0] % (k + 1)]);
  }
  return groups;
}

inline StoredGroups::Packing packing_of(Form form) {
  switch (form) {
    case Form::awq:
      return StoredGroups::Packing::awq;
    case Form::gptq_v2:
      return StoredGroups::Packing::gptq_v2;
    case Form::packed:
    case Form::packed_of_8_bits:
      return StoredGroups::Packing::rows;
    default:
      return StoredGroups::Packing::gptq;
  }
}

inline void make_groups(const LayerSpec& spec, CodeLayer& layer) {
  const auto outputs = static_cast<std::size_t>(spec.outputs);
  const auto inputs = static_cast<std::size_t>(spec.inputs);
  const std::size_t groups = inputs / static_cast<std::size_t>(spec.group_size);
  const bool bytes = spec.form == Form::gptq_of_8_bits || spec.form == Form::packed_of_8_bits;
  layer.codes = code_bytes(spec, inputs * outputs / (bytes ? 1 : 2), 0);
  layer.zeros = code_bytes(spec, groups * outputs / 2, 1);
  layer.scales.resize(groups * outputs * 2);
  for (std::uint32_t i = 0; i < groups * outputs; ++i) {
    const std::uint16_t bits = scale_bits(spec, i);
    std::memcpy(&layer.scales[2 * i], &bits, sizeof bits);
  }
  if (spec.form == Form::gptq_act_order) layer.order = shuffled_groups(spec);
  layer.linear.form = StoredGroups{.packing = packing_of(spec.form),
                                   .group_size = spec.group_size,
                                   .codes = layer.codes.data(),
                                   .zeros = bytes ? nullptr : layer.zeros.data(),
                                   .scales = layer.scales.data(),
                                   .order = layer.order,
                                   .bits = bytes ? 8 : 4};
}

}  // namespace detail

/// A pure function of spec. Behind a pointer, as the layer's form borrows from its members.
inline std::unique_ptr<CodeLayer> code_layer(const LayerSpec& spec) {
  auto layer = std::make_unique<CodeLayer>();
  layer->linear.outputs = spec.outputs;
  layer->linear.inputs = spec.inputs;
  if (spec.form <= kLastOfBlocks) {
    detail::make_rows(spec, *quant::weight_type(name_of(spec.form)), *layer);
    return layer;
  }
  if (spec.form == Form::int8) {
    detail::make_int8(spec, *layer);
  } else {
    detail::make_groups(spec, *layer);
  }
  return layer;
}

}  // namespace forge::linear
