#include "forge/checkpoint/tensor_file.h"

#include <filesystem>
#include <utility>

namespace forge::checkpoint {
namespace {

using formats::FileError;
namespace fs = std::filesystem;

bool is_directory(const std::string& path) {
  std::error_code ignored;  // what cannot be looked at cannot be opened either
  return fs::is_directory(path, ignored);
}

}  // namespace

tl::expected<TensorFile, FileError> TensorFile::open(const std::string& path) {
  const auto of = [](auto file) -> tl::expected<TensorFile, FileError> {
    if (!file) return tl::unexpected(std::move(file.error()));
    return TensorFile(*std::move(file));
  };
  if (is_directory(path)) return of(formats::SafeTensors::open_directory(path));
  const fs::path extension = fs::path(path).extension();
  if (extension == ".gguf") return of(formats::Gguf::open(path));
  if (extension == ".safetensors") return of(formats::SafeTensors::open(path));
  return tl::unexpected(
      FileError{.file = path,
                .message = "is neither a directory nor a file named .safetensors or .gguf",
                .tensor = {},
                .offset = std::nullopt});
}

std::span<const formats::Tensor> TensorFile::tensors() const {
  return std::visit([](const auto& file) { return file.tensors(); }, file_);
}

const formats::Tensor* TensorFile::find(std::string_view name) const {
  return std::visit([&](const auto& file) { return file.find(name); }, file_);
}

const formats::MappedFile& TensorFile::file_of(const formats::Tensor& tensor) const {
  return gguf() != nullptr ? gguf()->file() : safetensors()->file_of(tensor);
}

const formats::MappedFile& TensorFile::first_file() const {
  return gguf() != nullptr ? gguf()->file() : safetensors()->files().front();
}

std::string directory_of(const std::string& path) {
  return is_directory(path) ? path : fs::path(path).parent_path().string();
}

}  // namespace forge::checkpoint
