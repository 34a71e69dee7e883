// Reads that no compiler leaves out: a sanitizer sees each byte.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

namespace forge::formats::testing {

inline void touch(std::span<const std::byte> bytes) {
  static volatile std::uint64_t seen = 0;
  for (const std::byte byte : bytes) seen = seen + static_cast<std::uint64_t>(byte);
}

inline void touch(std::string_view text) { touch(std::as_bytes(std::span(text))); }

}  // namespace forge::formats::testing
