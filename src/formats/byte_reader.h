// ByteReader: little-endian numbers and runs of bytes of a file, front to back, never past its end.
//
// The first failure stays: after it every read returns zero or nothing, and error() is what
// happened first. So a parser reads on without asking after every number, as long as it asks ok()
// in its loops and before it believes a count.
//
// Borrows the bytes and the path.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include "forge/formats/file_error.h"

namespace forge::formats::detail {

static_assert(std::endian::native == std::endian::little, "numbers are read as they lie");

class ByteReader {
 public:
  ByteReader(std::span<const std::byte> bytes, const std::string& path)
      : bytes_(bytes), path_(path) {}

  bool ok() const { return !error_.has_value(); }
  const std::optional<FileError>& error() const { return error_; }

  std::uint64_t position() const { return position_; }
  std::uint64_t remaining() const { return bytes_.size() - position_; }

  /// What is being read, for messages: "the file ends within PLACE: ..."
  void enter(std::string place) { place_ = std::move(place); }

  template <class T>
  T number() {
    static_assert(std::is_arithmetic_v<T> && !std::is_same_v<T, bool>);
    T value{};
    if (const auto bytes = take(sizeof(T)); !bytes.empty()) {
      std::memcpy(&value, bytes.data(), sizeof(T));
    }
    return value;
  }

  /// The next `count` bytes, or none if there are fewer.
  std::span<const std::byte> take(std::uint64_t count);
  std::string_view take_text(std::uint64_t count);

  /// A failure found by the parser.
  void fail(std::optional<std::uint64_t> offset, std::string message, std::string tensor = {});

 private:
  std::span<const std::byte> bytes_;
  const std::string& path_;
  std::uint64_t position_ = 0;
  std::string place_ = "the header";
  std::optional<FileError> error_;
};

}  // namespace forge::formats::detail
