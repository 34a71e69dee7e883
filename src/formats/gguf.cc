#include "forge/formats/gguf.h"

#include <optional>
#include <type_traits>
#include <utility>

#include "forge/core/quoted.h"

namespace forge::formats {
namespace {

/// What one kind of metadata makes of a value: `Result`, or none if it is of another kind.
struct AsInteger {
  using Result = std::optional<std::int64_t>;

  template <class T>
  Result operator()(const T& value) const {
    if constexpr (std::is_integral_v<T> && !std::is_same_v<T, bool>) {
      if (std::in_range<std::int64_t>(value)) return static_cast<std::int64_t>(value);
    }
    return std::nullopt;
  }
};

struct AsNumber {
  using Result = std::optional<double>;

  template <class T>
  Result operator()(const T& value) const {
    if constexpr (std::is_arithmetic_v<T> && !std::is_same_v<T, bool>) {
      return static_cast<double>(value);
    } else {
      return std::nullopt;
    }
  }
};

/// The elements of a value that is an array of numbers, or null.
const GgufNumbers* numbers_in(const GgufValue& value) {
  const auto* const array = std::get_if<GgufArray>(&value);
  const auto* const numbers = array == nullptr ? nullptr : std::get_if<GgufNumbers>(array);
  return numbers == nullptr || numbers->type() == GgufType::boolean ? nullptr : numbers;
}

bool fit_int64(const GgufNumbers& numbers) {
  if (numbers.type() != GgufType::u64) return true;
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    // Of a little-endian u64, the last byte has the highest bit.
    if ((numbers.bytes()[8 * i + 7] & std::byte{0x80}) != std::byte{0}) return false;
  }
  return true;
}

}  // namespace

tl::expected<Gguf, FileError> Gguf::open(const std::string& path) {
  auto file = MappedFile::open(path);
  if (!file) return tl::unexpected(std::move(file.error()));
  auto contents = parse_gguf(file->bytes(), path);
  if (!contents) return tl::unexpected(std::move(contents.error()));
  return Gguf(*std::move(file), *std::move(contents));
}

Gguf Gguf::unwritten(std::string path, GgufMetadata metadata, std::vector<Tensor> tensors) {
  GgufContents contents{3, std::move(metadata), std::move(tensors), {}};
  for (std::uint32_t i = 0; i < contents.tensors.size(); ++i) {
    contents.by_name.emplace(contents.tensors[i].name, i);
  }
  return Gguf(MappedFile::unwritten(std::move(path)), std::move(contents));
}

const GgufValue* Gguf::value(std::string_view key) const {
  const auto found = metadata().find(key);
  return found == metadata().end() ? nullptr : &found->second;
}

tl::unexpected<FileError> Gguf::wrong(std::string_view key, std::string_view accepted) const {
  const GgufValue* const found = value(key);
  const std::string fault = found == nullptr ? " is missing" : " is " + to_string(*found);
  return tl::unexpected(FileError{file_.path(),
                                  in_quotes(key) + fault + "; accepted is " + std::string(accepted),
                                  {},
                                  std::nullopt});
}

tl::expected<std::int64_t, FileError> Gguf::integer(std::string_view key) const {
  const GgufValue* const found = value(key);
  const auto integer = found == nullptr ? std::nullopt : std::visit(AsInteger{}, *found);
  if (!integer) return wrong(key, "an integer up to 2^63 - 1");
  return *integer;
}

tl::expected<double, FileError> Gguf::number(std::string_view key) const {
  const GgufValue* const found = value(key);
  const auto number = found == nullptr ? std::nullopt : std::visit(AsNumber{}, *found);
  if (!number) return wrong(key, "a number");
  return *number;
}

tl::expected<bool, FileError> Gguf::boolean(std::string_view key) const {
  const auto* const boolean = std::get_if<bool>(value(key));
  if (boolean == nullptr) return wrong(key, "a boolean");
  return *boolean;
}

tl::expected<std::string_view, FileError> Gguf::text(std::string_view key) const {
  const auto* const text = std::get_if<std::string_view>(value(key));
  if (text == nullptr) return wrong(key, "a text");
  return *text;
}

tl::expected<GgufNumbers, FileError> Gguf::integers(std::string_view key) const {
  const GgufValue* const found = value(key);
  const GgufNumbers* const numbers = found == nullptr ? nullptr : numbers_in(*found);
  if (numbers == nullptr || !numbers->has_integers() || !fit_int64(*numbers)) {
    return wrong(key, "an array of integers up to 2^63 - 1");
  }
  return *numbers;
}

tl::expected<GgufNumbers, FileError> Gguf::numbers(std::string_view key) const {
  const GgufValue* const found = value(key);
  const GgufNumbers* const numbers = found == nullptr ? nullptr : numbers_in(*found);
  if (numbers == nullptr) return wrong(key, "an array of numbers");
  return *numbers;
}

tl::expected<std::span<const std::string_view>, FileError> Gguf::texts(std::string_view key) const {
  const auto* const array = std::get_if<GgufArray>(value(key));
  const auto* const texts = array == nullptr ? nullptr : std::get_if<GgufTexts>(array);
  if (texts == nullptr) return wrong(key, "an array of texts");
  return std::span<const std::string_view>(*texts);
}

const Tensor* Gguf::find(std::string_view name) const {
  const auto found = contents_.by_name.find(name);
  return found == contents_.by_name.end() ? nullptr : &contents_.tensors[found->second];
}

}  // namespace forge::formats
