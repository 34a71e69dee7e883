// embed: the rows of hidden states begin as the embeddings of their tokens.
//
//   grid      x: rows; y: pieces of 4 floats a thread
//   memory    a row of the embedding and a row of `hidden`, 16 bytes a thread, consecutive in a
//             warp. A hidden size that is no multiple of 4 leaves rows unaligned: float by float
//   bits      one product; by 1, which changes no bit, where a model has no multiplier
//
// A token that is a draft is not known to the host yet: `sample` has left it on the device.
#pragma once

#include "forge/gpu/kernels/embed.h"
#include "forge/simt/dialect.h"

namespace FORGE_KERNELS {
using namespace simt;

FORGE_KERNEL(gpu::EmbedArgs::kThreads) embed(gpu::EmbedArgs a) {
  const auto row = static_cast<std::uint32_t>(block().x);
  const gpu::PassCounts counts = global(a.counts)[0];
  if (row >= counts.rows) return;
  const gpu::RowInput input = global(a.rows)[row];
  const std::uint32_t token =
      input.draft == gpu::RowInput::kNoDraft ? input.token : global(a.drafts)[input.draft];

  const int size = a.hidden_size;
  const gptr<const float> from = global(a.embedding) + std::int64_t{token} * size;
  const gptr<float> to = global(a.hidden) + std::int64_t{row} * size;
  const int first = 4 * (block().y * threads() + thread());
  if (size % 4 == 0) {
    if (first >= size) return;
    const Float4 x = load4(from + first);
    store4(to + first,
           {x.x * a.multiplier, x.y * a.multiplier, x.z * a.multiplier, x.w * a.multiplier});
  } else {
    for (int i = first; i < first + 4 && i < size; ++i) {
      const float x = from[i];
      to[i] = x * a.multiplier;
    }
  }
}

}  // namespace FORGE_KERNELS
