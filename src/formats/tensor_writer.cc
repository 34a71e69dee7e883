#include "forge/formats/tensor_writer.h"

#include <array>
#include <utility>

#include "forge/core/check.h"
#include "part_file.h"

namespace forge::formats {

struct TensorWriter::State {
  State(const std::string& path, std::size_t tensor_alignment)
      : file(path), alignment(tensor_alignment) {}

  detail::PartFile file;
  std::size_t alignment;             // of the end of each tensor
  std::vector<std::uint64_t> sizes;  // of the tensors, in bytes
  std::size_t at_hand = 0;           // the tensor; sizes.size() once all are complete
  std::uint64_t written = 0;         // bytes of it

  /// Pads the tensors that are complete, and goes on to the one that is not.
  tl::expected<void, FileError> advance() {
    for (; at_hand < sizes.size() && written == sizes[at_hand]; ++at_hand, written = 0) {
      if (auto padded = pad(sizes[at_hand]); !padded) return padded;
    }
    return {};
  }

  tl::expected<void, FileError> pad(std::uint64_t size) {
    static constexpr std::array<std::byte, 64> kZeros{};
    const std::uint64_t excess = size % alignment;
    return file.write(std::span(kZeros).first(excess == 0 ? 0 : alignment - excess));
  }
};

TensorWriter::TensorWriter(std::unique_ptr<State> state) : state_(std::move(state)) {}
TensorWriter::TensorWriter(TensorWriter&&) noexcept = default;
TensorWriter& TensorWriter::operator=(TensorWriter&&) noexcept = default;
TensorWriter::~TensorWriter() = default;

tl::expected<TensorWriter, FileError> TensorWriter::create(const std::string& path,
                                                           std::span<const TensorSpec> tensors,
                                                           std::string_view header,
                                                           std::size_t alignment) {
  auto state = std::make_unique<State>(path, alignment);
  for (const TensorSpec& tensor : tensors) {
    const auto bytes = bytes_of(tensor.type, tensor.shape);
    FORGE_CHECK(bytes.has_value(), "tensor '", tensor.name, "'");
    state->sizes.push_back(*bytes);
  }
  auto begun = state->file.create();
  if (begun) begun = state->file.write(std::as_bytes(std::span(header)));
  if (begun) begun = state->advance();
  if (!begun) return tl::unexpected(std::move(begun.error()));
  return TensorWriter(std::move(state));
}

tl::expected<void, FileError> TensorWriter::write(std::span<const std::byte> bytes) {
  State& state = *state_;
  if (const auto& error = state.file.error()) return tl::unexpected(*error);
  if (bytes.empty()) return {};
  FORGE_CHECK(state.at_hand < state.sizes.size(), bytes.size(), " bytes after the last tensor");
  const std::uint64_t left = state.sizes[state.at_hand] - state.written;
  FORGE_CHECK(bytes.size() <= left, bytes.size(), " bytes for tensor ", state.at_hand,
              ", which lacks ", left);
  if (auto written = state.file.write(bytes); !written) return written;
  state.written += bytes.size();
  return state.advance();
}

tl::expected<void, FileError> TensorWriter::finish() {
  State& state = *state_;
  if (const auto& error = state.file.error()) return tl::unexpected(*error);
  FORGE_CHECK(state.at_hand == state.sizes.size(), "tensor ", state.at_hand, " of ",
              state.sizes.size(), " is not complete");
  return state.file.finish();
}

}  // namespace forge::formats
