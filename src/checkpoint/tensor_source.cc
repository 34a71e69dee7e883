#include "tensor_source.h"

#include <algorithm>
#include <cmath>
#include <sstream>
#include <utility>

#include "forge/core/check.h"
#include "forge/quant/dequantize.h"

namespace forge::checkpoint::detail {
namespace {

using formats::ElementType;
using formats::Tensor;
using linear::StoredLinear;
using Shape = std::vector<std::uint64_t>;
using Method = HfQuantization::Method;

Shape shape_of(std::initializer_list<int> sizes) { return {sizes.begin(), sizes.end()}; }

/// Of the tensor that has such a matrix.
Shape shape_of(const TensorName& name, int outputs, int inputs) {
  if (name.place) return shape_of({name.place->count, outputs, inputs});
  if (name.flat) return shape_of({inputs});
  return shape_of({outputs, inputs});
}

bool is_plain_float(ElementType type) {
  return type == ElementType::f32 || type == ElementType::f16 || type == ElementType::bf16;
}

/// What a runtime computes by itself, or another one keeps in the file.
bool is_of_no_concern(std::string_view name) {
  return name == "rope_freqs.weight" || name.starts_with("rope_factors_") ||
         name.ends_with("rotary_emb.inv_freq") || name.ends_with("attn.masked_bias");
}

}  // namespace

std::string text_of(const Shape& shape) {
  std::string out;
  for (const std::uint64_t size : shape) out += (out.empty() ? "" : ", ") + std::to_string(size);
  return "[" + out + "]";
}

std::string layer_of(const std::string& name) {
  constexpr std::string_view kWeight = ".weight";
  return name.substr(0, name.size() - kWeight.size());
}

std::string not_finite(float value, const std::string& place, bool is_scale) {
  if (std::isfinite(value)) {
    std::ostringstream text;
    text << "has " << value << " at [" << place << "]; accepted are numbers that 16 bits hold";
    return text.str();
  }
  const char* const shown = std::isnan(value) ? "nan" : value > 0 ? "inf" : "-inf";
  return std::string("has ") + (is_scale ? "the scale " : "") + shown +
         (is_scale ? " of the block at [" : " at [") + place + "]; accepted are finite numbers";
}

TensorName TensorSource::name_of(const std::string& role) const {
  const auto name = tensor_name(role, config_.model, file_.format());
  FORGE_CHECK(name, "no file has '", role, "'");
  return *name;
}

bool TensorSource::has(const std::string& role) const {
  const auto name = tensor_name(role, config_.model, file_.format());
  return name && file_.find(name->name) != nullptr;
}

void TensorSource::fail(const std::string& name, const Tensor* tensor, const std::string& needed) {
  if (fault_) return;
  const formats::MappedFile& file = tensor != nullptr ? file_.file_of(*tensor) : file_.first_file();
  const std::string found = tensor != nullptr ? "is " + formats::to_string(*tensor) : "is missing";
  fault_ = {.file = file.path(),
            .message = found + "; needed is " + needed,
            .tensor = name,
            .offset = std::nullopt};
}

std::vector<float> TensorSource::vector(const std::string& role, int size) {
  if (failed()) return {};
  const TensorName name = name_of(role);
  const StepPlace steps = name.steps.value_or(StepPlace{});
  const int row = size * steps.step;  // numbers of the tensor from one of a stack to the next
  const Tensor* const tensor = file_.find(name.name);
  const Shape shape = name.place ? shape_of({name.place->count, row}) : shape_of({row});
  if (tensor == nullptr || tensor->shape != shape || !is_plain_float(tensor->type)) {
    fail(name.name, tensor, "F32, F16 or BF16 " + text_of(shape));
    return {};
  }
  used_.insert(tensor);
  const auto count = static_cast<std::size_t>(row);
  const auto first = static_cast<std::size_t>(name.place ? name.place->index : 0) * count;
  const std::vector<float> all = floats(*tensor, first, count);
  std::vector<float> numbers;
  for (auto i = static_cast<std::size_t>(steps.first); i < count;
       i += static_cast<std::size_t>(steps.step)) {
    numbers.push_back(name.offset != 0 ? all[i] + name.offset : all[i]);
  }
  return numbers;
}

/// Some numbers of a tensor of plain floats, which have to be finite.
std::vector<float> TensorSource::floats(const Tensor& tensor, std::size_t first,
                                        std::size_t count) {
  const auto type = *formats::weight_type(tensor.type);
  std::vector<float> out(count);
  quant::dequantize(type, tensor.bytes.data() + *quant::bytes_of(type, first), count, out.data());
  const auto bad = std::ranges::find_if(out, [](float value) { return !std::isfinite(value); });
  if (bad != out.end() && !fault_) {
    std::size_t index = first + static_cast<std::size_t>(bad - out.begin());
    std::string place;
    if (tensor.shape.size() == 2 && tensor.shape.back() == count) {  // one of a stack
      place = std::to_string(index / count) + ", ";
      index %= count;
    }
    fault_ = {.file = file_.file_of(tensor).path(),
              .message = not_finite(*bad, place + std::to_string(index)),
              .tensor = tensor.name,
              .offset = std::nullopt};
  }
  return out;
}

StoredLinear TensorSource::matrix(const std::string& role, int outputs, int inputs) {
  if (failed()) return {};
  const TensorName name = name_of(role);
  if (name.transposed) return stacked_columns(name, outputs, inputs);
  if (!name.rows) return whole(name, outputs, inputs);
  const auto [known, is_new] = fused_.try_emplace(name.name);
  if (is_new) known->second = whole(name, name.rows->count, inputs);
  return part(known->second, name, outputs);
}

StoredLinear TensorSource::whole(const TensorName& place, int outputs, int inputs) {
  const std::string& name = place.name;
  const std::string layer = layer_of(name);
  const Method method = config_.quantization.method;
  const bool grouped = method == Method::gptq || method == Method::awq;
  const bool has_codes = file_.find(layer + ".qweight") != nullptr;
  if (grouped && has_codes) return groups(layer, outputs, inputs);
  if (method == Method::packed && file_.find(layer + ".weight_packed") != nullptr) {
    return packed(layer, outputs, inputs);
  }
  const Tensor* const tensor = file_.find(name);
  if (tensor == nullptr) {
    fail(name, nullptr,
         text_of(shape_of(place, outputs, inputs)) +
             (has_codes ? ", or a quantization_config in config.json that says how its qweight "
                          "is stored (a quantize_config.json of AutoGPTQ is not read)"
                        : ""));
    return {};
  }
  if (tensor->type == ElementType::i8) return int8_rows(layer, *tensor, outputs, inputs);
  if (tensor->type == ElementType::f8_e4m3) return float8(layer, *tensor, outputs, inputs);
  return rows(*tensor, place, outputs, inputs);
}

StoredLinear TensorSource::rows(const Tensor& tensor, const TensorName& name, int outputs,
                                int inputs) {
  const Shape shape = shape_of(name, outputs, inputs);
  const auto type = formats::weight_type(tensor.type);
  if (!type || *type == quant::WeightType::i8 || tensor.shape != shape) {
    fail(tensor.name, &tensor, "a type of weights, " + text_of(shape));
    return {};
  }
  used_.insert(&tensor);
  const std::size_t row_bytes = *quant::bytes_of(*type, static_cast<std::size_t>(inputs));
  const int first = name.place ? name.place->index * outputs : 0;
  const std::byte* const rows = tensor.bytes.data() + static_cast<std::size_t>(first) * row_bytes;
  return {outputs, inputs, linear::StoredRows{*type, rows}};
}

StoredLinear TensorSource::int8_rows(const std::string& name, const Tensor& tensor, int outputs,
                                     int inputs) {
  const Shape shape = shape_of({outputs, inputs});
  if (tensor.shape != shape) {
    fail(tensor.name, &tensor, text_of(shape));
    return {};
  }
  const Tensor* const scales = file_.find(name + ".weight_scale");
  const Shape flat = shape_of({outputs});
  const Shape column = shape_of({outputs, 1});
  if (scales == nullptr || !is_plain_float(scales->type) ||
      (scales->shape != flat && scales->shape != column)) {
    fail(name + ".weight_scale", scales,
         "F32, F16 or BF16 " + text_of(flat) + " or " + text_of(column) + ", for I8 weights");
    return {};
  }
  used_.insert({&tensor, scales});
  scales_.push_back(scale_floats(*scales, ScaleRange::any_sign));
  return {outputs, inputs, linear::StoredInt8{tensor.bytes.data(), scales_.back()}};
}

const Tensor* TensorSource::quantized(const std::string& name, ElementType type,
                                      std::span<const std::uint64_t> shape) {
  if (failed()) return nullptr;
  const Tensor* const tensor = file_.find(name);
  if (tensor == nullptr || tensor->type != type || !std::ranges::equal(tensor->shape, shape)) {
    fail(name, tensor, formats::to_string(type, shape));
    return nullptr;
  }
  used_.insert(tensor);
  return tensor;
}

std::vector<std::string> TensorSource::unused() const {
  std::vector<std::string> names;
  for (const Tensor& tensor : file_.tensors()) {
    if (!used_.contains(&tensor) && !is_of_no_concern(tensor.name)) names.push_back(tensor.name);
  }
  return names;
}

}  // namespace forge::checkpoint::detail
