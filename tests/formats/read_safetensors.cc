#include "formats/read_safetensors.h"

#include <algorithm>
#include <cstdint>
#include <vector>

#include "forge/core/check.h"
#include "forge/formats/safetensors.h"
#include "formats/safetensors_bytes.h"
#include "formats/touch.h"

namespace forge::formats::testing {
namespace {

void check_error(const FileError& error, std::span<const std::byte> file) {
  FORGE_CHECK(error.file == "fuzz" && !error.message.empty());
  FORGE_CHECK(error.offset.value_or(0) <= file.size(), *error.offset, " of ", file.size());
  // Whatever the file says, its error is one line of printable text that is not endless.
  const std::string text = to_string(error);
  FORGE_CHECK(text.size() < 2000, text.size());
  FORGE_CHECK(std::all_of(text.begin(), text.end(), [](char c) { return c >= ' ' && c <= '~'; }));
}

/// The tensors cover the file from some place on, each byte once.
void check_coverage(std::span<const std::byte> file, const std::vector<Tensor>& tensors) {
  std::vector<const Tensor*> by_offset;
  for (const Tensor& tensor : tensors) by_offset.push_back(&tensor);
  std::sort(by_offset.begin(), by_offset.end(), [](const Tensor* a, const Tensor* b) {
    return std::pair(a->offset, a->bytes.size()) < std::pair(b->offset, b->bytes.size());
  });
  for (std::size_t i = 0; i < by_offset.size(); ++i) {
    const Tensor& tensor = *by_offset[i];
    const std::uint64_t end = tensor.offset + tensor.bytes.size();
    const std::uint64_t next = i + 1 < by_offset.size() ? by_offset[i + 1]->offset : file.size();
    FORGE_CHECK(end == next, end, " is not ", next);
  }
}

}  // namespace

bool read_safetensors(std::span<const std::byte> file) {
  std::map<std::string, std::string> metadata;
  const auto tensors = parse_safetensors(file, "fuzz", metadata);
  if (!tensors) {
    check_error(tensors.error(), file);
    return false;
  }
  for (std::size_t i = 0; i < tensors->size(); ++i) {
    const Tensor& tensor = (*tensors)[i];
    FORGE_CHECK(i == 0 || (*tensors)[i - 1].name < tensor.name);
    FORGE_CHECK(tensor.shape.size() <= SafeTensors::kRankMax);
    FORGE_CHECK(tensor.bytes.size() == bytes_of(tensor.type, tensor.shape));
    FORGE_CHECK(tensor.bytes.data() == file.data() + tensor.offset);
    touch(tensor.bytes);
  }
  check_coverage(file, *tensors);
  return true;
}

bool read_safetensors_index(std::span<const std::byte> file) {
  const auto index = parse_safetensors_index(file, "fuzz");
  if (!index) {
    check_error(index.error(), file);
    return false;
  }
  for (const auto& [name, target] : *index) {
    FORGE_CHECK(!target.empty() && target != "." && target != ".." &&
                std::none_of(target.begin(), target.end(),
                             [](char c) { return c == '/' || (c >= 0 && c < ' '); }));
  }
  return true;
}

int read_in_every_way(std::span<const std::byte> bytes) {
  const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  const std::size_t header_bytes = text.rfind('}') + 1;  // 0 where there is none
  const std::string fitted =
      safetensors_bytes(text.substr(0, header_bytes), text.substr(header_bytes));
  return int{read_safetensors(bytes)} + int{read_safetensors_index(bytes)} +
         int{read_safetensors(span_of(fitted))};
}

}  // namespace forge::formats::testing
