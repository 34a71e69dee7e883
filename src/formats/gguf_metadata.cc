#include <algorithm>
#include <optional>

#include "forge/core/quoted.h"
#include "gguf_parts.h"

namespace forge::formats::detail {
namespace {

/// Least bytes of a text: its length.
constexpr std::uint64_t kTextBytesMin = 8;

std::string_view read_text(ByteReader& in) { return in.take_text(in.number<std::uint64_t>()); }

bool are_booleans(std::span<const std::byte> bytes) {
  return std::all_of(bytes.begin(), bytes.end(), [](std::byte b) { return b <= std::byte{1}; });
}

bool read_boolean(ByteReader& in) {
  const std::uint64_t at = in.position();
  const auto byte = in.number<std::uint8_t>();
  if (byte > 1) in.fail(at, "a boolean is " + std::to_string(byte) + "; accepted are 0 and 1");
  return byte == 1;
}

/// The type of a value, or of an array's elements.
std::optional<GgufType> read_type(ByteReader& in, std::string_view what) {
  const std::uint64_t at = in.position();
  const auto number = in.number<std::uint32_t>();
  if (!in.ok()) return std::nullopt;
  if (number >= std::variant_size_v<GgufValue>) {
    in.fail(at, std::string(what) + " has type " + std::to_string(number) + "; accepted are 0 .. " +
                    std::to_string(std::variant_size_v<GgufValue> - 1));
    return std::nullopt;
  }
  return static_cast<GgufType>(number);
}

GgufArray read_array(ByteReader& in, std::string_view key) {
  const std::uint64_t type_at = in.position();
  const auto type = read_type(in, "an element of " + in_quotes(key));
  if (!type) return GgufTexts{};
  if (*type == GgufType::array) {
    in.fail(type_at, in_quotes(key) + " is an array of arrays, which is not read");
    return GgufTexts{};
  }
  const std::uint64_t count_at = in.position();
  const auto count = in.number<std::uint64_t>();
  const std::uint64_t element_bytes_min = *type == GgufType::text ? kTextBytesMin : bytes_of(*type);
  if (count > in.remaining() / element_bytes_min) {
    in.fail(count_at, in_quotes(key) + " is an array of " + std::to_string(count) + " " +
                          std::string(name_of(*type)) + ", but " + std::to_string(in.remaining()) +
                          " bytes are left of the file");
  }
  if (!in.ok()) return GgufTexts{};
  if (*type == GgufType::text) {
    GgufTexts texts;
    texts.reserve(count);
    while (texts.size() < count && in.ok()) texts.push_back(read_text(in));
    return texts;
  }
  const std::uint64_t elements_at = in.position();
  const auto bytes = in.take(count * element_bytes_min);
  if (*type == GgufType::boolean && !are_booleans(bytes)) {
    in.fail(elements_at, in_quotes(key) + " has a boolean that is neither 0 nor 1");
  }
  return GgufNumbers(*type, bytes);
}

GgufValue read_value(ByteReader& in, GgufType type, std::string_view key) {
  switch (type) {
    case GgufType::u8:
      return in.number<std::uint8_t>();
    case GgufType::i8:
      return in.number<std::int8_t>();
    case GgufType::u16:
      return in.number<std::uint16_t>();
    case GgufType::i16:
      return in.number<std::int16_t>();
    case GgufType::u32:
      return in.number<std::uint32_t>();
    case GgufType::i32:
      return in.number<std::int32_t>();
    case GgufType::f32:
      return in.number<float>();
    case GgufType::boolean:
      return read_boolean(in);
    case GgufType::text:
      return read_text(in);
    case GgufType::array:
      return read_array(in, key);
    case GgufType::u64:
      return in.number<std::uint64_t>();
    case GgufType::i64:
      return in.number<std::int64_t>();
    case GgufType::f64:
      break;
  }
  return in.number<double>();
}

}  // namespace

std::string_view read_name(ByteReader& in, std::string_view what) {
  const std::uint64_t at = in.position();
  const auto length = in.number<std::uint64_t>();
  if (in.ok() && (length == 0 || length > Gguf::kNameBytesMax)) {
    in.fail(at, std::string(what) + " of " + std::to_string(length) + " bytes; accepted are 1 .. " +
                    std::to_string(Gguf::kNameBytesMax));
  }
  return in.take_text(length);
}

void read_metadata(ByteReader& in, std::uint64_t count, GgufMetadata& metadata) {
  for (std::uint64_t i = 0; i < count && in.ok(); ++i) {
    in.enter("key " + std::to_string(i) + " of " + std::to_string(count));
    const std::uint64_t at = in.position();
    const std::string_view key = read_name(in, "a key");
    if (!in.ok()) return;
    if (metadata.find(key) != metadata.end()) {
      return in.fail(at, "the key " + in_quotes(key) + " occurs twice");
    }
    in.enter("the value of " + in_quotes(key));
    const auto type = read_type(in, in_quotes(key));
    if (type) metadata.emplace(key, read_value(in, *type, key));
  }
}

}  // namespace forge::formats::detail
