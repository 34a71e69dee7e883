#include "chars_map.h"

namespace forge::text::detail {
namespace {

constexpr std::size_t kUnitBytes = 4;
constexpr std::uint32_t kIsValue = 1U << 31U;

std::uint32_t number_at(std::string_view bytes, std::size_t at) {
  std::uint32_t number = 0;
  for (std::size_t i = 0; i < kUnitBytes; ++i) {
    number |= static_cast<std::uint32_t>(static_cast<unsigned char>(bytes[at + i])) << (8 * i);
  }
  return number;
}

std::uint32_t offset_of(std::uint32_t unit) { return (unit >> 10U) << ((unit & (1U << 9U)) >> 6U); }
std::uint32_t label_of(std::uint32_t unit) { return unit & (kIsValue | 0xFFU); }
bool ends_key(std::uint32_t unit) { return (unit >> 8U & 1U) != 0; }

}  // namespace

tl::expected<CharsMap, std::string> CharsMap::parse(std::string_view bytes) {
  if (bytes.size() < kUnitBytes) return tl::unexpected(std::string("has no size of its table"));
  const std::uint32_t size = number_at(bytes, 0);
  const std::string_view rest = bytes.substr(kUnitBytes);
  if (size > rest.size() || size % kUnitBytes != 0) {
    return tl::unexpected("has a table of " + std::to_string(size) +
                          " bytes; accepted is a multiple of 4 up to " +
                          std::to_string(rest.size()));
  }
  CharsMap map;
  map.units_.reserve(size / kUnitBytes);
  for (std::size_t at = 0; at < size; at += kUnitBytes) map.units_.push_back(number_at(rest, at));
  map.texts_ = rest.substr(size);
  if (!map.texts_.empty() && map.texts_.back() != '\0') {
    return tl::unexpected(std::string("has a last text without a zero byte after it"));
  }
  return map;
}

CharsMap::Replacement CharsMap::find(std::string_view text) const {
  Replacement found;
  std::uint32_t node = offset_of(unit(0));
  for (std::size_t i = 0; i < text.size() && text[i] != '\0'; ++i) {
    const auto byte = static_cast<unsigned char>(text[i]);
    const std::uint32_t next = unit(node ^ byte);
    if (label_of(next) != byte) break;
    node ^= byte ^ offset_of(next);
    if (!ends_key(next)) continue;
    const std::uint32_t place = unit(node) & ~kIsValue;
    if (place < texts_.size()) found = {i + 1, texts_.data() + place};
  }
  return found;
}

}  // namespace forge::text::detail
