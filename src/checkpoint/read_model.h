// From tensors to roles: which tensor of which shape is which weight of a model.
#pragma once

#include <tl/expected.hpp>

#include "forge/model/stored_model.h"
#include "tensor_source.h"

namespace forge::checkpoint::detail {

/// Errors: the first tensor that is missing, or not of the type and shape that `config` asks for.
/// Requires: validate() accepts `config`.
tl::expected<model::StoredModel, formats::FileError> read_model(const model::ModelConfig& config,
                                                                TensorSource& source);

}  // namespace forge::checkpoint::detail
