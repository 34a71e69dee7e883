// How GGUF numbers the types of tensors: ggml's numbers.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "forge/formats/tensor.h"

namespace forge::formats::detail {

/// None where the type is not read.
std::optional<ElementType> element_type_of_ggml(std::uint32_t number);

/// None where ggml has no such type.
std::optional<std::uint32_t> ggml_number(ElementType type);

/// "Q8_1 (ggml type 9)", or "ggml type 99" where the number is not known.
std::string ggml_name(std::uint32_t number);

/// "F32, F16, ..." in the order of their numbers.
std::string readable_ggml_types();

}  // namespace forge::formats::detail
