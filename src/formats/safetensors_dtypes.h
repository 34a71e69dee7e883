// How SafeTensors names the types of tensors.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "forge/formats/tensor.h"

namespace forge::formats::detail {

/// None where the dtype is not read.
std::optional<ElementType> element_type_of_dtype(std::string_view dtype);

/// The dtype; none where SafeTensors has no such type.
std::optional<std::string_view> dtype_of(ElementType type);

/// "accepted are F32, F16, ..."
std::string accepted_dtypes();

/// The refusal of a dtype that is not read: "dtype 'F64' is not read; accepted are F32, F16, ..."
std::string refusal_of_dtype(std::string_view dtype);

}  // namespace forge::formats::detail
