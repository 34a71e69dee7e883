// WeightMix: which type each tensor of a file gets.
//
// Q4_K_M is llama.cpp's mixture of that name: Q4_K, but Q6_K where errors cost most, which
// are the head, and V and the down projections of the first and last eighth of the layers and of
// every third between; with 8 experts, Q8_0 for K and V and Q5_K for the output of attention.
// Source: https://github.com/ggml-org/llama.cpp, src/llama-quant.cpp.
//
// Every other type is that of all matrices. In GGUF norms, biases and routers are F32; in
// SafeTensors they are of the type asked for, or else of the embedding's.
//
// Pure, thread-safe.
#pragma once

#include <optional>
#include <string>
#include <tl/expected.hpp>
#include <vector>

#include "forge/checkpoint/file_tensors.h"
#include "forge/quant/weight_type.h"

namespace forge::checkpoint {

struct WeightMix {
  quant::WeightType type = quant::WeightType::f32;
  bool more_bits = false;  ///< Q4_K_M

  std::string name() const;
};

/// Of "Q4_K_M", "F16", ..., whatever their case. Errors: it is none of `accepted`, which are named.
tl::expected<WeightMix, std::string> parse_weight_mix(const std::string& text,
                                                      const std::vector<std::string>& accepted);

/// A tensor whose rows are not whole blocks of the type that it was to have.
struct Fallback {
  std::string tensor;
  quant::WeightType wanted;
  quant::WeightType given;  ///< of blocks of 32, or F16 where those do not fit either
  std::uint64_t row_elements;
};

/// Sets the types of the matrices of a GGUF file. Returns: where they could not be as wanted.
std::vector<Fallback> choose_types(const WeightMix& mix, const model::ModelConfig& config,
                                   std::vector<FileTensor>& tensors);

/// The type that the numbers of a matrix are stored in; F16 for codes of GPTQ, AWQ and INT8.
quant::WeightType stored_type(const linear::StoredLinear& matrix);

/// Leaves all matrices in the types that they have. In SafeTensors, which has plain ones alone,
/// what is quantized becomes F16; so do rows that transposing leaves without whole blocks. Vectors,
/// which Checkpoint gives as floats, become F32 in GGUF, and in SafeTensors of the type of the
/// embedding where that loses nothing.
void keep_types(ModelFormat format, std::vector<FileTensor>& tensors);

/// general.file_type of GGUF: by what most of its matrices are.
std::uint32_t gguf_file_type(const WeightMix& mix);

}  // namespace forge::checkpoint
