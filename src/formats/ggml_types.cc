#include "ggml_types.h"

#include <algorithm>
#include <iterator>

namespace forge::formats::detail {
namespace {

struct GgmlType {
  std::uint32_t number;
  const char* name;
  std::optional<ElementType> element;
};

constexpr std::nullopt_t kNotRead = std::nullopt;

/// enum ggml_type (https://github.com/ggml-org/ggml, include/ggml.h); 4 and 5, 31 to 33 and 36 to
/// 38 are no longer in use.
constexpr GgmlType kTypes[] = {
    {0, "F32", ElementType::f32},
    {1, "F16", ElementType::f16},
    {2, "Q4_0", ElementType::q4_0},
    {3, "Q4_1", ElementType::q4_1},
    {6, "Q5_0", ElementType::q5_0},
    {7, "Q5_1", ElementType::q5_1},
    {8, "Q8_0", ElementType::q8_0},
    {9, "Q8_1", kNotRead},
    {10, "Q2_K", ElementType::q2_k},
    {11, "Q3_K", ElementType::q3_k},
    {12, "Q4_K", ElementType::q4_k},
    {13, "Q5_K", ElementType::q5_k},
    {14, "Q6_K", ElementType::q6_k},
    {15, "Q8_K", kNotRead},
    {16, "IQ2_XXS", kNotRead},
    {17, "IQ2_XS", kNotRead},
    {18, "IQ3_XXS", kNotRead},
    {19, "IQ1_S", kNotRead},
    {20, "IQ4_NL", ElementType::iq4_nl},
    {21, "IQ3_S", kNotRead},
    {22, "IQ2_S", kNotRead},
    {23, "IQ4_XS", ElementType::iq4_xs},
    {24, "I8", ElementType::i8},
    {25, "I16", kNotRead},
    {26, "I32", ElementType::i32},
    {27, "I64", ElementType::i64},
    {28, "F64", kNotRead},
    {29, "IQ1_M", kNotRead},
    {30, "BF16", ElementType::bf16},
    {34, "TQ1_0", kNotRead},
    {35, "TQ2_0", kNotRead},
    {39, "MXFP4", ElementType::mxfp4},
};

const GgmlType* find_type(std::uint32_t number) {
  const auto found = std::find_if(std::begin(kTypes), std::end(kTypes),
                                  [&](const GgmlType& type) { return type.number == number; });
  return found == std::end(kTypes) ? nullptr : found;
}

}  // namespace

std::optional<ElementType> element_type_of_ggml(std::uint32_t number) {
  const GgmlType* const type = find_type(number);
  return type == nullptr ? std::nullopt : type->element;
}

std::optional<std::uint32_t> ggml_number(ElementType element) {
  for (const GgmlType& type : kTypes) {
    if (type.element == element) return type.number;
  }
  return std::nullopt;
}

std::string ggml_name(std::uint32_t number) {
  const GgmlType* const type = find_type(number);
  const std::string numbered = "ggml type " + std::to_string(number);
  return type == nullptr ? numbered : std::string(type->name) + " (" + numbered + ")";
}

std::string readable_ggml_types() {
  std::string out;
  for (const GgmlType& type : kTypes) {
    if (!type.element) continue;
    if (!out.empty()) out += ", ";
    out += type.name;
  }
  return out;
}

}  // namespace forge::formats::detail
