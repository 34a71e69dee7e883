// The tensors of a file that is to be written, and where each of their rows comes from.
//
// Three things differ between a model in SafeTensors and in GGUF besides the names
// (tensor_names.h). GGUF stacks the experts of a layer into one tensor. It has the matrices that
// make keys and values from latents by heads, keys transposed, where SafeTensors has one (so do
// older GGUF files: LatentLayout). And files of some families (llama, mistral, granite) have the
// rows of Q and K within a head in another order, so that components 2i and 2i + 1 turn together
// where SafeTensors has i and i + D/2:
//
//   SafeTensors   0 1 2 3 4 5 6 7          D = 8
//   GGUF          0 4 1 5 2 6 3 7
//
// gpt-oss has experts stacked in SafeTensors as well, inputs outermost, gate and up in turn.
//
// Pure, thread-safe.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "forge/checkpoint/gguf_config.h"
#include "forge/checkpoint/tensor_names.h"
#include "forge/formats/tensor_writer.h"
#include "forge/model/model_config.h"
#include "forge/model/stored_model.h"
#include "forge/model/stored_shapes.h"

namespace forge::checkpoint {

enum class RowOrder : std::uint8_t { as_is, to_pairs, to_halves };

/// The row of the input's head, of `size` rows, that becomes row `row` of the head.
int source_row(RowOrder order, int size, int row);

/// A weight, or some of its rows. Borrowed from the StoredModel.
struct WeightRows {
  std::string role;                              ///< "layers.0.feed_forward.gate"
  const linear::StoredLinear* matrix = nullptr;  ///< null: a vector
  std::span<const float> vector;
  int first = 0;  ///< first row of the matrix
  int count = 0;
  bool transposed = false;  ///< columns of these rows are rows of the tensor

  /// The number of rows of the tensor, and of numbers in each; of a vector, one with all of its.
  int rows() const { return matrix == nullptr ? 1 : transposed ? matrix->inputs : count; }
  int row_elements() const {
    if (matrix == nullptr) return static_cast<int>(vector.size());
    return transposed ? count : matrix->inputs;
  }
};

struct FileTensor {
  formats::TensorSpec spec;
  std::vector<WeightRows> parts;  ///< the parts it consists of, on top of one another
  RowOrder order = RowOrder::as_is;
  int head_size = 1;    ///< rows that `order` is about
  float offset = 0;     ///< of a vector: is added to each number
  int alternating = 1;  ///< n: the numbers of n parts at a time take turns in a row

  const std::string& role() const { return parts.front().role; }
  bool is_matrix() const { return parts.front().matrix != nullptr; }
  std::uint64_t row_elements() const { return spec.shape.back(); }
  std::uint64_t rows() const;
};

/// A row of an input; of parts that take turns, the first.
struct SourceRow {
  const WeightRows* part = nullptr;
  int row = 0;  ///< one of its rows(); 0 for a vector
};
SourceRow source_of(const FileTensor& tensor, std::uint64_t row);

/// The layout of the keys and values of latents in `model`.
model::LatentLayout layout_of(const model::StoredModel& model);

/// All tensors of `model` in a file of `format`, in the order of stored_model.h. Types are left at
/// F32. `layout` is for GGUF; SafeTensors has keys and values whole. Requires: `model` has the
/// roles that `config` switches on.
std::vector<FileTensor> file_tensors(const model::ModelConfig& config,
                                     const model::StoredModel& model, ModelFormat format,
                                     model::LatentLayout layout = model::LatentLayout::by_heads);

/// A tensor of GGUF that holds a scaling of RoPE (rope_tables). Borrows the divisors.
FileTensor rope_tensor(const RopeTable& table);

}  // namespace forge::checkpoint
