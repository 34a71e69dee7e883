#include "wire_reader.h"

namespace forge::text::detail {

std::optional<std::uint64_t> WireReader::varint() {
  std::uint64_t value = 0;
  for (unsigned shift = 0; shift < 64; shift += 7) {
    if (rest_.empty()) return std::nullopt;
    const auto byte = static_cast<unsigned char>(rest_[0]);
    rest_.remove_prefix(1);
    value |= std::uint64_t{byte & 0x7FU} << shift;
    if (byte < 0x80) return value;
  }
  return std::nullopt;
}

std::optional<std::uint64_t> WireReader::fixed(std::size_t bytes) {
  if (rest_.size() < bytes) return std::nullopt;
  std::uint64_t value = 0;
  for (std::size_t i = 0; i < bytes; ++i) {
    value |= std::uint64_t{static_cast<unsigned char>(rest_[i])} << (8 * i);
  }
  rest_.remove_prefix(bytes);
  return value;
}

std::optional<WireReader::Field> WireReader::next() {
  if (rest_.empty() || failed_) return std::nullopt;
  failed_ = true;  // until all of it is there
  const auto tag = varint();
  if (!tag) return std::nullopt;
  Field field{.number = *tag >> 3U, .type = static_cast<Type>(*tag & 7U), .value = 0, .text = {}};
  std::optional<std::uint64_t> value;
  switch (field.type) {
    case Type::number:
    case Type::text:
      value = varint();
      break;
    case Type::eight_bytes:
      value = fixed(8);
      break;
    case Type::four_bytes:
      value = fixed(4);
      break;
  }
  if (!value) return std::nullopt;
  field.value = *value;
  if (field.type == Type::text) {
    if (field.value > rest_.size()) return std::nullopt;
    field.text = rest_.substr(0, static_cast<std::size_t>(field.value));
    rest_.remove_prefix(field.text.size());
  }
  failed_ = false;
  return field;
}

}  // namespace forge::text::detail
