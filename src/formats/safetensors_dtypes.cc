#include "safetensors_dtypes.h"

#include <algorithm>
#include <array>

#include "forge/core/quoted.h"

namespace forge::formats::detail {
namespace {

/// Named as in the format.
constexpr std::array kRead = {ElementType::f32, ElementType::f16,    ElementType::bf16,
                              ElementType::i8,  ElementType::u8,     ElementType::i32,
                              ElementType::i64, ElementType::f8_e4m3};

/// The others of the format, version 0.8 of the reference implementation.
constexpr std::array<std::string_view, 14> kUnreadDtypes = {
    "BOOL",        "F4",  "F6_E2M3", "F6_E3M2", "F8_E5M2", "F8_E8M0", "F8_E4M3FNUZ",
    "F8_E5M2FNUZ", "I16", "U16",     "U32",     "U64",     "F64",     "C64"};

}  // namespace

std::optional<ElementType> element_type_of_dtype(std::string_view dtype) {
  const auto found = std::find_if(kRead.begin(), kRead.end(),
                                  [&](ElementType type) { return name_of(type) == dtype; });
  if (found == kRead.end()) return std::nullopt;
  return *found;
}

std::optional<std::string_view> dtype_of(ElementType type) {
  if (std::find(kRead.begin(), kRead.end(), type) == kRead.end()) return std::nullopt;
  return name_of(type);
}

std::string accepted_dtypes() {
  std::string out;
  for (const ElementType type : kRead) {
    out += (out.empty() ? "accepted are " : ", ") + std::string(name_of(type));
  }
  return out;
}

std::string refusal_of_dtype(std::string_view dtype) {
  const bool known =
      std::find(kUnreadDtypes.begin(), kUnreadDtypes.end(), dtype) != kUnreadDtypes.end();
  return "dtype " + in_quotes(dtype) + (known ? " is not read; " : " is unknown; ") +
         accepted_dtypes();
}

}  // namespace forge::formats::detail
