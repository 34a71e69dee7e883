// The tensors of a model one after the other, by their names in checkpoints of Hugging Face: what
// every command of forge-model goes through.
//
// Whatever a checkpoint's format, Checkpoint gives its weights by role (stored_model.h); here roles
// get their names back. A model without weights, shapes alone, is for those that make them up.
//
// Pure, thread-safe.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "forge/model/model_config.h"
#include "forge/model/stored_model.h"

namespace forge::apps {

/// One tensor, or some of the rows of one: parts of the same name that follow one another are on
/// top of one another. Borrowed from the StoredModel.
struct ModelPart {
  std::string name;                              ///< "model.layers.0.mlp.gate_proj.weight"
  const linear::StoredLinear* matrix = nullptr;  ///< null: a vector
  std::span<const float> vector;
  /// The tensor has the matrix's columns as rows: keys of latent attention, by heads, which GGUF
  /// stores so and SafeTensors does not.
  bool transposed = false;

  std::uint64_t elements() const;
  /// Rows of the tensor, each of so many numbers. Requires: it is a matrix.
  int rows() const { return transposed ? matrix->inputs : matrix->outputs; }
  int row_elements() const { return transposed ? matrix->outputs : matrix->inputs; }
};

/// In the order of the forward pass. Requires: `model` has the roles that `config` switches on.
std::vector<ModelPart> parts_of(const model::ModelConfig& config, const model::StoredModel& model);

/// The shapes of a model: matrices whose rows are nowhere, norms of ones, biases of zeros.
model::StoredModel shapes_of(const model::ModelConfig& config);

struct ParameterCount {
  std::uint64_t total = 0;
  std::uint64_t active = 0;  ///< that one token meets: all, but for experts it is not given to
};
ParameterCount count_parameters(const model::ModelConfig& config, const model::StoredModel& model);

}  // namespace forge::apps
