// GgufValue: a value of a GGUF file's metadata, of the type that the file gives it.
//
// Types stay as they are, because readers of the format insist on them (llama.cpp refuses a
// block_count that is not a u32); Gguf::integer() and its like (gguf.h) are for readers that do
// not care about widths.
//
// Borrows texts and arrays, from the mapped file or from the code that is about to write them. So a
// vocabulary costs no copy: numbers of arrays are read where they lie, and only the place of a text
// in an array is kept.
//
// Pure, thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace forge::formats {

/// The types by their numbers in the file.
enum class GgufType : std::uint32_t {
  u8,
  i8,
  u16,
  i16,
  u32,
  i32,
  f32,
  boolean,
  text,
  array,
  u64,
  i64,
  f64
};

/// "u8", "boolean", ...
std::string_view name_of(GgufType type);

/// Bytes of a number or boolean: 1, 2, 4 or 8. Requires: type is neither text nor array.
std::size_t bytes_of(GgufType type);

/// An array of numbers or booleans where it lies: elements of the width that `type` says,
/// little-endian, of any alignment.
class GgufNumbers {
 public:
  /// Requires: type is neither text nor array; bytes are whole elements; the bytes of booleans are
  /// 0 or 1.
  GgufNumbers(GgufType type, std::span<const std::byte> bytes);

  GgufType type() const { return type_; }
  std::size_t size() const { return bytes_.size() / bytes_of(type_); }
  std::span<const std::byte> bytes() const { return bytes_; }

  bool has_integers() const {
    return type_ != GgufType::f32 && type_ != GgufType::f64 && type_ != GgufType::boolean;
  }

  /// Element `index`; 0 or 1 for booleans. Requires: index < size(); not an array of f32 or f64;
  /// the element is at most 2^63 - 1.
  std::int64_t integer(std::size_t index) const;

  /// Element `index`, rounded where it is an integer above 2^53. Requires: index < size().
  double number(std::size_t index) const;

 private:
  template <class T>
  T element(std::size_t index) const;

  GgufType type_;
  std::span<const std::byte> bytes_;
};

using GgufTexts = std::vector<std::string_view>;
using GgufArray = std::variant<GgufNumbers, GgufTexts>;

/// The types stand in the order of GgufType, so that index() is the type.
using GgufValue = std::variant<std::uint8_t, std::int8_t, std::uint16_t, std::int16_t,
                               std::uint32_t, std::int32_t, float, bool, std::string_view,
                               GgufArray, std::uint64_t, std::int64_t, double>;

inline GgufType type_of(const GgufValue& value) { return static_cast<GgufType>(value.index()); }

/// The type of the elements, never GgufType::array: arrays of arrays are not read.
GgufType element_type(const GgufArray& array);

/// The values by their keys, which are copies.
using GgufMetadata = std::map<std::string, GgufValue, std::less<>>;

/// The value for messages: "u32 32", "text 'llama'", "array of 512 f32"; long texts are cut, and
/// what is not printable ASCII is shown as \xNN.
std::string to_string(const GgufValue& value);

}  // namespace forge::formats
