// SafeTensors files by hand, right and wrong ones.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace forge::formats::testing {

/// Length, header and data.
inline std::string safetensors_bytes(std::string_view header, std::string_view data = {}) {
  std::string file;
  for (std::size_t i = 0; i < 8; ++i) {
    file += static_cast<char>(std::uint64_t{header.size()} >> (8 * i) & 0xff);
  }
  return file.append(header).append(data);
}

/// The header's text for one tensor: "name":{"dtype":...}.
inline std::string member(const std::string& name, const std::string& dtype,
                          const std::string& shape, const std::string& offsets) {
  return "\"" + name + "\":{\"dtype\":\"" + dtype + "\",\"shape\":" + shape +
         ",\"data_offsets\":" + offsets + "}";
}

inline std::span<const std::byte> span_of(const std::string& file) {
  return std::as_bytes(std::span(file));
}

}  // namespace forge::formats::testing
