// The tensors of a file that is to be written, and where each of their rows comes from.
//
// Three things differ between a model in SafeTensors and in GGUF besides the names: GGUF stacks the
// experts of a layer into one tensor; newer GGUF files have the matrices that make keys and values
// from latents by heads, keys transposed, where SafeTensors has one; and files of llama (Mistral's
// too) have the rows of Q and K within a head in another order, so that components 2i and 2i + 1
// turn together where SafeTensors has i and i + D/2:
//
//   SafeTensors   0 1 2 3 4 5 6 7          D = 8
//   GGUF          0 4 1 5 2 6 3 7
//
// Pure, thread-safe.
#pragma once

#include <cstdint>
#include <string>
#include <tl/expected.hpp>
#include <vector>

#include "forge/formats/tensor_writer.h"
#include "forge/model/model_config.h"
#include "model_parts.h"

namespace forge::apps {

enum class RowOrder : std::uint8_t { as_is, to_pairs, to_halves };

/// Which of a head's `size` rows, in the order of the input, becomes row `row` of it.
int source_row(RowOrder order, int size, int row);

struct OutputTensor {
  formats::TensorSpec spec;
  std::vector<ModelPart> parts;  ///< one, or those of a stack, on top of one another; borrowed
  RowOrder order = RowOrder::as_is;
  int head_size = 1;  ///< rows that `order` is about

  bool is_matrix() const { return parts.front().matrix != nullptr; }
  std::uint64_t row_elements() const { return spec.shape.back(); }
  std::uint64_t rows() const;
};

/// A row of an input.
struct SourceRow {
  const ModelPart* part = nullptr;
  int row = 0;  ///< of its rows(); 0 of a vector
};
SourceRow source_of(const OutputTensor& tensor, std::uint64_t row);

/// In which format a model is, or is to be.
enum class ModelFormat : std::uint8_t { safetensors, gguf };

/// Types are left at F32. Errors (gguf): a tensor has no name there.
tl::expected<std::vector<OutputTensor>, std::string> output_tensors(
    const model::ModelConfig& config, const model::StoredModel& model, ModelFormat format);

/// rope_freqs.weight of GGUF (gguf_description.h). Borrows `divisors`.
OutputTensor rope_tensor(std::span<const float> divisors);

}  // namespace forge::apps
