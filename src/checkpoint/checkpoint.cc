#include "forge/checkpoint/checkpoint.h"

#include <filesystem>
#include <iterator>
#include <utility>

#include "forge/checkpoint/gguf_config.h"
#include "forge/checkpoint/hf_config.h"
#include "forge/core/check.h"
#include "read_model.h"

namespace forge::checkpoint {
namespace {

using formats::FileError;
using Bytes = std::span<const std::byte>;

/// The bytes of the file in which a matrix of each form lies.
struct BytesOf {
  std::size_t outputs;
  std::size_t inputs;

  std::vector<Bytes> operator()(const linear::StoredRows& form) const {
    return {Bytes(form.rows, outputs * *quant::bytes_of(form.type, inputs))};
  }
  std::vector<Bytes> operator()(const linear::StoredInt8& form) const {
    return {Bytes(form.codes, outputs * inputs)};
  }
  std::vector<Bytes> operator()(const linear::StoredGroups& form) const {
    const std::size_t groups = inputs / static_cast<std::size_t>(form.group_size);
    return {Bytes(form.codes, outputs * inputs / 2), Bytes(form.zeros, groups * outputs / 2),
            Bytes(form.scales, groups * outputs * 2)};
  }
};

FileError no_model(const std::string& path) {
  return {.file = path,
          .message = "is neither a directory nor a file named .safetensors or .gguf",
          .tensor = {},
          .offset = std::nullopt};
}

}  // namespace

Checkpoint::Checkpoint(File file) : file_(std::move(file)) {}

tl::expected<Checkpoint, FileError> Checkpoint::open(const std::string& path) {
  const std::filesystem::path place(path);
  std::error_code ignored;  // what cannot be looked at cannot be opened either
  if (std::filesystem::is_directory(place, ignored)) {
    return open_safetensors(formats::SafeTensors::open_directory(path), path);
  }
  if (place.extension() == ".gguf") return open_gguf(path);
  if (place.extension() != ".safetensors") return tl::unexpected(no_model(path));
  return open_safetensors(formats::SafeTensors::open(path), place.parent_path().string());
}

tl::expected<Checkpoint, FileError> Checkpoint::open_safetensors(
    tl::expected<formats::SafeTensors, FileError> file, const std::string& directory) {
  if (!file) return tl::unexpected(std::move(file.error()));
  const auto config = read_hf_config(directory);
  if (!config) return tl::unexpected(config.error());
  Checkpoint checkpoint(*std::move(file));
  checkpoint.config_ = config->model;
  return fill(std::move(checkpoint), *config);
}

tl::expected<Checkpoint, FileError> Checkpoint::open_gguf(const std::string& path) {
  auto file = formats::Gguf::open(path);
  if (!file) return tl::unexpected(std::move(file.error()));
  auto config = read_gguf_config(*file);
  if (!config) return tl::unexpected(std::move(config.error()));
  Checkpoint checkpoint(*std::move(file));
  checkpoint.config_ = *config;
  return fill(std::move(checkpoint), {.model = *std::move(config), .quantization = {}});
}

tl::expected<Checkpoint, FileError> Checkpoint::fill(Checkpoint checkpoint,
                                                     const HfConfig& config) {
  for (const formats::Tensor& tensor : checkpoint.tensors()) {
    checkpoint.by_address_.emplace(tensor.bytes.data(), &tensor);
  }
  detail::TensorSource source(std::get_if<formats::SafeTensors>(&checkpoint.file_),
                              checkpoint.gguf(), config);
  auto model = detail::read_model(config.model, source);
  if (!model) return tl::unexpected(std::move(model.error()));
  checkpoint.model_ = *std::move(model);
  checkpoint.unused_ = source.unused();
  checkpoint.scales_ = source.take_scales();
  checkpoint.orders_ = source.take_orders();
  return checkpoint;
}

void Checkpoint::will_read(const linear::StoredLinear& linear) const {
  advise(linear, &formats::MappedFile::will_read);
}

void Checkpoint::done_with(const linear::StoredLinear& linear) const {
  advise(linear, &formats::MappedFile::done_with);
}

void Checkpoint::advise(const linear::StoredLinear& linear, Advice advice) const {
  const BytesOf bytes_of{static_cast<std::size_t>(linear.outputs),
                         static_cast<std::size_t>(linear.inputs)};
  for (const Bytes bytes : std::visit(bytes_of, linear.form)) {
    (file_of(tensor_at(bytes.data())).*advice)(bytes);
  }
}

FileError Checkpoint::error_of(const model::WeightFault& fault) const {
  const formats::Tensor& tensor = tensor_at(fault.numbers);
  std::string place;
  if (tensor.shape.size() == 3) {  // a stack
    const std::size_t matrix_bytes = tensor.bytes.size() / tensor.shape.front();
    const auto before = static_cast<std::size_t>(fault.numbers - tensor.bytes.data());
    place = std::to_string(before / matrix_bytes) + ", ";
  }
  place += std::to_string(fault.row) + ", " + std::to_string(fault.column);
  return {.file = file_of(tensor).path(),
          .message = detail::not_finite(fault.value, place, fault.is_scale),
          .tensor = tensor.name,
          .offset = std::nullopt};
}

std::span<const formats::Tensor> Checkpoint::tensors() const {
  const formats::Gguf* const file = gguf();
  return file != nullptr ? file->tensors() : std::get<formats::SafeTensors>(file_).tensors();
}

/// The tensor in which a byte of a matrix lies.
const formats::Tensor& Checkpoint::tensor_at(const std::byte* byte) const {
  const auto after = by_address_.upper_bound(byte);
  FORGE_CHECK(after != by_address_.begin(), "a matrix of another checkpoint");
  return *std::prev(after)->second;
}

const formats::MappedFile& Checkpoint::file_of(const formats::Tensor& tensor) const {
  const formats::Gguf* const file = gguf();
  return file != nullptr ? file->file() : std::get<formats::SafeTensors>(file_).file_of(tensor);
}

}  // namespace forge::checkpoint
