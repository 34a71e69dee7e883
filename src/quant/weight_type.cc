#include "forge/quant/weight_type.h"

#include <algorithm>
#include <limits>

#include "forge/quant/block_formats.h"

namespace forge::quant {
namespace {

struct Traits {
  std::string_view name;
  std::size_t elements;
  std::size_t bytes;
};

template <class Block>
constexpr Traits of_block(std::string_view name) {
  return {name, Block::kElements, sizeof(Block)};
}

/// In the order of WeightType.
constexpr std::array<Traits, kWeightTypes.size()> kTraits = {{{"F32", 1, 4},
                                                              {"F16", 1, 2},
                                                              {"BF16", 1, 2},
                                                              {"I8", 1, 1},
                                                              of_block<BlockQ80>("Q8_0"),
                                                              of_block<BlockQ40>("Q4_0"),
                                                              of_block<BlockQ50>("Q5_0"),
                                                              of_block<BlockQ51>("Q5_1"),
                                                              of_block<BlockQ4K>("Q4_K"),
                                                              of_block<BlockQ5K>("Q5_K"),
                                                              of_block<BlockQ6K>("Q6_K"),
                                                              of_block<BlockQ41>("Q4_1"),
                                                              of_block<BlockQ2K>("Q2_K"),
                                                              of_block<BlockQ3K>("Q3_K"),
                                                              of_block<BlockIQ4NL>("IQ4_NL"),
                                                              of_block<BlockIQ4XS>("IQ4_XS"),
                                                              of_block<BlockMXFP4>("MXFP4")}};

const Traits& traits_of(WeightType type) { return kTraits[static_cast<std::size_t>(type)]; }

/// ASCII alone: names are compared the same under every locale.
char upper(char c) { return c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c; }

}  // namespace

std::string_view name_of(WeightType type) { return traits_of(type).name; }

std::optional<WeightType> weight_type(std::string_view name) {
  for (const WeightType type : kWeightTypes) {
    if (std::ranges::equal(name, name_of(type), {}, upper)) return type;
  }
  return std::nullopt;
}

std::size_t block_elements(WeightType type) { return traits_of(type).elements; }

std::size_t block_bytes(WeightType type) { return traits_of(type).bytes; }

std::optional<std::size_t> bytes_of(WeightType type, std::size_t count) {
  const Traits& traits = traits_of(type);
  const std::size_t blocks = count / traits.elements;
  if (count % traits.elements != 0) return std::nullopt;
  if (blocks > std::numeric_limits<std::size_t>::max() / traits.bytes) return std::nullopt;
  return blocks * traits.bytes;
}

}  // namespace forge::quant
