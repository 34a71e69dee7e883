// GgufKeys: metadata of a GGUF file that is about to be written, with the texts and arrays that
// they borrow.
//
// Owns what the metadata borrow. Thread contract: one thread at a time.
#pragma once

#include <cstdint>
#include <deque>
#include <string>
#include <vector>

#include "forge/formats/gguf_value.h"

namespace forge::formats {

class GgufKeys {
 public:
  GgufKeys() = default;
  GgufKeys(const GgufKeys&) = delete;
  GgufKeys& operator=(const GgufKeys&) = delete;

  const GgufMetadata& metadata() const { return metadata_; }
  bool has(const std::string& key) const { return metadata_.contains(key); }

  /// Sets `key`; a key that exists already gets the new value.
  void set(const std::string& key, GgufValue value);
  void set_text(const std::string& key, std::string value);
  void set_u32(const std::string& key, std::uint64_t value);  ///< Requires: value < 2^32.
  void set_f32(const std::string& key, double value);
  void set_texts(const std::string& key, std::vector<std::string> values);
  void set_f32s(const std::string& key, const std::vector<float>& values);
  void set_i32s(const std::string& key, const std::vector<std::int32_t>& values);

 private:
  GgufMetadata metadata_;
  std::deque<std::string> texts_;
  std::deque<std::vector<std::byte>> numbers_;
};

}  // namespace forge::formats
