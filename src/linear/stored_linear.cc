#include "forge/linear/stored_linear.h"

#include <array>
#include <bit>
#include <cstring>

#include "forge/core/check.h"
#include "forge/quant/dequantize.h"
#include "forge/quant/half.h"

namespace forge::linear {
namespace {

constexpr int kCodesPerWord = 8;

/// Nibble of an AWQ word, from the lowest bits up, that holds output 8 i + index.
constexpr std::array kAwqNibble = {0, 4, 1, 5, 2, 6, 3, 7};

std::uint32_t word_at(const std::byte* words, std::ptrdiff_t index) {
  std::uint32_t word = 0;
  std::memcpy(&word, words + 4 * index, sizeof word);
  return word;
}

int nibble_of(std::uint32_t word, int nibble) { return static_cast<int>(word >> 4 * nibble & 15); }

float scale_at(const StoredGroups& groups, std::ptrdiff_t index) {
  quant::F16 scale;
  std::memcpy(&scale, groups.scales + 2 * index, sizeof scale);
  return to_float(scale);
}

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
  const std::ptrdiff_t outputs = linear.outputs;
  const std::ptrdiff_t words = outputs / kCodesPerWord;  // of a row of zeros, and of AWQ's codes
  const bool gptq = form.packing == StoredGroups::Packing::gptq;
  const int nibble =
      gptq ? output % kCodesPerWord : kAwqNibble[static_cast<std::size_t>(output % kCodesPerWord)];
  for (int k = 0; k < linear.inputs; ++k) {
    const std::ptrdiff_t g =
        form.order.empty() ? k / form.group_size : form.order[static_cast<std::size_t>(k)];
    const int code =
        gptq ? nibble_of(word_at(form.codes, k / kCodesPerWord * outputs + output),
                         k % kCodesPerWord)
             : nibble_of(word_at(form.codes, k * words + output / kCodesPerWord), nibble);
    const int stored = nibble_of(word_at(form.zeros, g * words + output / kCodesPerWord), nibble);
    const int zero = gptq ? (stored + 1) & 15 : stored;  // stored_linear.h says why 15 is 0
    out[k] = scale_at(form, g * outputs + output) * static_cast<float>(code - zero);
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
    const bool gptq = form.packing == StoredGroups::Packing::gptq;
    const std::vector<std::size_t> codes_shape =
        gptq ? std::vector{inputs / 8, outputs} : std::vector{inputs, outputs / 8};
    std::vector<StoredArray> arrays = {
        {"codes", "I32", codes_shape, {form.codes, inputs * outputs / 2}},
        {"zeros", "I32", {groups, outputs / 8}, {form.zeros, groups * outputs / 2}},
        {"scales", "F16", {groups, outputs}, {form.scales, groups * outputs * 2}}};
    if (!form.order.empty()) {
      arrays.push_back({"order", "I32", {inputs}, std::as_bytes(form.order)});
    }
    return arrays;
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
