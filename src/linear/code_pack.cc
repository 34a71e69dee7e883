// Writing panels of codes, as code_layout.h has them.
#include <algorithm>
#include <array>
#include <cstring>
#include <memory>

#include "code_source.h"
#include "forge/core/check.h"
#include "forge/linear/code_layout.h"
#include "panels.h"

namespace forge::linear::codes {
namespace {

/// Quad q of a group of codes: four bytes as a word.
std::uint32_t quad(const SourceGroup& from, int q) {
  std::uint32_t word;
  std::memcpy(&word, from.codes + 4 * q, sizeof word);
  return word;
}

template <class Word>
void put_quads(const SourceGroup& from, int n, Word (&quads)[kQuads][kPanelOutputs]) {
  for (int q = 0; q < kQuads; ++q) quads[q][n] = quad(from, q);
}

template <class Word>
void put_pairs(const SourceGroup& from, int n, Word (&pairs)[kQuads / 2][kPanelOutputs]) {
  for (int j = 0; j < kQuads / 2; ++j) {
    pairs[j][n] = (quad(from, j) & four(15)) | (quad(from, kQuads / 2 + j) & four(15)) << 4;
  }
}

void put(const SourceGroup& from, int n, Q80Group& group) {
  put_quads(from, n, group.quads);
  group.scales[n] = from.d;
}

void put(const SourceGroup& from, int n, Int8Group& group) { put_quads(from, n, group.quads); }

void put(const SourceGroup& from, int n, Q40Group& group) {
  put_pairs(from, n, group.pairs);
  group.scales[n] = from.d;
}

void put(const SourceGroup& from, int n, Int4Group& group) {
  put_pairs(from, n, group.pairs);
  group.scales[n] = from.d;
  group.zeros[n] = static_cast<std::uint8_t>(from.offset);
}

template <class Word>
void put_fifth_bits(const SourceGroup& from, int n, Word (&fifth)[kPanelOutputs]) {
  for (int q = 0; q < kQuads; ++q) fifth[n] |= (quad(from, q) >> 4 & four(1)) << q;
}

void put(const SourceGroup& from, int n, Q50Group& group) {
  put_pairs(from, n, group.pairs);
  put_fifth_bits(from, n, group.fifth);
  group.scales[n] = from.d;
}

void put(const SourceGroup& from, int n, Q51Group& group) {
  put_pairs(from, n, group.pairs);
  put_fifth_bits(from, n, group.fifth);
  group.scales[n] = from.d;
  group.smallest[n] = from.m;
}

void put(const SourceGroup& from, int n, TableGroup& group) {
  put_pairs(from, n, group.pairs);
  group.scales[n] = from.step();
}

/// Two bits of each code, from bit `shift` on.
template <class Word>
void put_two_bits(const SourceGroup& from, int n, int shift, Word (&words)[2][kPanelOutputs]) {
  for (int q = 0; q < kQuads; ++q) {
    words[q / 4][n] |= (quad(from, q) >> shift & four(3)) << (2 * (q % 4));
  }
}

void put(const SourceGroup& from, int n, Q2KBlock::Group& group) {
  put_two_bits(from, n, 0, group.lows);
  for (int half = 0; half < 2; ++half) {
    group.scales[half][n] =
        static_cast<std::uint8_t>(from.half_scales[half] | from.half_mins[half] << 4);
  }
}

void put(const SourceGroup& from, int n, Q3KBlock::Group& group) {
  put_two_bits(from, n, 0, group.lows);
  for (int q = 0; q < kQuads; ++q) group.third[n] |= (quad(from, q) >> 2 & four(1)) << q;
  for (int half = 0; half < 2; ++half) {
    group.scales[half][n] = static_cast<std::int8_t>(from.half_scales[half]);
  }
}

void put(const SourceGroup& from, int n, Q4KBlock::Group& group) {
  put_pairs(from, n, group.pairs);
  group.scales[n] = static_cast<std::uint8_t>(from.scale);
  group.mins[n] = static_cast<std::uint8_t>(from.min);
}

void put(const SourceGroup& from, int n, Q5KBlock::Group& group) {
  put_pairs(from, n, group.pairs);
  put_fifth_bits(from, n, group.fifth);
  group.scales[n] = static_cast<std::uint8_t>(from.scale);
  group.mins[n] = static_cast<std::uint8_t>(from.min);
}

void put(const SourceGroup& from, int n, Q6KBlock::Group& group) {
  put_pairs(from, n, group.pairs);
  put_two_bits(from, n, 4, group.uppers);
  for (int half = 0; half < 2; ++half) {
    group.scales[half][n] = static_cast<std::int8_t>(from.half_scales[half]);
  }
}

/// Calls take(n, output's part, its index in the part) for the outputs of a panel.
template <class Take>
void for_each_output(const PanelSource& source, const Take& take) {
  int first = 0;  // of the part
  for (const StoredLinear& part : source.parts) {
    for (int n = 0; n < source.count; ++n) {
      const int output = source.first + n - first;
      if (output >= 0 && output < part.outputs) take(n, part, output);
    }
    first += part.outputs;
  }
}

/// A panel of kinds whose groups stand alone, some of them together, because neighbours of a row
/// are neighbours in memory. memcpy: the panel is bytes, of any alignment.
template <class Group>
void pack_groups(const PanelSource& source, int inputs, std::byte* panel) {
  constexpr int kTogether = 16;
  const int groups = group_count(inputs);
  for (int first = 0; first < groups; first += kTogether) {
    const int count = std::min(kTogether, groups - first);
    std::array<Group, kTogether> packed = {};
    std::array<SourceGroup, kTogether> row;
    for_each_output(source, [&](int n, const StoredLinear& part, int output) {
      const std::span from(row.data(), static_cast<std::size_t>(count));
      read_groups(part, source.order, output, first, from);
      for (std::size_t g = 0; g < from.size(); ++g) put(from[g], n, packed[g]);
    });
    const std::size_t bytes = sizeof(Group) * static_cast<std::size_t>(count);
    std::memcpy(panel, packed.data(), bytes);
    panel += bytes;
  }
}

/// A panel of kinds whose groups come in blocks of eight.
template <class Block>
void pack_blocks(const PanelSource& source, int inputs, std::byte* panel) {
  for (int first = 0; first < group_count(inputs); first += kBlockGroups, panel += sizeof(Block)) {
    Block packed = {};
    std::array<SourceGroup, kBlockGroups> from;
    for_each_output(source, [&](int n, const StoredLinear& part, int output) {
      read_groups(part, source.order, output, first, from);
      for (std::size_t g = 0; g < from.size(); ++g) put(from[g], n, packed.groups[g]);
      packed.d[n] = from.front().d;
      if constexpr (requires { packed.m; }) packed.m[n] = from.front().m;
    });
    std::memcpy(panel, &packed, sizeof packed);
  }
}

void pack_int8(const PanelSource& source, int inputs, std::byte* panel) {
  Int8Head head = {};
  for_each_output(source, [&](int n, const StoredLinear& part, int output) {
    head.scales[n] = read_group(part, source.order, output, 0).row_scale;
  });
  std::memcpy(panel, &head, sizeof head);
  pack_groups<Int8Group>(source, inputs, panel + sizeof head);
}

/// All parts of a section have one table.
void pack_table(const PanelSource& source, int inputs, std::byte* panel) {
  const std::int8_t* const table = table_of(source.parts.front());
  TableHead head = {};
  for (int i = 0; i < 16; ++i) head.numbers[i] = static_cast<std::uint8_t>(table[i] + 128);
  std::memcpy(panel, &head, sizeof head);
  pack_groups<TableGroup>(source, inputs, panel + sizeof head);
}

}  // namespace

void pack(PanelKind kind, const PanelSource& source, int inputs, std::byte* panel) {
  if (inputs == 0) return;
  switch (kind) {
    case PanelKind::q8_0:
      return pack_groups<Q80Group>(source, inputs, panel);
    case PanelKind::int8:
      return pack_int8(source, inputs, panel);
    case PanelKind::q4_0:
      return pack_groups<Q40Group>(source, inputs, panel);
    case PanelKind::int4:
      return pack_groups<Int4Group>(source, inputs, panel);
    case PanelKind::q5_0:
      return pack_groups<Q50Group>(source, inputs, panel);
    case PanelKind::q5_1:
      return pack_groups<Q51Group>(source, inputs, panel);
    case PanelKind::q4_k:
      return pack_blocks<Q4KBlock>(source, inputs, panel);
    case PanelKind::q5_k:
      return pack_blocks<Q5KBlock>(source, inputs, panel);
    case PanelKind::q6_k:
      return pack_blocks<Q6KBlock>(source, inputs, panel);
    case PanelKind::table4:
      return pack_table(source, inputs, panel);
    case PanelKind::q2_k:
      return pack_blocks<Q2KBlock>(source, inputs, panel);
    case PanelKind::q3_k:
      return pack_blocks<Q3KBlock>(source, inputs, panel);
    default:
      FORGE_CHECK(false, "kind=", static_cast<int>(kind), " has no codes");
  }
}

}  // namespace forge::linear::codes
