#include "formats/read_gguf.h"

#include <algorithm>
#include <cstdint>
#include <vector>

#include "forge/core/check.h"
#include "forge/formats/gguf.h"
#include "formats/touch.h"

namespace forge::formats::testing {
namespace {

void check_within(std::span<const std::byte> file, std::span<const std::byte> part) {
  FORGE_CHECK(part.empty() || (part.data() >= file.data() &&
                               part.data() + part.size() <= file.data() + file.size()));
}

void check_array(std::span<const std::byte> file, const GgufArray& array) {
  if (const auto* const texts = std::get_if<GgufTexts>(&array)) {
    for (const std::string_view text : *texts) {
      check_within(file, std::as_bytes(std::span(text)));
      touch(text);
    }
    return;
  }
  const auto& numbers = std::get<GgufNumbers>(array);
  check_within(file, numbers.bytes());
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    const double number = static_cast<double>(numbers.number(i));
    touch(std::as_bytes(std::span(&number, 1)));
  }
}

void check_metadata(std::span<const std::byte> file, const GgufMetadata& metadata) {
  FORGE_CHECK(metadata.size() <= Gguf::kKeysMax);
  for (const auto& [key, value] : metadata) {
    FORGE_CHECK(!key.empty() && key.size() <= Gguf::kNameBytesMax);
    touch(to_string(value));
    if (const auto* const array = std::get_if<GgufArray>(&value)) check_array(file, *array);
    if (const auto* const text = std::get_if<std::string_view>(&value)) {
      check_within(file, std::as_bytes(std::span(*text)));
      touch(*text);
    }
  }
}

void check_tensors(std::span<const std::byte> file, const GgufContents& contents) {
  FORGE_CHECK(contents.by_name.size() == contents.tensors.size());
  std::vector<std::pair<std::uint64_t, std::uint64_t>> places;
  for (const Tensor& tensor : contents.tensors) {
    FORGE_CHECK(&contents.tensors[contents.by_name.at(tensor.name)] == &tensor);
    FORGE_CHECK(tensor.shape.size() <= Gguf::kRankMax && tensor.elements() > 0);
    FORGE_CHECK(tensor.bytes.size() == bytes_of(tensor.type, tensor.shape));
    FORGE_CHECK(tensor.bytes.data() == file.data() + tensor.offset);
    check_within(file, tensor.bytes);
    touch(tensor.bytes);
    places.emplace_back(tensor.offset, tensor.offset + tensor.bytes.size());
  }
  std::sort(places.begin(), places.end());
  for (std::size_t i = 1; i < places.size(); ++i) {
    FORGE_CHECK(places[i - 1].second <= places[i].first);
  }
}

}  // namespace

bool read_gguf(std::span<const std::byte> file) {
  const auto contents = parse_gguf(file, "fuzz.gguf");
  if (!contents) {
    FORGE_CHECK(!contents.error().message.empty());
    FORGE_CHECK(contents.error().offset.value_or(0) <= file.size());
    return false;
  }
  FORGE_CHECK(contents->version == 2 || contents->version == 3);
  check_metadata(file, contents->metadata);
  check_tensors(file, *contents);
  return true;
}

}  // namespace forge::formats::testing
