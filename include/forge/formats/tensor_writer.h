// TensorWriter: writes a file of tensors, one after the other, without holding them in memory.
//
// Names, types and shapes come first, all at once, since both formats put them before the data;
// then the data of each tensor, in the same order and in pieces of any size.
//
// Example, given `const std::string& path`, `const std::vector<TensorSpec>& specs` and
// `const std::vector<std::span<const std::byte>>& pieces`:
//
//   auto writer = TensorWriter::safetensors(path, specs, {{"format", "pt"}});
//   if (!writer) return to_string(writer.error());
//   for (const auto bytes : pieces) {
//     if (auto written = writer->write(bytes); !written) return to_string(written.error());
//   }
//   if (auto finished = writer->finish(); !finished) return to_string(finished.error());
//
// The file appears under its name only when it is whole and on the disk: until finish() it is
// NAME.part, and a writer that is destroyed before that removes it. One writer a name at a time.
//
// SafeTensors: data starts at a multiple of 64 bytes, the header being padded with spaces; tensors
// follow each other without a gap, as the format demands, so a tensor is aligned only if those
// before it are multiples of its element. GGUF: every tensor starts at a multiple of 32 bytes.
//
// Owns the open file. Thread contract: one thread at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <tl/expected.hpp>
#include <vector>

#include "forge/formats/file_error.h"
#include "forge/formats/gguf_value.h"
#include "forge/formats/tensor.h"

namespace forge::formats {

struct TensorSpec {
  std::string name;
  ElementType type = ElementType::f32;
  std::vector<std::uint64_t> shape;  ///< slowest first
};

class TensorWriter {
 public:
  /// Begins a SafeTensors file. Errors: it cannot be created; a name occurs twice, is
  /// "__metadata__" or not UTF-8; a type that the format does not have (it has plain types and
  /// integers); sizes that cannot be counted.
  static tl::expected<TensorWriter, FileError> safetensors(
      const std::string& path, std::span<const TensorSpec> tensors,
      const std::map<std::string, std::string>& metadata);

  /// Begins a GGUF file, version 3, whose metadata have the types of their values. Errors: likewise
  /// (it has all types but U8; names have 1 to kGgufNameBytesMax bytes); rows that are not whole
  /// blocks; dimensions of 0, or more than 4; a general.alignment other than u32 32.
  static tl::expected<TensorWriter, FileError> gguf(const std::string& path,
                                                    std::span<const TensorSpec> tensors,
                                                    const GgufMetadata& metadata);

  /// The longest name that ggml holds.
  static constexpr std::size_t kGgufNameBytesMax = 63;

  TensorWriter(TensorWriter&&) noexcept;
  TensorWriter& operator=(TensorWriter&&) noexcept;
  ~TensorWriter();

  /// Writes the next bytes of the tensor at hand; after a complete tensor comes the next.
  /// Errors: the disk is full or fails; then every later call has the same error.
  /// Requires: bytes do not reach beyond the tensor at hand; finish() has not been called.
  tl::expected<void, FileError> write(std::span<const std::byte> bytes);

  /// Gives the file its name. Errors: those of write(). Requires: all tensors are complete.
  tl::expected<void, FileError> finish();

 private:
  struct State;
  explicit TensorWriter(std::unique_ptr<State> state);

  static tl::expected<TensorWriter, FileError> create(const std::string& path,
                                                      std::span<const TensorSpec> tensors,
                                                      std::string_view header,
                                                      std::size_t alignment);

  std::unique_ptr<State> state_;
};

}  // namespace forge::formats
