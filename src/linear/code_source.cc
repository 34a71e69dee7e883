#include "code_source.h"

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstring>
#include <numeric>

#include "forge/core/check.h"
#include "forge/linear/linear_weights.h"
#include "forge/quant/block_formats.h"

namespace forge::linear::codes {
namespace {

static_assert(std::endian::native == std::endian::little, "stored numbers are read as they lie");

/// Element `index` of an array of T of any alignment.
template <class T>
T element(const std::byte* stored, std::ptrdiff_t index) {
  T value;
  std::memcpy(&value, stored + static_cast<std::ptrdiff_t>(sizeof value) * index, sizeof value);
  return value;
}

std::uint8_t nibble(std::uint8_t byte, int half) {
  return static_cast<std::uint8_t>(byte >> (4 * half) & 15);
}

void unpack(const quant::BlockQ80& block, int, SourceGroup& out) {
  out.d = block.d;
  out.offset = 128;
  for (int i = 0; i < kGroup; ++i) out.codes[i] = static_cast<std::uint8_t>(block.codes[i] + 128);
}

void unpack_nibbles(const std::uint8_t* codes, SourceGroup& out) {
  for (int i = 0; i < kGroup; ++i) out.codes[i] = nibble(codes[i % 16], i / 16);
}

void unpack(const quant::BlockQ40& block, int, SourceGroup& out) {
  out.d = block.d;
  out.offset = 8;
  unpack_nibbles(block.codes, out);
}

void unpack(const quant::BlockQ41& block, int, SourceGroup& out) {
  out.d = block.d;
  out.m = block.m;
  out.min = -1;
  unpack_nibbles(block.codes, out);
}

template <class Block>
void unpack_five_bits(const Block& block, SourceGroup& out) {
  for (int i = 0; i < kGroup; ++i) {
    const int high = block.high[i / 8] >> (i % 8) & 1;
    out.codes[i] = static_cast<std::uint8_t>(nibble(block.codes[i % 16], i / 16) | high << 4);
  }
}

void unpack(const quant::BlockQ50& block, int, SourceGroup& out) {
  out.d = block.d;
  out.offset = 16;
  unpack_five_bits(block, out);
}

void unpack(const quant::BlockQ51& block, int, SourceGroup& out) {
  out.d = block.d;
  out.m = block.m;
  out.min = -1;
  unpack_five_bits(block, out);
}

/// Of the 64 bytes that Q2_K and Q3_K share.
void unpack_two_bits(const std::uint8_t* codes, int g, SourceGroup& out) {
  for (int i = 0; i < kGroup; ++i) {
    out.codes[i] = static_cast<std::uint8_t>(codes[32 * (g / 4) + i] >> (2 * (g % 4)) & 3);
  }
}

void unpack(const quant::BlockQ2K& block, int g, SourceGroup& out) {
  out.d = block.d;
  out.m = block.m;
  out.min = 1;
  for (int half = 0; half < 2; ++half) {
    out.half_scales[half] = block.scales[2 * g + half] & 15;
    out.half_mins[half] = block.scales[2 * g + half] >> 4;
  }
  unpack_two_bits(block.codes, g, out);
}

void unpack(const quant::BlockQ3K& block, int g, SourceGroup& out) {
  out.d = block.d;
  out.offset = 4;
  for (int half = 0; half < 2; ++half) out.half_scales[half] = block.scale(2 * g + half);
  unpack_two_bits(block.codes, g, out);
  for (int i = 0; i < kGroup; ++i) {
    out.codes[i] = static_cast<std::uint8_t>(out.codes[i] | (block.high[i] >> g & 1) << 2);
  }
}

template <class Block>
void unpack_affine(const Block& block, int g, SourceGroup& out) {
  out.d = block.d;
  out.m = block.m;
  out.scale = block.groups.scale(g);
  out.min = block.groups.offset(g);
  for (int i = 0; i < kGroup; ++i) out.codes[i] = nibble(block.codes[32 * (g / 2) + i], g % 2);
}

void unpack(const quant::BlockQ4K& block, int g, SourceGroup& out) { unpack_affine(block, g, out); }

void unpack(const quant::BlockQ5K& block, int g, SourceGroup& out) {
  unpack_affine(block, g, out);
  for (int i = 0; i < kGroup; ++i) {
    out.codes[i] = static_cast<std::uint8_t>(out.codes[i] | (block.high[i] >> g & 1) << 4);
  }
}

void unpack(const quant::BlockQ6K& block, int g, SourceGroup& out) {
  out.d = block.d;
  out.offset = 32;
  const int k = g % 4;
  const std::uint8_t* const low = block.low + 64 * (g / 4) + 32 * (k % 2);
  const std::uint8_t* const high = block.high + 32 * (g / 4);
  std::copy_n(block.scales + std::ptrdiff_t{2} * g, 2, out.half_scales);
  for (int i = 0; i < kGroup; ++i) {
    out.codes[i] = static_cast<std::uint8_t>(nibble(low[i], k / 2) | (high[i] >> (2 * k) & 3) << 4);
  }
}

void unpack(const quant::BlockIQ4NL& block, int, SourceGroup& out) {
  out.d = block.d;
  unpack_nibbles(block.codes, out);
}

void unpack(const quant::BlockIQ4XS& block, int g, SourceGroup& out) {
  out.d = block.d;
  out.scale = block.scale(g);
  unpack_nibbles(block.codes + std::ptrdiff_t{16} * g, out);
}

void unpack(const quant::BlockMXFP4& block, int, SourceGroup& out) {
  out.row_scale = half_of(block.e);
  unpack_nibbles(block.codes, out);
}

/// Where a run of groups starts.
struct Place {
  int output;
  int group;
};

template <class Block>
void read_blocks(const StoredRows& form, const StoredLinear& linear, Place place,
                 std::span<SourceGroup> out) {
  constexpr int kGroups = Block::kElements / kGroup;
  FORGE_CHECK(linear.inputs % Block::kElements == 0, "inputs=", linear.inputs, ", a multiple of ",
              Block::kElements, " needed");
  const std::ptrdiff_t row = std::ptrdiff_t{place.output} * (linear.inputs / Block::kElements);
  const std::int8_t* const table = table_of(linear);
  auto to = out.begin();
  for (int group = place.group; to != out.end();) {
    const auto block = element<Block>(form.rows, row + group / kGroups);
    do {
      *to = {.table = table};
      unpack(block, group % kGroups, *to);
      ++group;
      ++to;
    } while (group % kGroups != 0 && to != out.end());
  }
}

void read(const StoredRows& form, const StoredLinear& linear, Place place,
          std::span<SourceGroup> out) {
  switch (form.type) {
    case quant::WeightType::q8_0:
      return read_blocks<quant::BlockQ80>(form, linear, place, out);
    case quant::WeightType::q4_0:
      return read_blocks<quant::BlockQ40>(form, linear, place, out);
    case quant::WeightType::q4_1:
      return read_blocks<quant::BlockQ41>(form, linear, place, out);
    case quant::WeightType::q5_0:
      return read_blocks<quant::BlockQ50>(form, linear, place, out);
    case quant::WeightType::q5_1:
      return read_blocks<quant::BlockQ51>(form, linear, place, out);
    case quant::WeightType::q2_k:
      return read_blocks<quant::BlockQ2K>(form, linear, place, out);
    case quant::WeightType::q3_k:
      return read_blocks<quant::BlockQ3K>(form, linear, place, out);
    case quant::WeightType::q4_k:
      return read_blocks<quant::BlockQ4K>(form, linear, place, out);
    case quant::WeightType::q5_k:
      return read_blocks<quant::BlockQ5K>(form, linear, place, out);
    case quant::WeightType::q6_k:
      return read_blocks<quant::BlockQ6K>(form, linear, place, out);
    case quant::WeightType::iq4_nl:
      return read_blocks<quant::BlockIQ4NL>(form, linear, place, out);
    case quant::WeightType::iq4_xs:
      return read_blocks<quant::BlockIQ4XS>(form, linear, place, out);
    case quant::WeightType::mxfp4:
      return read_blocks<quant::BlockMXFP4>(form, linear, place, out);
    default:
      FORGE_CHECK(false, "type=", name_of(form.type), " has no codes with scales");
  }
}

SourceGroup read(const StoredInt8& form, const StoredLinear& linear, int output, int group) {
  SourceGroup out;
  out.offset = 128;
  out.row_scale = form.scales[static_cast<std::size_t>(output)];
  std::fill_n(out.codes, kGroup, std::uint8_t{128});
  const std::ptrdiff_t first = static_cast<std::ptrdiff_t>(output) * linear.inputs;
  const int end = std::min(kGroup, linear.inputs - group * kGroup);
  for (int i = 0; i < end; ++i) {
    const auto code = element<std::int8_t>(form.codes, first + group * kGroup + i);
    out.codes[i] = static_cast<std::uint8_t>(code + 128);
  }
  return out;
}

/// Where codes of groups are, of output n: in words of several inputs or of several outputs, zero
/// points in words of several outputs.
struct CodeMap {
  using Packing = StoredGroups::Packing;

  CodeMap(const StoredGroups& groups, const StoredLinear& linear, int output)
      : form(groups), outputs(linear.outputs), inputs(linear.inputs), n(output) {}

  /// AWQ stores eight outputs in the order 0 2 4 6 1 3 5 7, from the lowest bits up.
  int place_of_output() const {
    const int index = n % form.codes_of_word();
    return form.packing == Packing::awq ? index / 2 + (index % 2) * 4 : index;
  }

  std::uint8_t part(std::uint32_t word, int place) const {
    return static_cast<std::uint8_t>(word >> (form.bits * place) & ((1U << form.bits) - 1));
  }

  int zero(std::ptrdiff_t g) const {
    if (form.zeros == nullptr) return 1 << (form.bits - 1);
    const int count = form.codes_of_word();
    const auto word = element<std::uint32_t>(form.zeros, g * (outputs / count) + n / count);
    return part(form.zero_points(word), place_of_output());
  }

  std::uint8_t code(std::ptrdiff_t k) const {
    const int count = form.codes_of_word();
    const auto down = static_cast<int>(k % count);
    if (form.packing == Packing::awq) {
      return part(element<std::uint32_t>(form.codes, k * (outputs / count) + n / count),
                  place_of_output());
    }
    if (form.packing == Packing::rows) {
      return part(element<std::uint32_t>(form.codes, n * (inputs / count) + k / count), down);
    }
    return part(element<std::uint32_t>(form.codes, k / count * outputs + n), down);
  }

  const StoredGroups& form;
  std::ptrdiff_t outputs;
  std::ptrdiff_t inputs;
  int n;
};

SourceGroup read(const StoredGroups& form, const StoredLinear& linear,
                 std::span<const std::int32_t> order, int output, int group) {
  const CodeMap map(form, linear, output);
  const auto input = [&](int i) -> std::size_t {
    const auto k = static_cast<std::size_t>(group) * kGroup + static_cast<std::size_t>(i);
    return order.empty() ? k : static_cast<std::size_t>(order[k]);
  };
  const auto group_of = [&](std::size_t k) {
    return form.order.empty() ? static_cast<int>(k) / form.group_size : form.order[k];
  };
  const int g = group_of(input(0));
  SourceGroup out;
  out.d = element<numerics::F16>(form.scales, g * map.outputs + output);
  out.offset = map.zero(g);
  for (int i = 0; i < kGroup; ++i) {
    FORGE_CHECK(group_of(input(i)) == g, "groups ", g, " and ", group_of(input(i)),
                " within 32 inputs, group_size=", form.group_size);
    out.codes[i] = map.code(static_cast<std::ptrdiff_t>(input(i)));
  }
  return out;
}

}  // namespace

void read_groups(const StoredLinear& linear, std::span<const std::int32_t> order, int output,
                 int first, std::span<SourceGroup> out) {
  if (const auto* rows = std::get_if<StoredRows>(&linear.form)) {
    return read(*rows, linear, {output, first}, out);
  }
  if (const auto* int8 = std::get_if<StoredInt8>(&linear.form)) {
    for (SourceGroup& group : out) group = read(*int8, linear, output, first++);
    return;
  }
  FORGE_CHECK(linear.inputs % kGroup == 0, "inputs=", linear.inputs, ", a multiple of 32 needed");
  const auto& groups = std::get<StoredGroups>(linear.form);
  for (SourceGroup& group : out) group = read(groups, linear, order, output, first++);
}

SourceGroup read_group(const StoredLinear& linear, std::span<const std::int32_t> order, int output,
                       int group) {
  SourceGroup out;
  read_groups(linear, order, output, group, std::span(&out, 1));
  return out;
}

const std::int8_t* table_of(const StoredLinear& linear) {
  const auto* const rows = std::get_if<StoredRows>(&linear.form);
  if (rows == nullptr) return nullptr;
  switch (rows->type) {
    case quant::WeightType::iq4_nl:
    case quant::WeightType::iq4_xs:
      return quant::kIq4Values;
    case quant::WeightType::mxfp4:
      return quant::kFp4Values;
    default:
      return nullptr;
  }
}

std::vector<std::int32_t> packed_order(const StoredLinear& linear) {
  const auto* const groups = std::get_if<StoredGroups>(&linear.form);
  if (groups == nullptr || std::ranges::is_sorted(groups->order)) return {};
  if (panel_kind(linear) == PanelKind::f32) return {};
  std::vector<std::int32_t> order(groups->order.size());
  std::iota(order.begin(), order.end(), 0);
  std::ranges::stable_sort(order, {}, [&](std::int32_t input) {
    return groups->order[static_cast<std::size_t>(input)];
  });
  return order;
}

}  // namespace forge::linear::codes
