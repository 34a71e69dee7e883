// What both formats ask of the tensors that are to be written.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>

#include "forge/formats/tensor_writer.h"

namespace forge::formats::detail {

/// What one format asks of a tensor: the objection, or none.
using SpecRule = std::function<std::optional<std::string>(const TensorSpec&)>;

/// The first tensor that breaks the rule, has a name that another has, or a size that cannot be
/// counted.
std::optional<FileError> objection_to(std::span<const TensorSpec> tensors, const std::string& path,
                                      const SpecRule& rule);

}  // namespace forge::formats::detail
