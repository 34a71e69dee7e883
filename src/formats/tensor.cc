#include "forge/formats/tensor.h"

#include <array>
#include <limits>

#include "forge/core/check.h"

namespace forge::formats {
namespace {

using quant::WeightType;

/// Of the types that follow those of quant::WeightType.
struct OtherType {
  std::string_view name;
  std::uint64_t bytes;
};
constexpr std::array kOthers = {OtherType{"U8", 1}, OtherType{"I32", 4}, OtherType{"I64", 8},
                                OtherType{"F8_E4M3", 1}};
static_assert(static_cast<std::size_t>(ElementType::u8) == quant::kWeightTypes.size());
static_assert(static_cast<std::size_t>(ElementType::mxfp4) ==
              static_cast<std::size_t>(WeightType::mxfp4));

const OtherType& other_type(ElementType type) {
  const std::size_t index = static_cast<std::size_t>(type) - quant::kWeightTypes.size();
  FORGE_CHECK(index < kOthers.size(), "type=", static_cast<unsigned>(type));
  return kOthers[index];
}

/// None if it is more than a std::uint64_t can say.
std::optional<std::uint64_t> product(std::uint64_t a, std::uint64_t b) {
  if (b != 0 && a > std::numeric_limits<std::uint64_t>::max() / b) return std::nullopt;
  return a * b;
}

}  // namespace

std::string_view name_of(ElementType type) {
  const auto weights = weight_type(type);
  return weights ? quant::name_of(*weights) : other_type(type).name;
}

std::optional<WeightType> weight_type(ElementType type) {
  if (static_cast<std::size_t>(type) >= quant::kWeightTypes.size()) return std::nullopt;
  return static_cast<WeightType>(type);
}

ElementType element_type(WeightType type) { return static_cast<ElementType>(type); }

std::optional<std::uint64_t> elements_of(std::span<const std::uint64_t> shape) {
  std::optional<std::uint64_t> count = 1;
  for (std::size_t i = 0; i < shape.size() && count; ++i) count = product(*count, shape[i]);
  return count;
}

std::optional<std::uint64_t> bytes_of(ElementType type, std::span<const std::uint64_t> shape) {
  const auto count = elements_of(shape);
  if (!count) return std::nullopt;
  const auto weights = weight_type(type);
  if (!weights) return product(*count, other_type(type).bytes);
  const std::uint64_t row = shape.empty() ? 1 : shape.back();
  if (row % quant::block_elements(*weights) != 0) return std::nullopt;
  return quant::bytes_of(*weights, *count);
}

std::uint64_t Tensor::elements() const {
  const auto count = elements_of(shape);
  FORGE_CHECK(count.has_value(), "more elements than can be counted: ", to_string(*this));
  return *count;
}

std::string to_string(ElementType type, std::span<const std::uint64_t> shape) {
  std::string out = std::string(name_of(type)) + '[';
  for (std::size_t i = 0; i < shape.size(); ++i) {
    out += (i == 0 ? "" : ", ") + std::to_string(shape[i]);
  }
  return out + ']';
}

std::string to_string(const Tensor& tensor) { return to_string(tensor.type, tensor.shape); }

}  // namespace forge::formats
