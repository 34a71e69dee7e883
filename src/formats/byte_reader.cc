#include "byte_reader.h"

namespace forge::formats::detail {

std::span<const std::byte> ByteReader::take(std::uint64_t count) {
  if (!ok()) return {};
  if (count > remaining()) {
    fail(position_, "the file ends within " + place_ + ": " + std::to_string(count) +
                        " bytes are needed, " + std::to_string(remaining()) + " are left");
    return {};
  }
  const auto taken = bytes_.subspan(position_, count);
  position_ += count;
  return taken;
}

std::string_view ByteReader::take_text(std::uint64_t count) {
  const auto taken = take(count);
  return {reinterpret_cast<const char*>(taken.data()), taken.size()};
}

void ByteReader::fail(std::optional<std::uint64_t> offset, std::string message,
                      std::string tensor) {
  if (ok()) error_ = FileError{path_, std::move(message), std::move(tensor), offset};
}

}  // namespace forge::formats::detail
