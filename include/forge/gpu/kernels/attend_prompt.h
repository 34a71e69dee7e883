// attend_prompt: attention of prompt chunks and of drafts to verify. A tile of consecutive rows
// shares each segment of keys.
//
// Example, with `#include "forge/gpu/kernels.h"`, given `const AttentionInput& in` and
// `const PromptTile* tiles`:
//
//   const AttendPromptArgs args{.in = in, .tiles = tiles};
//   return launch_of(args, args.shape(64));  // up to 64 tiles
#pragma once

#include "forge/gpu/kernels/attention_input.h"
#include "forge/numerics/attention.h"

namespace forge::gpu {

struct AttendPromptArgs {
  static constexpr int kThreads = numerics::kKeySegment;
  static constexpr int kTileRows = 8;  ///< of a tile, the most
  static constexpr BlockResources kResources{.shared_bytes = 18560, .registers = 128};
  AttentionInput in;
  const PromptTile* tiles;

  simt::LaunchShape shape(int tiles_max) const { return {{tiles_max, in.kv.heads(), 1}, kThreads}; }
};

}  // namespace forge::gpu
