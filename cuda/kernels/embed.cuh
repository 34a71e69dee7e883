// embed: the rows of hidden states begin as the embeddings of their tokens.
//
//   grid      x: rows; y: pieces of 4 floats a thread, or of a group of 32 where they are codes
//   memory    a row of the embedding, 4 numbers a thread at once, and a row of `hidden`, 16 bytes a
//             thread, consecutive in a warp. A hidden size that is no multiple of 4 leaves rows
//             unaligned: number by number. Codes are read from panels, made for products, where an
//             output's words are 128 bytes apart: 8 to 32 times as many bytes pass as are wanted,
//             of few rows
//   bits      those of stored_row (linear/stored_linear.h), and one product; by 1, which changes no
//             bit, where a model has no multiplier
//
// A token that is a draft is not known to the host yet: `sample` has left it on the device.
#pragma once

#include "code_panel.cuh"
#include "forge/gpu/kernels/embed.h"
#include "forge/simt/dialect.h"
#include "widen.cuh"

namespace FORGE_KERNELS {
using namespace simt;

// How numbers of each kind are stored and widened, one and four at a time.

struct F32Numbers {
  using Number = float;
  using Four = Float4;

  static FORGE_DEVICE float widened(Number x) { return x; }
  static FORGE_DEVICE Float4 widened(const Four& four) { return four; }
};

struct alignas(8) FourHalves {
  std::uint16_t x, y, z, w;
};

struct F16Numbers {
  using Number = std::uint16_t;
  using Four = FourHalves;

  static FORGE_DEVICE float widened(Number x) { return widened_f16(x); }
  static FORGE_DEVICE Float4 widened(const Four& four) {
    return {widened_f16(four.x), widened_f16(four.y), widened_f16(four.z), widened_f16(four.w)};
  }
};

struct BF16Numbers {
  using Number = std::uint16_t;
  using Four = FourHalves;

  static FORGE_DEVICE float widened(Number x) { return widened_bf16(x); }
  static FORGE_DEVICE Float4 widened(const Four& four) {
    return {widened_bf16(four.x), widened_bf16(four.y), widened_bf16(four.z), widened_bf16(four.w)};
  }
};

/// Numbers first .. first + 3 of a token's row.
template <class Numbers>
FORGE_DEVICE void embed_four(const gpu::EmbedArgs& a, std::uint32_t token, int first,
                             gptr<float> to) {
  const int size = a.hidden_size;
  const std::int64_t row = std::int64_t{token} * size;
  if (size % 4 == 0) {
    if (first >= size) return;
    const auto* const fours = static_cast<const typename Numbers::Four*>(a.embedding);
    const typename Numbers::Four four = global(fours)[(row + first) / 4];
    const Float4 x = Numbers::widened(four);
    store4(to + first,
           {x.x * a.multiplier, x.y * a.multiplier, x.z * a.multiplier, x.w * a.multiplier});
    return;
  }
  const auto* const numbers = static_cast<const typename Numbers::Number*>(a.embedding);
  for (int i = first; i < first + 4 && i < size; ++i) {
    const typename Numbers::Number x = global(numbers)[row + i];
    to[i] = Numbers::widened(x) * a.multiplier;
  }
}

/// Numbers 32 group .. 32 group + 31 of a token's row, which is an output of a panel.
FORGE_DEVICE void embed_group(const gpu::EmbedArgs& a, std::uint32_t token, int group,
                              gptr<float> to) {
  if (group >= linear::codes::group_count(a.hidden_size)) return;
  constexpr std::uint32_t kOutputs = linear::kPanelOutputs;
  const std::size_t panel_bytes = linear::codes::panel_bytes(a.kind, a.hidden_size);
  const auto* const panel =
      static_cast<const std::byte*>(a.embedding) + token / kOutputs * panel_bytes;
  GroupCodes codes;
  read_group(a.kind, panel, group, static_cast<int>(token % kOutputs), codes);
  for (int q = 0; q < linear::codes::kQuads; ++q) {
    const int half = q / 4;
    const float step = codes.scales.step * static_cast<float>(codes.scales.half_scales[half]);
    const float low = codes.scales.minus_minimum * static_cast<float>(codes.scales.half_mins[half]);
    for (int i = 0; i < 4; ++i) {
      const int k = linear::codes::kGroup * group + 4 * q + i;
      const auto code = static_cast<std::int8_t>(codes.words[q] >> (8 * i));
      const float number = step * static_cast<float>(code - codes.scales.offset);
      const float x = linear::has_minima(a.kind) ? number + low : number;
      if (k < a.hidden_size) to[k] = x * a.multiplier;
    }
  }
}

FORGE_KERNEL(gpu::EmbedArgs::kThreads) embed(gpu::EmbedArgs a) {
  const auto row = static_cast<std::uint32_t>(block().x);
  const gpu::PassCounts counts = global(a.counts)[0];
  if (row >= counts.rows) return;
  const gpu::RowInput input = global(a.rows)[row];
  const std::uint32_t token =
      input.draft == gpu::RowInput::kNoDraft ? input.token : global(a.drafts)[input.draft];

  const gptr<float> to = global(a.hidden) + std::int64_t{row} * a.hidden_size;
  const int piece = block().y * threads() + thread();
  switch (a.kind) {
    case linear::PanelKind::f32:
      return embed_four<F32Numbers>(a, token, 4 * piece, to);
    case linear::PanelKind::f16:
      return embed_four<F16Numbers>(a, token, 4 * piece, to);
    case linear::PanelKind::bf16:
      return embed_four<BF16Numbers>(a, token, 4 * piece, to);
    default:
      return embed_group(a, token, piece, to);
  }
}

}  // namespace FORGE_KERNELS
