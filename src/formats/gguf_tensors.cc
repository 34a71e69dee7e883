#include <algorithm>
#include <bit>
#include <limits>
#include <numeric>

#include "forge/core/quoted.h"
#include "ggml_types.h"
#include "gguf_parts.h"

namespace forge::formats::detail {
namespace {

constexpr std::uint64_t kAlignmentDefault = 32;

std::uint64_t alignment_of(ByteReader& in, const GgufMetadata& metadata) {
  const auto found = metadata.find("general.alignment");
  if (found == metadata.end()) return kAlignmentDefault;
  const auto* const narrow = std::get_if<std::uint32_t>(&found->second);
  const auto* const wide = std::get_if<std::uint64_t>(&found->second);
  const std::uint64_t alignment = narrow != nullptr ? *narrow : wide != nullptr ? *wide : 0;
  if (!std::has_single_bit(alignment) || alignment < Gguf::kAlignmentMin ||
      alignment > Gguf::kAlignmentMax) {
    in.fail(std::nullopt, "general.alignment is " + to_string(found->second) +
                              "; accepted are powers of two in " +
                              std::to_string(Gguf::kAlignmentMin) + " .. " +
                              std::to_string(Gguf::kAlignmentMax) + ", as u32 or u64");
    return kAlignmentDefault;
  }
  return alignment;
}

void read_shape(ByteReader& in, Tensor& tensor) {
  const std::uint64_t rank_at = in.position();
  const auto rank = in.number<std::uint32_t>();
  if (rank > Gguf::kRankMax) {
    return in.fail(rank_at,
                   "has " + std::to_string(rank) + " dimensions; accepted are 0 .. " +
                       std::to_string(Gguf::kRankMax),
                   tensor.name);
  }
  tensor.shape.resize(rank);
  std::uint64_t elements = 1;
  for (std::uint32_t i = 0; i < rank && in.ok(); ++i) {
    const std::uint64_t at = in.position();
    const auto dimension = in.number<std::uint64_t>();
    const std::uint64_t dimension_max = std::numeric_limits<std::int64_t>::max() / elements;
    if (in.ok() && (dimension == 0 || dimension > dimension_max)) {
      in.fail(at,
              "dimension " + std::to_string(i) + " is " + std::to_string(dimension) +
                  "; accepted are 1 .. " + std::to_string(dimension_max),
              tensor.name);
    }
    tensor.shape[rank - 1 - i] = dimension;
    elements *= dimension;
  }
}

std::string bytes_text(std::uint64_t begin, std::uint64_t count) {
  return std::to_string(count) + " bytes from " + std::to_string(begin);
}

void read_type(ByteReader& in, Tensor& tensor) {
  const std::uint64_t at = in.position();
  const auto number = in.number<std::uint32_t>();
  const auto type = element_type_of_ggml(number);
  if (!type) {
    return in.fail(at, "has type " + ggml_name(number) + "; readable are " + readable_ggml_types(),
                   tensor.name);
  }
  tensor.type = *type;
  const auto weight = weight_type(*type);
  const std::uint64_t block = weight ? quant::block_elements(*weight) : 1;
  const std::uint64_t row = tensor.shape.empty() ? 1 : tensor.shape.back();
  if (row % block != 0) {
    return in.fail(at,
                   "a row of " + std::to_string(row) + " numbers is not whole blocks of " +
                       std::string(name_of(*type)) + ", which are of " + std::to_string(block),
                   tensor.name);
  }
  if (!bytes_of(tensor.type, tensor.shape)) {
    in.fail(at, to_string(tensor) + " is more bytes than can be counted", tensor.name);
  }
}

/// Leaves bytes empty, and offset as the file has it: from the start of the data.
Tensor read_description(ByteReader& in, std::string_view name, std::uint64_t alignment) {
  Tensor tensor;
  tensor.name = name;
  read_shape(in, tensor);
  if (in.ok()) read_type(in, tensor);
  const std::uint64_t offset_at = in.position();
  tensor.offset = in.number<std::uint64_t>();
  if (tensor.offset % alignment != 0) {
    in.fail(offset_at,
            "data at offset " + std::to_string(tensor.offset) +
                ", which is no multiple of the alignment, " + std::to_string(alignment),
            tensor.name);
  }
  return tensor;
}

void read_descriptions(ByteReader& in, std::uint64_t count, std::uint64_t alignment,
                       GgufContents& contents) {
  contents.tensors.reserve(std::min(count, in.remaining() / kDescriptionBytesMin));
  for (std::uint32_t i = 0; i < count; ++i) {
    in.enter("tensor " + std::to_string(i) + " of " + std::to_string(count));
    const std::uint64_t at = in.position();
    const std::string_view name = read_name(in, "a tensor's name");
    if (!in.ok()) return;
    if (!contents.by_name.emplace(name, i).second) {
      return in.fail(at, "the name occurs twice", std::string(name));
    }
    contents.tensors.push_back(read_description(in, name, alignment));
    if (!in.ok()) return;
  }
}

/// Points every tensor at its data.
void place_tensors(ByteReader& in, std::uint64_t data_begin, std::span<const std::byte> file,
                   std::vector<Tensor>& tensors) {
  for (Tensor& tensor : tensors) {
    const std::uint64_t bytes = bytes_of(tensor.type, tensor.shape).value();
    const std::uint64_t data_size = file.size() < data_begin ? 0 : file.size() - data_begin;
    if (tensor.offset > data_size || bytes > data_size - tensor.offset) {
      return in.fail(std::nullopt,
                     to_string(tensor) + " needs " + bytes_text(tensor.offset, bytes) +
                         " of the data, which ends after " + std::to_string(data_size),
                     tensor.name);
    }
    tensor.offset += data_begin;
    tensor.bytes = file.subspan(tensor.offset, bytes);
  }
}

void check_overlap(ByteReader& in, const std::vector<Tensor>& tensors) {
  std::vector<std::uint32_t> order(tensors.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](std::uint32_t a, std::uint32_t b) {
    return tensors[a].offset < tensors[b].offset;
  });
  for (std::size_t i = 1; i < order.size(); ++i) {
    const Tensor& before = tensors[order[i - 1]];
    const Tensor& tensor = tensors[order[i]];
    if (tensor.offset - before.offset < before.bytes.size()) {
      return in.fail(tensor.offset,
                     "overlaps tensor " + in_quotes(before.name) + ", which has " +
                         bytes_text(before.offset, before.bytes.size()),
                     tensor.name);
    }
  }
}

}  // namespace

void read_tensors(ByteReader& in, std::uint64_t count, std::span<const std::byte> file,
                  GgufContents& contents) {
  const std::uint64_t alignment = alignment_of(in, contents.metadata);
  if (in.ok()) read_descriptions(in, count, alignment, contents);
  if (!in.ok()) return;
  const std::uint64_t data_begin = (in.position() + alignment - 1) / alignment * alignment;
  place_tensors(in, data_begin, file, contents.tensors);
  if (in.ok()) check_overlap(in, contents.tensors);
}

}  // namespace forge::formats::detail
