// Experts as gpt-oss has them in SafeTensors: all of a layer in one tensor, gate and up in turn.
//
//   plain   NAME          [E][K][N]         a column for each output
//   MXFP4   NAME_blocks   [E][N][K/32][16]  u8: codes 2j and 2j + 1 of a block in byte j, low first
//           NAME_scales   [E][N][K/32]      u8: E8M0
//
// Products read rows, and those of one matrix: each is copied once, in the form that GGUF has.
// Legend: E experts, N outputs of all matrices of the tensor together, K inputs.
#include <algorithm>
#include <cmath>
#include <cstring>

#include "forge/quant/block_formats.h"
#include "forge/quant/dequantize.h"
#include "forge/quant/scale_fault.h"
#include "tensor_source.h"

namespace forge::checkpoint::detail {
namespace {

using formats::ElementType;
using formats::Tensor;
using linear::StoredLinear;
using quant::BlockMXFP4;
using quant::WeightType;

constexpr std::size_t kBlock = BlockMXFP4::kElements;
constexpr std::size_t kCodeBytes = kBlock / 2;

/// A matrix of a stack: where output n lies among the outputs of the tensor.
struct Place {
  std::size_t expert;
  std::size_t outputs;  ///< of the matrix
  std::size_t first;
  std::size_t step;

  std::size_t all_outputs() const { return outputs * step; }
  std::size_t of(std::size_t output) const { return output * step + first; }
};

Place place_of(const TensorName& name, int outputs) {
  const auto expert = static_cast<std::size_t>(name.place ? name.place->index : 0);
  const StepPlace steps = name.steps.value_or(StepPlace{});
  return {expert, static_cast<std::size_t>(outputs), static_cast<std::size_t>(steps.first),
          static_cast<std::size_t>(steps.step)};
}

/// out [N][K] = the columns of in [K][all outputs], of numbers of type Word. Some rows at a time:
/// whole columns would be read far apart.
template <class Word>
void copy_columns(const std::byte* in, const Place& place, std::size_t inputs, std::byte* out) {
  constexpr std::size_t kAtOnce = 64;
  for (std::size_t first = 0; first < inputs; first += kAtOnce) {
    const std::size_t end = std::min(inputs, first + kAtOnce);
    for (std::size_t n = 0; n < place.outputs; ++n) {
      for (std::size_t k = first; k < end; ++k) {
        std::memcpy(out + (n * inputs + k) * sizeof(Word),
                    in + (k * place.all_outputs() + place.of(n)) * sizeof(Word), sizeof(Word));
      }
    }
  }
}

/// Codes in the order of ggml: j and j + 16 in byte j.
BlockMXFP4 block_of(std::byte scale, const std::byte* codes) {
  const auto code = [&](std::size_t index) {
    const auto both = std::to_integer<std::uint8_t>(codes[index / 2]);
    return index % 2 == 0 ? both & 15 : both >> 4;
  };
  BlockMXFP4 block{};
  block.e.bits = std::to_integer<std::uint8_t>(scale);
  for (std::size_t j = 0; j < kCodeBytes; ++j) {
    block.codes[j] = static_cast<std::uint8_t>(code(j) | code(j + kCodeBytes) << 4);
  }
  return block;
}

}  // namespace

StoredLinear TensorSource::stacked_columns(const TensorName& name, int outputs, int inputs) {
  if (file_.find(name.name + "_blocks") != nullptr) return mxfp4(name, outputs, inputs);
  const Place place = place_of(name, outputs);
  const auto width = static_cast<std::size_t>(inputs);
  const std::vector<std::uint64_t> shape{static_cast<std::uint64_t>(name.place->count), width,
                                         place.all_outputs()};
  const Tensor* const tensor = file_.find(name.name);
  const auto type = tensor != nullptr ? formats::weight_type(tensor->type) : std::nullopt;
  const bool is_float =
      type == WeightType::f32 || type == WeightType::f16 || type == WeightType::bf16;
  if (!is_float || tensor->shape != shape) {
    fail(name.name, tensor,
         "F32, F16 or BF16 " + text_of(shape) + ", or " + name.name + "_blocks of MXFP4");
    return {};
  }
  used_.insert(tensor);
  const std::size_t matrix_bytes = tensor->bytes.size() / shape.front();
  const std::span<const std::byte> matrix =
      tensor->bytes.subspan(place.expert * matrix_bytes, matrix_bytes);
  std::vector<std::byte>& rows = copies_.emplace_back(matrix_bytes / place.step);
  if (type == WeightType::f32) {
    copy_columns<std::uint32_t>(matrix.data(), place, width, rows.data());
  } else {
    copy_columns<std::uint16_t>(matrix.data(), place, width, rows.data());
  }
  check_columns(*tensor, name, {outputs, inputs, linear::StoredRows{*type, rows.data()}});
  file_.file_of(*tensor).done_with(matrix);
  return {outputs, inputs, linear::StoredRows{*type, rows.data()}};
}

/// A copy is no place in a file, so what is not finite is found while the place is known.
void TensorSource::check_columns(const Tensor& tensor, const TensorName& name,
                                 const StoredLinear& copy) {
  const Place place = place_of(name, copy.outputs);
  std::vector<float> row(static_cast<std::size_t>(copy.inputs));
  for (std::size_t n = 0; n < place.outputs && !failed(); ++n) {
    stored_row(copy, static_cast<int>(n), row.data());
    const auto bad = std::ranges::find_if(row, [](float value) { return !std::isfinite(value); });
    if (bad == row.end()) continue;
    fault_ = {.file = file_.file_of(tensor).path(),
              .message = not_finite(*bad, std::to_string(place.expert) + ", " +
                                              std::to_string(bad - row.begin()) + ", " +
                                              std::to_string(place.of(n))),
              .tensor = tensor.name,
              .offset = std::nullopt};
  }
}

StoredLinear TensorSource::mxfp4(const TensorName& name, int outputs, int inputs) {
  const Place place = place_of(name, outputs);
  const auto width = static_cast<std::size_t>(inputs);
  const auto experts = static_cast<std::uint64_t>(name.place->count);
  const std::string blocks_name = name.name + "_blocks";
  if (width % kBlock != 0) {
    fail(blocks_name, file_.find(blocks_name),
         "numbers that are not quantized, as " + std::to_string(inputs) +
             " inputs are no multiple of 32");
    return {};
  }
  const std::size_t blocks = width / kBlock;  // of a row
  const std::uint64_t shape[] = {experts, place.all_outputs(), blocks, kCodeBytes};
  const Tensor* const codes = quantized(blocks_name, ElementType::u8, shape);
  const Tensor* const scales =
      quantized(name.name + "_scales", ElementType::u8, std::span(shape).first(3));
  if (failed()) return {};
  std::vector<std::byte>& rows = copies_.emplace_back(place.outputs * blocks * sizeof(BlockMXFP4));
  for (std::size_t n = 0; n < place.outputs; ++n) {
    const std::size_t row = place.expert * place.all_outputs() + place.of(n);
    for (std::size_t b = 0; b < blocks; ++b) {
      const std::size_t from = row * blocks + b;
      const BlockMXFP4 block = block_of(scales->bytes[from], &codes->bytes[from * kCodeBytes]);
      std::byte* const to = rows.data() + (n * blocks + b) * sizeof block;
      std::memcpy(to, &block, sizeof block);
      if (failed() || !quant::scale_fault(WeightType::mxfp4, to)) continue;
      fault_ = {.file = file_.file_of(*scales).path(),
                .message = "has " + std::to_string(block.e.bits) + " at [" +
                           std::to_string(place.expert) + ", " + std::to_string(place.of(n)) +
                           ", " + std::to_string(b) + "]; accepted are exponents 0 .. 252",
                .tensor = scales->name,
                .offset = std::nullopt};
    }
  }
  return {outputs, inputs, linear::StoredRows{WeightType::mxfp4, rows.data()}};
}

}  // namespace forge::checkpoint::detail
