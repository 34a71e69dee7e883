// Matrices of codes in groups: GPTQ, AWQ and compressed-tensors' pack-quantized.
#include <algorithm>
#include <cstring>
#include <utility>

#include "forge/numerics/half.h"
#include "forge/quant/dequantize.h"
#include "tensor_source.h"

namespace forge::checkpoint::detail {
namespace {

using formats::ElementType;
using formats::Tensor;
using linear::StoredGroups;
using linear::StoredLinear;
using Shape = std::vector<std::uint64_t>;
using Method = HfQuantization::Method;

std::uint64_t size(int number) { return static_cast<std::uint64_t>(number); }

StoredGroups::Packing packing_of(const HfQuantization& quantization) {
  if (quantization.method == Method::awq) return StoredGroups::Packing::awq;
  return quantization.zeros_as_stored ? StoredGroups::Packing::gptq_v2
                                      : StoredGroups::Packing::gptq;
}

/// Whether each byte is that of a zero point of 128.
bool all_are_128(const Tensor& zeros, StoredGroups::Packing packing) {
  const auto stored = static_cast<std::byte>(packing == StoredGroups::Packing::gptq ? 127 : 128);
  return std::ranges::all_of(zeros.bytes, [&](std::byte byte) { return byte == stored; });
}

/// [columns][rows] of an array [rows][columns] of elements of T.
template <class T>
std::vector<T> transposed(const std::vector<T>& from, std::size_t rows, std::size_t columns) {
  std::vector<T> to(from.size());
  for (std::size_t row = 0; row < rows; ++row) {
    for (std::size_t column = 0; column < columns; ++column) {
      to[column * rows + row] = from[row * columns + column];
    }
  }
  return to;
}

template <class T>
std::vector<std::byte> bytes_of(const std::vector<T>& numbers) {
  const auto bytes = std::as_bytes(std::span(numbers));
  return {bytes.begin(), bytes.end()};
}

/// The numbers as f16; none if it does not hold all of them.
std::optional<std::vector<numerics::F16>> as_f16(const std::vector<float>& numbers) {
  std::vector<numerics::F16> halves;
  for (const float number : numbers) {
    halves.push_back(numerics::to_f16(number));
    if (to_float(halves.back()) != number) return std::nullopt;
  }
  return halves;
}

}  // namespace

StoredLinear TensorSource::groups(const std::string& name, int outputs, int inputs) {
  const HfQuantization& quantization = config_.quantization;
  StoredGroups form;
  form.packing = packing_of(quantization);
  form.bits = quantization.bits;
  form.group_size = quantization.group_size == 0 ? inputs : quantization.group_size;
  const int count = form.codes_of_word();
  const int inputs_step = std::max(8, form.group_size);
  if (outputs % 8 != 0 || inputs % 8 != 0 || inputs % inputs_step != 0) {
    fail(name + ".qweight", file_.find(name + ".qweight"),
         "a layer of a multiple of 8 outputs, it has " + std::to_string(outputs) + ", and of " +
             std::to_string(inputs_step) + " inputs, it has " + std::to_string(inputs));
    return {};
  }
  const bool awq = form.packing == StoredGroups::Packing::awq;
  const int groups = inputs / form.group_size;
  const Shape codes_shape =
      awq ? Shape{size(inputs), size(outputs / count)} : Shape{size(inputs / count), size(outputs)};
  const Tensor* const codes = quantized(name + ".qweight", ElementType::i32, codes_shape);
  const Tensor* const zeros =
      quantized(name + ".qzeros", ElementType::i32, Shape{size(groups), size(outputs / count)});
  const Tensor* const scales =
      quantized(name + ".scales", ElementType::f16, Shape{size(groups), size(outputs)});
  if (failed()) return {};
  form.codes = codes->bytes.data();
  form.scales = scales->bytes.data();
  const bool centred = form.bits == 8 && all_are_128(*zeros, form.packing);
  form.zeros = centred ? nullptr : zeros->bytes.data();
  if (!awq) form.order = group_order(name + ".g_idx", inputs, form.group_size);
  return {outputs, inputs, form};
}

/// compressed-tensors' pack-quantized: NAME.weight_packed and its companions.
StoredLinear TensorSource::packed(const std::string& name, int outputs, int inputs) {
  const HfQuantization& quantization = config_.quantization;
  StoredGroups form;
  form.packing = StoredGroups::Packing::rows;
  form.bits = quantization.bits;
  form.group_size = quantization.group_size == 0 ? inputs : quantization.group_size;
  const int count = form.codes_of_word();
  const int inputs_step = std::max(count, form.group_size);
  if (inputs % count != 0 || inputs % inputs_step != 0 ||
      (!quantization.symmetric && outputs % count != 0)) {
    fail(name + ".weight_packed", file_.find(name + ".weight_packed"),
         "a layer of a multiple of " + std::to_string(inputs_step) + " inputs, it has " +
             std::to_string(inputs) + ", and with zero points of " + std::to_string(count) +
             " outputs, it has " + std::to_string(outputs));
    return {};
  }
  const Tensor* const codes = quantized(name + ".weight_packed", ElementType::i32,
                                        Shape{size(outputs), size(inputs / count)});
  if (codes == nullptr) return {};
  form.codes = codes->bytes.data();
  check_packed_shape(name + ".weight_shape", outputs, inputs);
  if (!set_packed_scales(name + ".weight_scale", outputs, inputs, form)) return {};
  if (!quantization.symmetric) {
    set_packed_zeros(name + ".weight_zero_point", outputs, inputs, form);
  }
  form.order = group_order(name + ".weight_g_idx", inputs, form.group_size);
  return {outputs, inputs, form};
}

/// The shape of the matrix before its codes were packed, where the file says it.
void TensorSource::check_packed_shape(const std::string& name, int outputs, int inputs) {
  const Tensor* const tensor = file_.find(name);
  if (tensor == nullptr || failed()) return;
  const std::int64_t needed[] = {outputs, inputs};
  const bool fits = tensor->type == ElementType::i64 && tensor->bytes.size() == sizeof needed &&
                    std::memcmp(tensor->bytes.data(), needed, sizeof needed) == 0;
  if (!fits) {
    fail(name, tensor,
         "I64[2] with the numbers " + std::to_string(outputs) + " and " + std::to_string(inputs));
    return;
  }
  used_.insert(tensor);
}

/// Scales [N][G] of any plain float, as [G][N] of f16 where that holds them exactly.
bool TensorSource::set_packed_scales(const std::string& name, int outputs, int inputs,
                                     StoredGroups& form) {
  if (failed()) return false;
  const int groups = inputs / form.group_size;
  const Tensor* const tensor = file_.find(name);
  const Shape shape = {size(outputs), size(groups)};
  const auto type = tensor == nullptr ? std::nullopt : formats::weight_type(tensor->type);
  if (!type || quant::block_elements(*type) != 1 || *type == quant::WeightType::i8 ||
      tensor->shape != shape) {
    fail(name, tensor,
         "F32, F16 or BF16 [" + std::to_string(outputs) + ", " + std::to_string(groups) + "]");
    return false;
  }
  used_.insert(tensor);
  const std::vector<float> scales =
      transposed(scale_floats(*tensor, ScaleRange::any_sign), size(outputs), size(groups));
  if (const auto halves = as_f16(scales)) {
    copies_.push_back(bytes_of(*halves));
  } else {
    form.scale_type = quant::WeightType::f32;
    copies_.push_back(bytes_of(scales));
  }
  form.scales = copies_.back().data();
  return !failed();
}

/// Words of zero points [N/c][G], as [G][N/c]. Without any that says something, none.
void TensorSource::set_packed_zeros(const std::string& name, int outputs, int inputs,
                                    StoredGroups& form) {
  const int words = outputs / form.codes_of_word();
  const int groups = inputs / form.group_size;
  const Tensor* const tensor = quantized(name, ElementType::i32, Shape{size(words), size(groups)});
  if (tensor == nullptr) return;
  std::vector<std::uint32_t> zeros(size(words) * size(groups));
  std::memcpy(zeros.data(), tensor->bytes.data(), tensor->bytes.size());
  copies_.push_back(bytes_of(transposed(zeros, size(words), size(groups))));
  form.zeros = copies_.back().data();
}

/// g_idx, where it is there and says anything else than the groups' natural order.
std::span<const std::int32_t> TensorSource::group_order(const std::string& name, int inputs,
                                                        int group_size) {
  if (file_.find(name) == nullptr) return {};
  const Tensor* const tensor = quantized(name, ElementType::i32, Shape{size(inputs)});
  if (tensor == nullptr) return {};
  std::vector<std::int32_t> order(static_cast<std::size_t>(inputs));
  std::memcpy(order.data(), tensor->bytes.data(), tensor->bytes.size());
  std::vector<int> sizes(static_cast<std::size_t>(inputs / group_size));
  bool natural = true;
  for (int input = 0; input < inputs; ++input) {
    const std::int32_t group = order[static_cast<std::size_t>(input)];
    natural = natural && group == input / group_size;
    const bool fits = group >= 0 && static_cast<std::size_t>(group) < sizes.size() &&
                      ++sizes[static_cast<std::size_t>(group)] <= group_size;
    if (!fits) {
      fail(name, tensor,
           "each group of 0 .. " + std::to_string(sizes.size() - 1) + " " +
               std::to_string(group_size) + " times; input " + std::to_string(input) + " has " +
               std::to_string(group));
      return {};
    }
  }
  if (natural) return {};
  orders_.push_back(std::move(order));
  return orders_.back();
}

}  // namespace forge::checkpoint::detail
