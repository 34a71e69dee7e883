// MessagePack, as far as events have it: each value in the shortest form that has it.
#pragma once

#include <bit>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "forge/core/check.h"

namespace forge::kv_events {

class MessagePack {
 public:
  void reserve(std::size_t bytes) { bytes_.reserve(bytes); }

  void array(std::size_t items) {
    if (items < 16) {
      byte(0x90 | items);
    } else if (items < 1U << 16) {
      byte(0xdc);
      big_endian(static_cast<std::uint16_t>(items));
    } else {
      FORGE_CHECK(items >> 32 == 0, "items=", items);
      byte(0xdd);
      big_endian(static_cast<std::uint32_t>(items));
    }
  }
  /// Requires: fewer than 16.
  void map(std::size_t entries) { byte(0x80 | entries); }
  /// Requires: fewer than 32 bytes.
  void text(std::string_view text) {
    byte(0xa0 | text.size());
    bytes_ += text;
  }
  void null() { byte(0xc0); }
  void real(double number) {
    byte(0xcb);
    big_endian(std::bit_cast<std::uint64_t>(number));
  }
  void number(std::uint64_t number) {
    if (number < 128) {
      byte(number);
    } else if (number < 1U << 8) {
      byte(0xcc);
      byte(number);
    } else if (number < 1U << 16) {
      byte(0xcd);
      big_endian(static_cast<std::uint16_t>(number));
    } else if (number >> 32 == 0) {
      byte(0xce);
      big_endian(static_cast<std::uint32_t>(number));
    } else {
      byte(0xcf);
      big_endian(number);
    }
  }

  std::string take() { return std::move(bytes_); }

 private:
  void byte(std::size_t value) { bytes_ += static_cast<char>(value); }
  void big_endian(std::unsigned_integral auto number) {
    char bytes[sizeof(number)];
    for (std::size_t i = 0; i < sizeof(number); ++i) {
      bytes[i] = static_cast<char>(number >> 8 * (sizeof(number) - 1 - i));
    }
    bytes_.append(bytes, sizeof(number));
  }

  std::string bytes_;
};

}  // namespace forge::kv_events
