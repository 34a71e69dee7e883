// GgufBytes: GGUF files by hand, right and wrong ones, field by field.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <initializer_list>
#include <span>
#include <string>
#include <string_view>

#include "forge/formats/gguf.h"

namespace forge::formats::testing {

inline std::span<const std::byte> as_bytes(const std::string& file) {
  return std::as_bytes(std::span(file));
}

class GgufBytes {
 public:
  GgufBytes() = default;
  GgufBytes(std::uint64_t tensors, std::uint64_t keys, std::uint32_t version = 3) {
    file_ = "GGUF";
    number(version).number(tensors).number(keys);
  }

  template <class T>
  GgufBytes& number(T value) {
    file_.append(reinterpret_cast<const char*>(&value), sizeof(T));
    return *this;
  }

  GgufBytes& text(std::string_view value) {
    number<std::uint64_t>(value.size());
    file_ += value;
    return *this;
  }

  /// Value or array header follow.
  GgufBytes& key(std::string_view name, GgufType type) {
    return text(name).number(static_cast<std::uint32_t>(type));
  }
  template <class T>
  GgufBytes& key(std::string_view name, GgufType type, T value) {
    return key(name, type).number(value);
  }

  /// Elements follow.
  GgufBytes& array(std::string_view name, GgufType type, std::uint64_t count) {
    return key(name, GgufType::array).number(static_cast<std::uint32_t>(type)).number(count);
  }

  /// Dimensions fastest first, as in the file; `type` is ggml's number, F32 unless given.
  GgufBytes& tensor(std::string_view name, std::initializer_list<std::uint64_t> dimensions,
                    std::uint64_t offset, std::uint32_t type = 0) {
    text(name).number(static_cast<std::uint32_t>(dimensions.size()));
    for (const std::uint64_t dimension : dimensions) number(dimension);
    return number(type).number(offset);
  }

  /// Pads to `alignment` and appends `count` bytes 0, 1, 2, ...
  GgufBytes& data(std::size_t count, std::size_t alignment = 32) {
    file_.resize((file_.size() + alignment - 1) / alignment * alignment);
    for (std::size_t i = 0; i < count; ++i) file_ += static_cast<char>(i);
    return *this;
  }

  const std::string& bytes() const { return file_; }

 private:
  std::string file_;
};

/// A file with a bit of everything; no byte of it can be left out.
inline std::string small_gguf() {
  return GgufBytes(2, 6)
      .key("general.architecture", GgufType::text)
      .text("llama")
      .key("general.alignment", GgufType::u32, std::uint32_t{16})
      .key("llama.rope.freq_base", GgufType::f32, 10000.0f)
      .key("tokenizer.ggml.add_bos_token", GgufType::boolean, std::uint8_t{1})
      .array("tokenizer.ggml.tokens", GgufType::text, 3)
      .text("<s>")
      .text("")
      .text("hello")
      .array("tokenizer.ggml.token_type", GgufType::i32, 3)
      .number(3)
      .number(1)
      .number(-1)
      .tensor("output_norm.weight", {4}, 0)
      .tensor("blk.0.ffn_up.weight", {32, 2}, 16, 8)
      .data(16 + 2 * 34, 16)
      .bytes();
}

}  // namespace forge::formats::testing
