#include "forge/checkpoint/checkpoint.h"

#include <algorithm>
#include <cstring>
#include <functional>
#include <iterator>
#include <utility>

#include "forge/checkpoint/gguf_config.h"
#include "forge/checkpoint/hf_config.h"
#include "forge/core/check.h"
#include "notes.h"
#include "read_model.h"

namespace forge::checkpoint {
namespace {

using formats::FileError;

/// What the file says of its model.
tl::expected<HfConfig, FileError> config_of(const TensorFile& file, const std::string& path) {
  if (file.gguf() == nullptr) return read_hf_config(directory_of(path));
  auto config = read_gguf_config(*file.gguf());
  if (!config) return tl::unexpected(std::move(config.error()));
  return HfConfig{.model = *std::move(config), .quantization = {}};
}

}  // namespace

tl::expected<Checkpoint, FileError> Checkpoint::open(const std::string& path) {
  auto file = TensorFile::open(path);
  if (!file) return tl::unexpected(std::move(file.error()));
  auto config = config_of(*file, path);
  if (!config) return tl::unexpected(std::move(config.error()));
  Checkpoint checkpoint(*std::move(file));
  if (auto done = checkpoint.read(*std::move(config)); !done) return tl::unexpected(done.error());
  return checkpoint;
}

tl::expected<void, FileError> Checkpoint::read(HfConfig config) {
  for (const formats::Tensor& tensor : file_.tensors()) {
    by_address_.emplace(tensor.bytes.data(), &tensor);
  }
  detail::TensorSource source(file_, config);
  auto model = detail::read_model(config.model, source);
  if (!model) return tl::unexpected(std::move(model.error()));
  model_ = *std::move(model);
  unused_ = source.unused();
  scales_ = source.take_scales();
  orders_ = source.take_orders();
  for (std::vector<std::byte>& copy : source.take_copies()) {
    const std::byte* const first = copy.data();
    copies_.emplace(first, std::move(copy));
  }
  config_ = std::move(config.model);
  notes_ = std::move(config.notes);
  for (std::string& note : detail::notes_of(file_, config_, unused_)) {
    notes_.push_back(std::move(note));
  }
  return {};
}

void Checkpoint::will_read(const linear::StoredLinear& linear) const {
  advise(linear, &formats::MappedFile::will_read);
}

void Checkpoint::done_with(const linear::StoredLinear& linear) const {
  advise(linear, &formats::MappedFile::done_with);
}

void Checkpoint::advise(const linear::StoredLinear& linear, Advice advice) const {
  for (const linear::StoredArray& array : arrays_of(linear)) {
    const formats::Tensor* const tensor = tensor_at(array.bytes.data());
    if (tensor != nullptr) (file_.file_of(*tensor).*advice)(array.bytes);  // null: it is a copy
  }
}

FileError Checkpoint::error_of(const model::PackFault& fault) const {
  if (const auto* read = std::get_if<linear::ReadFault>(&fault)) return error_of_read(*read);
  return error_of_number(std::get<model::WeightFault>(fault));
}

FileError Checkpoint::error_of_read(const linear::ReadFault& fault) const {
  FORGE_CHECK(tensor_at(fault.at) != nullptr, "a matrix of another checkpoint");
  const formats::Tensor& tensor = *tensor_at(fault.at);
  const auto before = static_cast<std::uint64_t>(fault.at - tensor.bytes.data());
  FileError error = file_.file_of(tensor).error_of({tensor.offset + before, fault.code});
  error.tensor = tensor.name;
  return error;
}

FileError Checkpoint::error_of_number(const model::WeightFault& fault) const {
  FORGE_CHECK(tensor_at(fault.numbers) != nullptr, "a matrix of another checkpoint");
  const formats::Tensor& tensor = *tensor_at(fault.numbers);
  std::string place;
  if (tensor.shape.size() == 3) {  // a stack
    const std::size_t matrix_bytes = tensor.bytes.size() / tensor.shape.front();
    const auto before = static_cast<std::size_t>(fault.numbers - tensor.bytes.data());
    place = std::to_string(before / matrix_bytes) + ", ";
  }
  // Of a tensor of several matrices, the row counts from its start.
  const std::size_t row_bytes =
      tensor.bytes.size() / std::max<std::size_t>(1, tensor.shape.front());
  const auto first = static_cast<std::size_t>(fault.numbers - tensor.bytes.data()) / row_bytes;
  const std::size_t row = fault.row + (tensor.shape.size() == 2 ? first : 0);
  place += std::to_string(row) + ", " + std::to_string(fault.column);
  return {.file = file_.file_of(tensor).path(),
          .message = detail::not_finite(fault.value, place, fault.is_scale),
          .tensor = tensor.name,
          .offset = std::nullopt};
}

/// The tensor in which a byte lies; null: it is none of the files'.
const formats::Tensor* Checkpoint::tensor_at(const std::byte* byte) const {
  const auto after = by_address_.upper_bound(byte);
  if (after == by_address_.begin()) return nullptr;
  const formats::Tensor* const tensor = std::prev(after)->second;
  const std::byte* const end = tensor->bytes.data() + tensor->bytes.size();
  return std::less<>()(byte, end) ? tensor : nullptr;
}

bool CheckpointReader::is_in_memory(const std::byte* from) const {
  return checkpoint_.tensor_at(from) == nullptr;
}

tl::expected<void, linear::ReadFault> CheckpointReader::read(const std::byte* from,
                                                             std::span<std::byte> to) const {
  const formats::Tensor* const tensor = checkpoint_.tensor_at(from);
  if (tensor == nullptr) {
    std::memcpy(to.data(), from, to.size());
    return {};
  }
  const auto read = checkpoint_.file_.file_of(*tensor).read({from, to.size()}, to);
  if (read) return {};
  const std::uint64_t first =
      tensor->offset + static_cast<std::uint64_t>(from - tensor->bytes.data());
  return tl::unexpected(linear::ReadFault{from + (read.error().offset - first), read.error().code});
}

void CheckpointReader::will_read(const linear::StoredLinear& matrix) {
  checkpoint_.will_read(matrix);
}

void CheckpointReader::done_with(const linear::StoredLinear& matrix) {
  checkpoint_.done_with(matrix);
  if (forgets_ != nullptr) forgets_->forget(matrix);
}

}  // namespace forge::checkpoint
