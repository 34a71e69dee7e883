#include "checkpoint/damage.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <iterator>
#include <limits>
#include <string>
#include <string_view>
#include <utility>

namespace forge::testing {
namespace {

using checkpoint::ModelFormat;
using formats::ElementType;
using formats::GgufMetadata;
using formats::GgufValue;
using nlohmann::json;

/// Numbers at which a check may be off by one, or a product too large.
std::int64_t nearby(std::int64_t number, Choices& choices) {
  const std::int64_t small = std::clamp<std::int64_t>(number, -(1 << 30), 1 << 30);
  const std::array numbers{small - 1, small + 1, small * 2, small / 2, -small, std::int64_t{0}};
  return *choices.one_of(numbers);
}

json strange_json(Choices& choices) {
  static const json kValues = json::parse(R"([null, true, false, 0, 1, 2, 3, -1, 4, 8, 64, 1024,
      1048576, 2147483647, 2147483648, 18446744073709551615, -9223372036854775808, 1e300, -1e300,
      1e-300, 0.5, 1.5, "", "yarn", "linear", "llama3", "longrope", "dynamic", "qwen3_moe",
      "deepseek_v2", "deepseek_v3", "gemma2", "gpt_oss", "group_limited_greedy", "gelu", [], [1],
      [-1], [1e300, 1], ["full_attention"], ["sliding_attention"], {}, {"rope_type": "yarn"},
      {"quant_method": "gptq", "bits": 4, "group_size": 1}, {"a": {"weights": {}}},
      {"quant_method": "fp8", "weight_block_size": [128, 0]}, {"quant_method": "mxfp4"}, "gptq_v2",
      "pack-quantized", "float-quantized", "fp8"])");
  return *choices.one_of(kValues);
}

/// An integer often becomes one nearby, anything else something strange.
void replace(json& value, Choices& choices) {
  if (value.is_number_integer() && choices.below(2) == 0) {
    value = nearby(value.get<std::int64_t>(), choices);
  } else if (value.is_array() && !value.empty() && choices.below(2) == 0) {
    *choices.one_of(value) = strange_json(choices);
  } else {
    value = strange_json(choices);
  }
}

GgufValue strange_gguf(Choices& choices) {
  static constexpr std::array<std::byte, 16> kZeros{};
  static constexpr std::string_view kTexts[] = {"", "llama", "yarn", "linear", "gpt-oss"};
  using formats::GgufNumbers;
  using formats::GgufType;
  static const std::vector<GgufValue> kValues{
      std::uint32_t{0},
      std::uint32_t{1},
      std::uint32_t{3},
      std::uint32_t{64},
      std::numeric_limits<std::uint32_t>::max(),
      std::int32_t{-1},
      std::numeric_limits<std::uint64_t>::max(),
      std::numeric_limits<std::int64_t>::min(),
      0.0F,
      -1.0F,
      1e-38F,
      1e38F,
      std::numeric_limits<float>::quiet_NaN(),
      std::numeric_limits<float>::infinity(),
      std::numeric_limits<double>::max(),
      true,
      false,
      kTexts[0],
      kTexts[1],
      kTexts[2],
      kTexts[3],
      kTexts[4],
      formats::GgufArray(GgufNumbers(GgufType::i32, kZeros)),
      formats::GgufArray(GgufNumbers(GgufType::u32, {})),
      formats::GgufArray(GgufNumbers(GgufType::f32, kZeros)),
      formats::GgufArray(GgufNumbers(GgufType::boolean, kZeros)),
      formats::GgufArray(formats::GgufTexts(std::begin(kTexts), std::end(kTexts)))};
  return *choices.one_of(kValues);
}

/// A key of another file, for the architecture of this one.
std::string key_here(const std::string& key, const GgufMetadata& here) {
  const auto architecture = here.find("general.architecture");
  const auto* const name =
      architecture == here.end() ? nullptr : std::get_if<std::string_view>(&architecture->second);
  if (name == nullptr || key.starts_with("general.") || key.starts_with("tokenizer.")) return key;
  return std::string(*name) + key.substr(std::min(key.size(), key.find('.')));
}

constexpr std::uint64_t kTensorBytesMax = 1 << 20;

/// The types that the format has; blocks are those that fit rows of 32 numbers.
std::span<const ElementType> types_of(ModelFormat format) {
  static constexpr ElementType kSafeTensors[] = {
      ElementType::f32, ElementType::f16, ElementType::bf16, ElementType::i8,
      ElementType::u8,  ElementType::i32, ElementType::i64,  ElementType::f8_e4m3};
  static constexpr ElementType kGguf[] = {
      ElementType::f32,  ElementType::f16,  ElementType::bf16,   ElementType::i8,
      ElementType::i32,  ElementType::i64,  ElementType::q8_0,   ElementType::q4_0,
      ElementType::q4_1, ElementType::q5_0, ElementType::q5_1,   ElementType::iq4_nl,
      ElementType::q6_k, ElementType::q4_k, ElementType::iq4_xs, ElementType::mxfp4};
  if (format == ModelFormat::gguf) return kGguf;
  return kSafeTensors;
}

/// `tensor` with as many bytes as its type and shape ask for, again and again the ones that it has;
/// as it was, where the format has no such tensor.
void refit(EditableTensor& tensor, EditableTensor before, ModelFormat format) {
  const auto bytes = bytes_of(tensor.type, tensor.shape);
  bool fits = bytes && *bytes <= kTensorBytesMax;
  if (format == ModelFormat::gguf) {
    fits &=
        tensor.shape.size() <= formats::Gguf::kRankMax && std::ranges::count(tensor.shape, 0U) == 0;
  }
  if (!fits) {
    tensor = std::move(before);
    return;
  }
  if (tensor.bytes.empty()) tensor.bytes.push_back('\0');
  while (tensor.bytes.size() < *bytes) tensor.bytes.append(std::string(tensor.bytes));
  tensor.bytes.resize(*bytes);
}

void damage_shape(std::vector<std::uint64_t>& shape, Choices& choices) {
  switch (choices.below(4)) {
    case 0:
      shape.push_back(1);
      break;
    case 1:
      if (!shape.empty()) shape.pop_back();
      break;
    case 2:
      if (!shape.empty()) std::swap(shape.front(), shape.back());
      break;
    default:
      if (shape.empty()) break;
      auto& dimension = *choices.one_of(shape);
      const std::int64_t other = nearby(static_cast<std::int64_t>(dimension), choices);
      dimension = static_cast<std::uint64_t>(std::max<std::int64_t>(0, other));
  }
}

/// Bytes that are infinite, NaN, negative, 0 or large as numbers of some type; in one place or
/// everywhere.
void damage_numbers(std::string& bytes, Choices& choices) {
  static constexpr std::array<std::string_view, 6> kPatterns{
      std::string_view("\0\0\0\0", 4),     "\xff\xff\xff\xff",
      std::string_view("\0\0\x80\x7f", 4), std::string_view("\0\x7c\0\x7c", 4),
      std::string_view("\0\0\x80\xff", 4), "\x7f\x7f\x7f\x7f"};
  const std::string_view pattern = *choices.one_of(kPatterns);
  const bool everywhere = choices.below(4) == 0;
  const std::size_t words = bytes.size() / pattern.size();
  if (words == 0) return;
  const std::size_t first = everywhere ? 0 : choices.below(std::min<std::size_t>(words, 65536));
  const std::size_t last = everywhere ? words : first + 1;
  for (std::size_t word = first; word < last; ++word) {
    pattern.copy(bytes.data() + word * pattern.size(), pattern.size());
  }
}

}  // namespace

void damage(json& config, const json& other, Choices& choices) {
  const std::size_t change = choices.below(8);
  if (change == 0 && other.is_object() && !other.empty()) {
    const auto theirs = choices.one_of(other);
    config[theirs.key()] = *theirs;
    return;
  }
  if (config.empty()) return;
  const auto member = choices.one_of(config);
  if (member->is_object() && !member->empty() && choices.below(2) == 0) {
    const auto theirs = other.find(member.key());
    damage(*member, theirs == other.end() ? json::object() : *theirs, choices);
  } else if (change == 1) {
    config.erase(member);
  } else {
    replace(*member, choices);
  }
}

void damage(GgufMetadata& metadata, const GgufMetadata& other, Choices& choices) {
  const std::size_t change = choices.below(8);
  if (change == 0 && !other.empty()) {
    const auto theirs = choices.one_of(other);
    metadata.insert_or_assign(key_here(theirs->first, metadata), theirs->second);
    return;
  }
  if (metadata.empty()) return;
  const auto entry = choices.one_of(metadata);
  if (entry->first == "general.alignment") return;  // the writer has one of its own
  if (change == 1) {
    metadata.erase(entry);
  } else if (auto* const number = std::get_if<std::uint32_t>(&entry->second);
             number != nullptr && choices.below(2) == 0) {
    *number = static_cast<std::uint32_t>(nearby(*number, choices));
  } else {
    entry->second = strange_gguf(choices);
  }
}

void damage(EditableTensors& tensors, const EditableTensors& other, ModelFormat format,
            Choices& choices) {
  const std::size_t change = choices.below(8);
  if (change == 0 && !other.empty()) {
    const auto theirs = choices.one_of(other);
    tensors[theirs->first] = theirs->second;
    return;
  }
  if (tensors.empty()) return;
  const auto entry = choices.one_of(tensors);
  EditableTensor& tensor = entry->second;
  switch (change) {
    case 1:
      tensors.erase(entry);
      return;
    case 2:
      std::swap(tensor, choices.one_of(tensors)->second);
      return;
    case 3: {
      EditableTensor before = tensor;
      tensor.type = *choices.one_of(types_of(format));
      return refit(tensor, std::move(before), format);
    }
    case 4:
    case 5: {
      EditableTensor before = tensor;
      damage_shape(tensor.shape, choices);
      return refit(tensor, std::move(before), format);
    }
    default:
      damage_numbers(tensor.bytes, choices);
  }
}

}  // namespace forge::testing
