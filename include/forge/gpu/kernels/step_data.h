// What a step brings to the device: the rows of its passes, what is wanted of them, and how many
// there are. Host code writes these, kernels read them.
#pragma once

#include <cstdint>

#include "forge/sampling/adjustment.h"
#include "forge/sampling/filter.h"

namespace forge::gpu {

/// One row of a pass: a token at a position of a sequence.
struct alignas(16) RowInput {
  std::uint32_t token = 0;
  std::int32_t draft = kNoDraft;  ///< if not kNoDraft, the token is drafts[draft] instead
  std::uint32_t position = 0;
  std::uint32_t table = 0;  ///< row of the block tables

  static constexpr std::int32_t kNoDraft = -1;
};

/// A row whose logits are wanted, and how a token is picked from them.
struct alignas(16) LogitInput {
  std::uint64_t seed = 0;
  std::uint64_t position = 0;               ///< that of the token that is picked
  std::uint32_t row = 0;                    ///< number in the pass
  std::int32_t draft = RowInput::kNoDraft;  ///< where the pick goes as a draft, if anywhere
  std::uint32_t pick = 0;  ///< the pick goes to picks[pick], its digest to digests[pick]
  float temperature = 0;

  static constexpr std::uint32_t kPicksNothing = 0xffffffff;  ///< its logits are only told
};

/// What happens to a row of logits before a token is picked from it (sampling/pipeline.h).
struct alignas(16) ProcessInput {
  sampling::Filter filter;
  sampling::Penalties penalties;
  std::uint32_t first_adjustment = 0;  ///< those of its sequence, ascending by token
  std::uint32_t adjustment_count = 0;
  std::uint32_t first_draft = 0;  ///< the drafts before its position, which count as said
  std::uint32_t draft_count = 0;
  std::uint32_t mask = kNoMask;  ///< the number of its mask (sampling/mask.h)

  static constexpr std::uint32_t kNoMask = 0xffffffff;
};

/// Consecutive rows of one sequence that attend together: rows first .. first + count - 1 of the
/// pass, at consecutive positions. How many at most, the kernels' pages say that take tiles.
struct PromptTile {
  std::uint32_t first = 0;
  std::uint32_t count = 0;
};

/// Set tables[table][index] to block.
struct TableWrite {
  std::uint32_t table = 0;
  std::uint32_t index = 0;
  std::uint32_t block = 0;
};

struct BlockPair {
  std::uint32_t from = 0;
  std::uint32_t to = 0;
};

/// The counts of one pass, in device memory.
struct alignas(16) PassCounts {
  std::uint32_t rows = 0;
  std::uint32_t logit_rows = 0;
  std::uint32_t decode_rows = 0;  ///< leading rows, each of which attends by itself
  std::uint32_t prompt_tiles = 0;
};

}  // namespace forge::gpu
