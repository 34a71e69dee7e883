#include "forge/formats/gguf_value.h"

#include <array>
#include <charconv>
#include <cstring>
#include <iterator>

#include "forge/core/check.h"
#include "forge/core/quoted.h"

namespace forge::formats {
namespace {

struct TypeRow {
  std::string_view name;
  std::size_t bytes;  ///< 0 of text and array
};

/// In the order of GgufType.
constexpr TypeRow kTypes[] = {{"u8", 1},  {"i8", 1},  {"u16", 2},     {"i16", 2},  {"u32", 4},
                              {"i32", 4}, {"f32", 4}, {"boolean", 1}, {"text", 0}, {"array", 0},
                              {"u64", 8}, {"i64", 8}, {"f64", 8}};
static_assert(std::size(kTypes) == std::variant_size_v<GgufValue>);

const TypeRow& row_of(GgufType type) { return kTypes[static_cast<std::size_t>(type)]; }

template <class T>
std::string shortest(T number) {
  std::array<char, 32> text;
  const auto end = std::to_chars(text.data(), text.data() + text.size(), number).ptr;
  return {text.data(), end};
}

struct Shown {
  std::string operator()(bool value) const { return value ? "true" : "false"; }
  std::string operator()(std::string_view value) const { return in_quotes(value); }
  std::string operator()(const GgufArray& array) const {
    const std::size_t size =
        std::visit([](const auto& elements) { return elements.size(); }, array);
    return "of " + std::to_string(size) + " " + std::string(name_of(element_type(array)));
  }
  template <class T>
  std::string operator()(T value) const {
    return shortest(value);
  }
};

}  // namespace

std::string_view name_of(GgufType type) { return row_of(type).name; }

std::size_t bytes_of(GgufType type) {
  FORGE_CHECK(row_of(type).bytes != 0, "type=", name_of(type));
  return row_of(type).bytes;
}

GgufNumbers::GgufNumbers(GgufType type, std::span<const std::byte> bytes)
    : type_(type), bytes_(bytes) {
  FORGE_CHECK(bytes.size() % bytes_of(type) == 0, "bytes=", bytes.size(), " type=", name_of(type));
}

template <class T>
T GgufNumbers::element(std::size_t index) const {
  FORGE_CHECK(index < size(), "index=", index, " size=", size());
  T value;
  std::memcpy(&value, bytes_.data() + index * sizeof(T), sizeof(T));
  return value;
}

std::int64_t GgufNumbers::integer(std::size_t index) const {
  switch (type_) {
    case GgufType::u8:
    case GgufType::boolean:
      return element<std::uint8_t>(index);
    case GgufType::i8:
      return element<std::int8_t>(index);
    case GgufType::u16:
      return element<std::uint16_t>(index);
    case GgufType::i16:
      return element<std::int16_t>(index);
    case GgufType::u32:
      return element<std::uint32_t>(index);
    case GgufType::i32:
      return element<std::int32_t>(index);
    default:
      break;
  }
  FORGE_CHECK(type_ == GgufType::u64 || type_ == GgufType::i64, "type=", name_of(type_));
  const auto value = element<std::int64_t>(index);
  FORGE_CHECK(type_ == GgufType::i64 || value >= 0, "u64 element ", index, " is above 2^63 - 1");
  return value;
}

double GgufNumbers::number(std::size_t index) const {
  switch (type_) {
    case GgufType::f32:
      return static_cast<double>(element<float>(index));
    case GgufType::f64:
      return element<double>(index);
    case GgufType::u64:
      return static_cast<double>(element<std::uint64_t>(index));
    default:
      return static_cast<double>(integer(index));
  }
}

GgufType element_type(const GgufArray& array) {
  const auto* const numbers = std::get_if<GgufNumbers>(&array);
  return numbers == nullptr ? GgufType::text : numbers->type();
}

std::string to_string(const GgufValue& value) {
  return std::string(name_of(type_of(value))) + " " + std::visit(Shown{}, value);
}

}  // namespace forge::formats
