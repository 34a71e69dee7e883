// Notes: what is worth a line when a model starts, as it was assumed, or is there and not used.
//
// Pure, thread-safe.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "forge/checkpoint/tensor_file.h"
#include "forge/model/model_config.h"

namespace forge::checkpoint::detail {

/// A line each. `unused`: names of the file's tensors that are in no role.
std::vector<std::string> notes_of(const TensorFile& file, const model::ModelConfig& config,
                                  std::span<const std::string> unused);

}  // namespace forge::checkpoint::detail
