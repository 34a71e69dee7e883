// WeightMix: which type each tensor of a file gets.
//
// Four mixes are those of llama.cpp of the same names, which give more bits to what needs them: the
// head is Q6_K in all of them. L layers; "some" are the first and last eighth of the layers and
// every third between.
//
//            V                     down projections         output of attention   all else
//   Q4_K_M   Q6_K in some          Q6_K in some             Q4_K                  Q4_K
//   Q5_K_M   Q6_K in some          Q6_K in some             Q5_K                  Q5_K
//   Q3_K_M   Q5_K in the first     Q5_K in the first L/16,  Q4_K                  Q3_K
//            two, Q4_K in others   Q4_K in others
//   IQ4_XS   Q5_K with 4 or more   Q5_K in the first L/8    IQ4_XS                IQ4_XS
//            heads for each of K
//
// With 8 experts, K and V are Q8_0 and the output of attention Q5_K. Source:
// https://github.com/ggml-org/llama.cpp, src/llama-quant.cpp.
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
  bool more_bits = false;  ///< one of the four mixes

  std::string name() const;
};

/// The names of all mixes with blocks, "Q8_0", "Q4_K_M", ...
const std::vector<std::string>& block_mixes();

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
