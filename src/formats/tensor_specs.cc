#include "tensor_specs.h"

#include <limits>
#include <set>
#include <string_view>

namespace forge::formats::detail {

std::optional<FileError> objection_to(std::span<const TensorSpec> tensors, const std::string& path,
                                      const SpecRule& rule) {
  constexpr std::uint64_t kBytesMax = std::numeric_limits<std::int64_t>::max();  // of a file
  std::set<std::string_view> names;
  std::uint64_t total = 0;
  for (const TensorSpec& tensor : tensors) {
    auto objection = rule(tensor);
    if (!objection && !names.insert(tensor.name).second) objection = "the name is there twice";
    if (!objection) {
      const auto bytes = bytes_of(tensor.type, tensor.shape);
      if (!bytes || *bytes > kBytesMax - total) {
        objection = to_string(tensor.type, tensor.shape) + " takes the file beyond " +
                    std::to_string(kBytesMax) + " bytes";
      } else {
        total += *bytes;
      }
    }
    if (objection) return FileError{path, *std::move(objection), tensor.name, std::nullopt};
  }
  return std::nullopt;
}

}  // namespace forge::formats::detail
