#include <nlohmann/json.hpp>

#include "forge/core/quoted.h"
#include "forge/formats/safetensors.h"
#include "forge/formats/tensor_writer.h"
#include "safetensors_dtypes.h"
#include "tensor_specs.h"

namespace forge::formats {
namespace {

/// Of the start of the data in the file: a cache line.
constexpr std::size_t kDataAlignment = 64;
constexpr std::size_t kHeaderLengthBytes = 8;

/// As JSON has it; none if it is not UTF-8.
std::optional<std::string> quoted(const std::string& text) {
  try {
    return nlohmann::json(text).dump();
  } catch (const nlohmann::json::type_error&) {
    return std::nullopt;
  }
}

std::optional<std::string> safetensors_rule(const TensorSpec& tensor) {
  if (tensor.name == "__metadata__") return "the name is kept for the metadata";
  if (!quoted(tensor.name)) return "the name is not UTF-8";
  if (!detail::dtype_of(tensor.type)) {
    return "SafeTensors has no type " + std::string(name_of(tensor.type)) + "; " +
           detail::accepted_dtypes();
  }
  if (tensor.shape.size() > SafeTensors::kRankMax) {
    return "has " + std::to_string(tensor.shape.size()) + " dimensions; accepted are 0 .. " +
           std::to_string(SafeTensors::kRankMax);
  }
  return std::nullopt;
}

void append_tensor(std::string& out, const TensorSpec& tensor, std::uint64_t begin) {
  const nlohmann::json shape = tensor.shape;
  const std::uint64_t end = begin + *bytes_of(tensor.type, tensor.shape);
  out += *quoted(tensor.name) + ":{\"dtype\":\"" + std::string(*detail::dtype_of(tensor.type)) +
         "\",\"shape\":" + shape.dump() + ",\"data_offsets\":[" + std::to_string(begin) + "," +
         std::to_string(end) + "]}";
}

/// Length and JSON. Errors: a metadata text is not UTF-8.
tl::expected<std::string, std::string> header_of(
    std::span<const TensorSpec> tensors, const std::map<std::string, std::string>& metadata) {
  std::string out(kHeaderLengthBytes, '\0');
  out += '{';
  const char* separator = "";
  if (!metadata.empty()) {
    out += "\"__metadata__\":{";
    for (const auto& [key, value] : metadata) {
      const auto quoted_key = quoted(key);
      const auto quoted_value = quoted(value);
      if (!quoted_key || !quoted_value) {
        return tl::unexpected("__metadata__ " + in_quotes(key) + " is not UTF-8");
      }
      out += separator + *quoted_key + ":" + *quoted_value;
      separator = ",";
    }
    out += '}';
    separator = ",";
  }
  std::uint64_t begin = 0;
  for (const TensorSpec& tensor : tensors) {
    out += separator;
    separator = ",";
    append_tensor(out, tensor, begin);
    begin += *bytes_of(tensor.type, tensor.shape);
  }
  out += '}';
  out.resize((out.size() + kDataAlignment - 1) / kDataAlignment * kDataAlignment, ' ');
  std::uint64_t length = out.size() - kHeaderLengthBytes;
  if (length > SafeTensors::kHeaderBytesMax) {
    return tl::unexpected("the header would have " + std::to_string(length) +
                          " bytes; accepted are up to " +
                          std::to_string(SafeTensors::kHeaderBytesMax));
  }
  for (std::size_t i = 0; i < kHeaderLengthBytes; ++i, length >>= 8) {
    out[i] = static_cast<char>(length & 0xff);
  }
  return out;
}

}  // namespace

tl::expected<TensorWriter, FileError> TensorWriter::safetensors(
    const std::string& path, std::span<const TensorSpec> tensors,
    const std::map<std::string, std::string>& metadata) {
  if (auto objection = detail::objection_to(tensors, path, safetensors_rule)) {
    return tl::unexpected(*std::move(objection));
  }
  const auto header = header_of(tensors, metadata);
  if (!header) return tl::unexpected(FileError{.file = path, .message = header.error()});
  constexpr std::size_t kNoGaps = 1;
  return create(path, tensors, *header, kNoGaps);
}

}  // namespace forge::formats
