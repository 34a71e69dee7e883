// Matrices of floats of 8 bits, whose scales are another tensor; and what scales must be.
#include <algorithm>
#include <cmath>
#include <sstream>

#include "forge/quant/dequantize.h"
#include "tensor_source.h"

namespace forge::checkpoint::detail {
namespace {

using formats::Tensor;
using Shape = std::vector<std::uint64_t>;

std::string place_in(const Shape& shape, std::uint64_t index) {
  std::string place;
  for (std::size_t i = shape.size(); i > 0; --i) {
    if (!place.empty()) place.insert(0, ", ");
    place.insert(0, std::to_string(index % shape[i - 1]));
    index /= shape[i - 1];
  }
  return place;
}

/// Of scales of integers: codes have up to 8 bits, so that no product is infinite.
constexpr float kScaleLimit = 0x1p120F;

std::uint64_t size(int number) { return static_cast<std::uint64_t>(number); }

int divide_up(int number, int divisor) { return (number + divisor - 1) / divisor; }

bool is_plain_float(const Tensor& tensor) {
  using formats::ElementType;
  return tensor.type == ElementType::f32 || tensor.type == ElementType::f16 ||
         tensor.type == ElementType::bf16;
}

/// The sides of the blocks that share a scale, by the shape of the scales; none if it has none.
struct Sides {
  int rows = 0;
  int columns = 0;
};
std::optional<Sides> sides_of(const Shape& scales, const HfQuantization& quantization, int outputs,
                              int inputs) {
  if (quantization.block_rows > 0) {
    const Sides sides{quantization.block_rows, quantization.block_columns};
    const Shape needed = {size(divide_up(outputs, sides.rows)),
                          size(divide_up(inputs, sides.columns))};
    return scales == needed ? std::optional(sides) : std::nullopt;
  }
  if (scales == Shape{size(outputs)} || scales == Shape{size(outputs), 1}) return Sides{1, inputs};
  if (scales.empty() || scales == Shape{1}) return Sides{outputs, inputs};
  return std::nullopt;
}

std::string needed_shape(const HfQuantization& quantization, int outputs, int inputs) {
  if (quantization.block_rows > 0) {
    return "[" + std::to_string(divide_up(outputs, quantization.block_rows)) + ", " +
           std::to_string(divide_up(inputs, quantization.block_columns)) + "]";
  }
  const std::string n = std::to_string(outputs);
  return "[" + n + "], [" + n + ", 1], [1] or []";
}

}  // namespace

/// NAME.weight of E4M3, with NAME.weight_scale_inv (DeepSeek-V3) or NAME.weight_scale: both are
/// what codes are multiplied by.
linear::StoredLinear TensorSource::float8(const std::string& name, const Tensor& tensor,
                                          int outputs, int inputs) {
  const Shape shape = {size(outputs), size(inputs)};
  if (tensor.shape != shape) {
    fail(tensor.name, &tensor, "[" + std::to_string(outputs) + ", " + std::to_string(inputs) + "]");
    return {};
  }
  const HfQuantization& quantization = config_.quantization;
  const Tensor* const inverse = file_.find(name + ".weight_scale_inv");
  const Tensor* const scales = inverse != nullptr ? inverse : file_.find(name + ".weight_scale");
  const auto sides = scales != nullptr && is_plain_float(*scales)
                         ? sides_of(scales->shape, quantization, outputs, inputs)
                         : std::nullopt;
  if (!sides) {
    fail(scales != nullptr ? scales->name : name + ".weight_scale_inv", scales,
         "F32, F16 or BF16 " + needed_shape(quantization, outputs, inputs) +
             ", for F8_E4M3 weights" +
             (quantization.block_rows > 0
                  ? " in blocks of " + std::to_string(quantization.block_rows) + " x " +
                        std::to_string(quantization.block_columns)
                  : ""));
    return {};
  }
  used_.insert({&tensor, scales});
  scales_.push_back(scale_floats(*scales, ScaleRange::positive));
  return {outputs, inputs,
          linear::StoredFloat8{tensor.bytes.data(), scales_.back(), sides->rows, sides->columns}};
}

/// Scales as floats.
std::vector<float> TensorSource::scale_floats(const Tensor& tensor, ScaleRange range) {
  std::vector<float> out(tensor.elements());
  quant::dequantize(*formats::weight_type(tensor.type), tensor.bytes.data(), out.size(),
                    out.data());
  const bool positive = range == ScaleRange::positive;
  const auto bad = std::ranges::find_if(out, [&](float scale) {
    return positive ? !std::isfinite(scale) || scale <= 0 : !(std::abs(scale) < kScaleLimit);
  });
  if (bad == out.end() || fault_) return out;
  const std::string place = place_in(tensor.shape, static_cast<std::uint64_t>(bad - out.begin()));
  std::ostringstream message;
  message << "has ";
  std::isnan(*bad) ? message << "nan" : message << *bad;
  message << " at [" << place << "]; accepted are "
          << (positive ? "finite numbers above 0" : "numbers between -2^120 and 2^120");
  fault_ = {.file = file_.file_of(tensor).path(),
            .message = message.str(),
            .tensor = tensor.name,
            .offset = std::nullopt};
  return out;
}

}  // namespace forge::checkpoint::detail
