// WeightMix: which type each tensor of a file gets.
//
// Q4_K_M is llama.cpp's mixture of that name: Q4_K, but Q6_K where errors cost most, which
// are the head, and V and the down projections of the first and last eighth of the layers and of
// every third between; with 8 experts, Q8_0 for K and V and Q5_K for the output of attention.
// Source: https://github.com/ggml-org/llama.cpp, src/llama-quant.cpp.
//
// Every other mix has one type for all matrices. In GGUF norms, biases and routers are F32; in
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

/// The mix that `text` names, "Q4_K_M", "F16", ..., in any case. Errors: it is none of `accepted`,
/// which are named.
tl::expected<WeightMix, std::string> parse_weight_mix(const std::string& text,
                                                      const std::vector<std::string>& accepted);

/// A tensor whose rows are not whole blocks of the type that it was to have.
struct Fallback {
  std::string tensor;
  quant::WeightType wanted;
  quant::WeightType given;  ///< a type with blocks of 32, or F16 where that does not fit either
  std::uint64_t row_elements;
};

/// Sets the types of the matrices of a GGUF file. Returns the tensors that could not have the type
/// wanted.
std::vector<Fallback> choose_types(const WeightMix& mix, const model::ModelConfig& config,
                                   std::vector<FileTensor>& tensors);

/// The type that the numbers of a matrix are stored in; F16 for codes of GPTQ, AWQ and INT8.
quant::WeightType stored_type(const linear::StoredLinear& matrix);

/// Leaves all matrices in the types that they have. In SafeTensors, which has only plain types,
/// quantized matrices become F16; so do rows that transposing leaves without whole blocks. Vectors,
/// which Checkpoint gives as floats, become F32 in GGUF; in SafeTensors they get the type of the
/// embedding where that loses nothing.
void keep_types(ModelFormat format, std::vector<FileTensor>& tensors);

/// The general.file_type of GGUF, by the type of most of the matrices.
std::uint32_t gguf_file_type(const WeightMix& mix);

}  // namespace forge::checkpoint
