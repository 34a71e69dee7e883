#include <bit>
#include <cstring>
#include <type_traits>

#include "forge/formats/gguf.h"
#include "forge/formats/tensor_writer.h"
#include "ggml_types.h"
#include "tensor_specs.h"

namespace forge::formats {
namespace {

constexpr std::uint32_t kVersion = 3;
constexpr std::uint32_t kAlignment = 32;
constexpr const char* kAlignmentKey = "general.alignment";

std::uint64_t aligned(std::uint64_t size) {
  return (size + kAlignment - 1) / kAlignment * kAlignment;
}

/// Appends numbers as they lie in memory, and texts after their length.
class Bytes {
 public:
  std::string take() && { return std::move(out_); }

  template <class T>
  requires std::is_arithmetic_v<T>
  void add(T number) {
    static_assert(std::endian::native == std::endian::little);
    out_.append(reinterpret_cast<const char*>(&number), sizeof number);
  }
  void add(GgufType type) { add(static_cast<std::uint32_t>(type)); }
  void add(std::string_view text) {
    add(std::uint64_t{text.size()});
    out_ += text;
  }
  void add(const GgufNumbers& numbers) {
    add(std::uint64_t{numbers.size()});
    out_.append(reinterpret_cast<const char*>(numbers.bytes().data()), numbers.bytes().size());
  }
  void add(const GgufTexts& texts) {
    add(std::uint64_t{texts.size()});
    for (const std::string_view text : texts) add(text);
  }
  void add(const GgufArray& array) {
    add(element_type(array));
    std::visit([&](const auto& elements) { add(elements); }, array);
  }
  void pad() { out_.resize(aligned(out_.size()), '\0'); }

 private:
  std::string out_;
};

std::optional<std::string> gguf_rule(const TensorSpec& tensor) {
  const std::size_t name_bytes = tensor.name.size();
  if (name_bytes < 1 || name_bytes > TensorWriter::kGgufNameBytesMax) {
    return "the name has " + std::to_string(name_bytes) + " bytes; accepted are 1 .. " +
           std::to_string(TensorWriter::kGgufNameBytesMax);
  }
  if (!detail::ggml_number(tensor.type)) {
    return "GGUF has no type " + std::string(name_of(tensor.type)) + "; accepted are " +
           detail::readable_ggml_types();
  }
  if (tensor.shape.size() > Gguf::kRankMax) {
    return "has " + std::to_string(tensor.shape.size()) + " dimensions; accepted are 0 .. " +
           std::to_string(Gguf::kRankMax);
  }
  for (const std::uint64_t dimension : tensor.shape) {
    if (dimension == 0) {
      return to_string(tensor.type, tensor.shape) +
             " has a dimension of 0; accepted are 1 and more";
    }
  }
  const std::uint64_t row = tensor.shape.empty() ? 1 : tensor.shape.back();
  const auto weights = weight_type(tensor.type);
  const std::size_t block = weights ? quant::block_elements(*weights) : 1;
  if (row % block != 0) {
    return to_string(tensor.type, tensor.shape) + " has rows of " + std::to_string(row) +
           " numbers; accepted are multiples of " + std::to_string(block);
  }
  return std::nullopt;
}

/// The first key that the format does not hold, or none.
std::optional<std::string> objection_to(const GgufMetadata& metadata) {
  for (const auto& [key, value] : metadata) {
    if (key.empty() || key.size() > Gguf::kNameBytesMax) {
      return "a key has " + std::to_string(key.size()) + " bytes; accepted are 1 .. " +
             std::to_string(Gguf::kNameBytesMax);
    }
    const auto* const u32 = std::get_if<std::uint32_t>(&value);
    if (key == kAlignmentKey && (u32 == nullptr || *u32 != kAlignment)) {
      return key + " is " + to_string(value) + "; accepted is u32 " + std::to_string(kAlignment);
    }
  }
  return std::nullopt;
}

std::string header_of(std::span<const TensorSpec> tensors, const GgufMetadata& metadata) {
  Bytes out;
  for (const char c : {'G', 'G', 'U', 'F'}) out.add(c);
  out.add(kVersion);
  out.add(std::uint64_t{tensors.size()});
  out.add(std::uint64_t{metadata.size()});
  for (const auto& [key, value] : metadata) {
    out.add(std::string_view(key));
    out.add(type_of(value));
    std::visit([&](const auto& v) { out.add(v); }, value);
  }
  std::uint64_t offset = 0;
  for (const TensorSpec& tensor : tensors) {
    out.add(std::string_view(tensor.name));
    out.add(static_cast<std::uint32_t>(tensor.shape.size()));
    for (std::size_t i = tensor.shape.size(); i > 0; --i) out.add(tensor.shape[i - 1]);
    out.add(*detail::ggml_number(tensor.type));
    out.add(offset);
    offset += aligned(*bytes_of(tensor.type, tensor.shape));
  }
  out.pad();
  return std::move(out).take();
}

}  // namespace

tl::expected<TensorWriter, FileError> TensorWriter::gguf(const std::string& path,
                                                         std::span<const TensorSpec> tensors,
                                                         const GgufMetadata& metadata) {
  if (auto objection = objection_to(metadata)) {
    return tl::unexpected(FileError{.file = path, .message = *std::move(objection)});
  }
  if (auto objection = detail::objection_to(tensors, path, gguf_rule)) {
    return tl::unexpected(*std::move(objection));
  }
  return create(path, tensors, header_of(tensors, metadata), kAlignment);
}

}  // namespace forge::formats
