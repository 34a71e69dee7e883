#include "forge/linear/stored_linear.h"

#include <array>
#include <bit>
#include <cstring>

#include "forge/core/check.h"
#include "forge/numerics/half.h"
#include "forge/quant/dequantize.h"
#include "forge/quant/float8.h"

namespace forge::linear {
namespace {

/// Place in an AWQ word, from the lowest bits up, that holds output 8 i + index.
constexpr std::array kAwqPlace = {0, 4, 1, 5, 2, 6, 3, 7};

std::uint32_t word_at(const std::byte* words, std::ptrdiff_t index) {
  std::uint32_t word = 0;
  std::memcpy(&word, words + 4 * index, sizeof word);
  return word;
}

/// The codes and zero points of one output.
struct GroupCodes {
  const StoredGroups& form;
  std::ptrdiff_t outputs;
  std::ptrdiff_t inputs;
  std::ptrdiff_t output;

  int part_of(std::uint32_t word, std::ptrdiff_t place) const {
    return static_cast<int>(word >> (form.bits * place) & mask());
  }
  std::uint32_t mask() const { return (1U << form.bits) - 1; }

  std::ptrdiff_t place_of_output() const {
    const std::ptrdiff_t index = output % form.codes_of_word();
    return form.packing == StoredGroups::Packing::awq ? kAwqPlace[static_cast<std::size_t>(index)]
                                                      : index;
  }

  int code(std::ptrdiff_t k) const {
    const std::ptrdiff_t count = form.codes_of_word();
    switch (form.packing) {
      case StoredGroups::Packing::awq:
        return part_of(word_at(form.codes, k * (outputs / count) + output / count),
                       place_of_output());
      case StoredGroups::Packing::rows:
        return part_of(word_at(form.codes, output * (inputs / count) + k / count), k % count);
      default:
        return part_of(word_at(form.codes, k / count * outputs + output), k % count);
    }
  }

  int zero(std::ptrdiff_t g) const {
    if (form.zeros == nullptr) return 1 << (form.bits - 1);
    const std::ptrdiff_t count = form.codes_of_word();
    const std::uint32_t word = word_at(form.zeros, g * (outputs / count) + output / count);
    return part_of(form.zero_points(word), place_of_output());
  }

  float scale(std::ptrdiff_t g) const {
    const std::size_t size = quant::block_bytes(form.scale_type);
    float scale = 0;
    quant::dequantize(form.scale_type,
                      form.scales + size * static_cast<std::size_t>(g * outputs + output), 1,
                      &scale);
    return scale;
  }
};

void row_of(const StoredRows& form, const StoredLinear& linear, int output, float* out) {
  FORGE_CHECK(form.type != quant::WeightType::i8, "rows of I8 have their scales elsewhere");
  const auto inputs = static_cast<std::size_t>(linear.inputs);
  const auto row_bytes = quant::bytes_of(form.type, inputs);
  FORGE_CHECK(row_bytes, "inputs=", linear.inputs, " are not whole blocks of ", name_of(form.type));
  quant::dequantize(form.type, form.rows + static_cast<std::size_t>(output) * *row_bytes, inputs,
                    out);
}

void row_of(const StoredInt8& form, const StoredLinear& linear, int output, float* out) {
  const auto inputs = static_cast<std::size_t>(linear.inputs);
  const std::byte* const codes = form.codes + static_cast<std::size_t>(output) * inputs;
  quant::dequantize(quant::WeightType::i8, codes, inputs, out);
  const float scale = form.scales[static_cast<std::size_t>(output)];
  for (int k = 0; k < linear.inputs; ++k) out[k] = scale * out[k];
}

void row_of(const StoredGroups& form, const StoredLinear& linear, int output, float* out) {
  const GroupCodes codes{form, linear.outputs, linear.inputs, output};
  for (int k = 0; k < linear.inputs; ++k) {
    const std::ptrdiff_t g =
        form.order.empty() ? k / form.group_size : form.order[static_cast<std::size_t>(k)];
    out[k] = codes.scale(g) * static_cast<float>(codes.code(k) - codes.zero(g));
  }
}

void row_of(const StoredFloat8& form, const StoredLinear& linear, int output, float* out) {
  const auto inputs = static_cast<std::size_t>(linear.inputs);
  const std::byte* const codes = form.codes + static_cast<std::size_t>(output) * inputs;
  const auto columns = static_cast<std::size_t>(form.block_columns);
  const std::size_t blocks = (inputs + columns - 1) / columns;
  const std::size_t first = static_cast<std::size_t>(output / form.block_rows) * blocks;
  for (std::size_t k = 0; k < inputs; ++k) {
    const quant::E4M3 code{std::to_integer<std::uint8_t>(codes[k])};
    out[k] = form.scales[first + k / columns] * to_float(code);
  }
}

struct ArraysOf {
  std::size_t outputs;
  std::size_t inputs;

  std::vector<StoredArray> operator()(const StoredRows& form) const {
    const std::size_t row_bytes = *quant::bytes_of(form.type, inputs);
    return {{"", name_of(form.type), {outputs, inputs}, {form.rows, outputs * row_bytes}}};
  }
  std::vector<StoredArray> operator()(const StoredInt8& form) const {
    return {{"codes", "I8", {outputs, inputs}, {form.codes, outputs * inputs}},
            {"scales", "F32", {outputs}, std::as_bytes(form.scales)}};
  }
  std::vector<StoredArray> operator()(const StoredGroups& form) const {
    const std::size_t groups = inputs / static_cast<std::size_t>(form.group_size);
    const auto count = static_cast<std::size_t>(form.codes_of_word());
    const std::size_t scale_bytes = quant::block_bytes(form.scale_type);
    std::vector<StoredArray> arrays = {
        {"codes", "I32", codes_shape(form), {form.codes, inputs * outputs / count * 4}}};
    if (form.zeros != nullptr) {
      arrays.push_back(
          {"zeros", "I32", {groups, outputs / count}, {form.zeros, groups * outputs / count * 4}});
    }
    arrays.push_back({"scales",
                      name_of(form.scale_type),
                      {groups, outputs},
                      {form.scales, groups * outputs * scale_bytes}});
    if (!form.order.empty()) {
      arrays.push_back({"order", "I32", {inputs}, std::as_bytes(form.order)});
    }
    return arrays;
  }
  std::vector<StoredArray> operator()(const StoredFloat8& form) const {
    const auto columns = static_cast<std::size_t>(form.block_columns);
    const std::size_t blocks = (inputs + columns - 1) / columns;
    return {{"codes", "F8_E4M3", {outputs, inputs}, {form.codes, outputs * inputs}},
            {"scales",
             "F32",
             {blocks == 0 ? 0 : form.scales.size() / blocks, blocks},
             std::as_bytes(form.scales)}};
  }

  std::vector<std::size_t> codes_shape(const StoredGroups& form) const {
    const auto count = static_cast<std::size_t>(form.codes_of_word());
    switch (form.packing) {
      case StoredGroups::Packing::awq:
        return {inputs, outputs / count};
      case StoredGroups::Packing::rows:
        return {outputs, inputs / count};
      default:
        return {inputs / count, outputs};
    }
  }
};

}  // namespace

std::vector<StoredArray> arrays_of(const StoredLinear& linear) {
  return std::visit(
      ArraysOf{static_cast<std::size_t>(linear.outputs), static_cast<std::size_t>(linear.inputs)},
      linear.form);
}

void stored_row(const StoredLinear& linear, int output, float* out) {
  FORGE_CHECK(output >= 0 && output < linear.outputs, "output=", output,
              " outputs=", linear.outputs);
  std::visit([&](const auto& form) { row_of(form, linear, output, out); }, linear.form);
}

}  // namespace forge::linear
