#include "forge/formats/safetensors.h"

#include <algorithm>
#include <filesystem>
#include <numeric>
#include <set>
#include <utility>

#include "forge/core/check.h"
#include "forge/core/quoted.h"

namespace forge::formats {
namespace {

constexpr const char* kFileName = "model.safetensors";
constexpr const char* kIndexName = "model.safetensors.index.json";

/// Also a link to nothing: whoever opens it says what is wrong.
bool is_there(const std::filesystem::path& path) {
  std::error_code ignored;
  return std::filesystem::exists(std::filesystem::symlink_status(path, ignored));
}

std::string file_name_of(const std::string& path) {
  return std::filesystem::path(path).filename().string();
}

}  // namespace

tl::expected<SafeTensors, FileError> SafeTensors::open(const std::string& path) {
  SafeTensors checkpoint;
  if (auto added = checkpoint.add_file(path); !added) return tl::unexpected(added.error());
  return checkpoint;
}

tl::expected<SafeTensors, FileError> SafeTensors::open_directory(const std::string& directory) {
  const std::filesystem::path folder(directory);
  const std::string index_path = (folder / kIndexName).string();
  if (is_there(folder / kFileName)) return open((folder / kFileName).string());
  if (!is_there(index_path)) {
    return tl::unexpected(
        FileError{.file = directory,
                  .message = std::string("has neither ") + kFileName + " nor " + kIndexName});
  }
  const auto index_file = MappedFile::open(index_path);
  if (!index_file) return tl::unexpected(index_file.error());
  const auto index = parse_safetensors_index(index_file->bytes(), index_path);
  if (!index) return tl::unexpected(index.error());

  std::set<std::string> files;
  for (const auto& [name, file] : *index) files.insert(file);
  SafeTensors checkpoint;
  for (const std::string& file : files) {
    auto added = checkpoint.add_file((folder / file).string());
    if (!added) return tl::unexpected(added.error());
  }
  if (auto sorted = checkpoint.sort_by_name(); !sorted) return tl::unexpected(sorted.error());
  for (const auto& [name, file] : *index) {
    const Tensor* const tensor = checkpoint.find(name);
    if (tensor == nullptr || file_name_of(checkpoint.file_of(*tensor).path()) != file) {
      return tl::unexpected(
          FileError{.file = index_path,
                    .message = "is not in " + in_quotes(file) + ", where the index has it",
                    .tensor = name});
    }
  }
  return checkpoint;
}

tl::expected<void, FileError> SafeTensors::add_file(const std::string& path) {
  auto file = MappedFile::open(path);
  if (!file) return tl::unexpected(std::move(file.error()));
  std::map<std::string, std::string> metadata;
  auto tensors = parse_safetensors(file->bytes(), path, metadata);
  if (!tensors) return tl::unexpected(std::move(tensors.error()));
  if (metadata_.empty()) metadata_ = std::move(metadata);
  const auto file_index = static_cast<std::uint32_t>(files_.size());
  std::move(tensors->begin(), tensors->end(), std::back_inserter(tensors_));
  file_indices_.resize(tensors_.size(), file_index);
  files_.push_back(*std::move(file));
  return {};
}

tl::expected<void, FileError> SafeTensors::sort_by_name() {
  std::vector<std::uint32_t> order(tensors_.size());
  std::iota(order.begin(), order.end(), 0U);
  const auto name = [&](std::uint32_t i) -> const std::string& { return tensors_[i].name; };
  // Stable, so that of two tensors of one name the error names the later file.
  std::stable_sort(order.begin(), order.end(),
                   [&](std::uint32_t a, std::uint32_t b) { return name(a) < name(b); });
  for (std::size_t i = 1; i < order.size(); ++i) {
    if (name(order[i - 1]) != name(order[i])) continue;
    const auto file = [&](std::size_t at) { return files_[file_indices_[order[at]]].path(); };
    return tl::unexpected(FileError{.file = file(i),
                                    .message = "is also in " + in_quotes(file_name_of(file(i - 1))),
                                    .tensor = name(order[i])});
  }
  std::vector<Tensor> tensors;
  std::vector<std::uint32_t> file_indices;
  for (const std::uint32_t i : order) {
    tensors.push_back(std::move(tensors_[i]));
    file_indices.push_back(file_indices_[i]);
  }
  tensors_ = std::move(tensors);
  file_indices_ = std::move(file_indices);
  return {};
}

const Tensor* SafeTensors::find(std::string_view name) const {
  const auto found = std::lower_bound(
      tensors_.begin(), tensors_.end(), name,
      [](const Tensor& tensor, std::string_view key) { return tensor.name < key; });
  return found != tensors_.end() && found->name == name ? &*found : nullptr;
}

const MappedFile& SafeTensors::file_of(const Tensor& tensor) const {
  const Tensor* const own = find(tensor.name);
  FORGE_CHECK(own == &tensor, "tensor '", tensor.name, "' is of another checkpoint");
  return files_[file_indices_[static_cast<std::size_t>(own - tensors_.data())]];
}

}  // namespace forge::formats
