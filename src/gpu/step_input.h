// StepInput: what a step brings to the device, as the host builds it up, and how it is cut into
// slabs of rows.
//
// Slabs number the rows, logits and tiles of the whole step; their kernels count from the slab's
// first ones.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "capacity.h"
#include "forge/executor/step_slices.h"
#include "forge/gpu/kernels.h"

namespace forge::gpu {

/// What the logits of a slab are for. Each needs what those before it need, and more.
enum class LogitsUse : std::uint8_t {
  largest,    ///< the pick of the largest, at temperature 0
  read,       ///< picks above it as well, a digest, or to be told
  processed,  ///< picks after they have changed (process_logits.h)
};
inline constexpr std::size_t kLogitsUses = 3;

/// Up to Capacity::slab_rows rows of one pass. They go through all layers of the pass together.
struct Slab {
  executor::Pass pass;
  PassCounts counts;
  std::uint32_t index = 0;  ///< number among the step's slabs
  std::uint32_t first_row = 0;
  std::uint32_t first_logits = 0;
  std::uint32_t first_tile = 0;
  LogitsUse logits_use = LogitsUse::largest;  ///< of the row that needs most
  std::uint32_t longest_decode = 0;           ///< tokens of the longest context of a decode row
  std::uint32_t longest_in_tile = 0;          ///< likewise of a row in a tile
  std::uint32_t tile_rows = 0;                ///< rows of the longest tile

  void use_logits(LogitsUse use) { logits_use = std::max(logits_use, use); }
};

/// Elements first .. first + count - 1 of a list.
struct ListRange {
  std::uint32_t first = 0;
  std::uint32_t count = 0;
};

/// A row of logits that the host wants, to tell of it.
struct ToldLogits {
  std::uint32_t slab = 0;
  std::uint32_t row = 0;     ///< among the slab's rows with logits
  std::uint32_t number = 0;  ///< in the step, as StepSlice::first_logits counts
};

struct StepInput {
  explicit StepInput(const Capacity& capacity) {
    slabs.reserve(capacity.slabs);
    rows.reserve(capacity.rows);
    logits.reserve(capacity.logits);
    processing.reserve(capacity.logits);
    adjustments.reserve(capacity.adjustments);
    said.reserve(capacity.slices);
    known_drafts.reserve(capacity.drafts);
    tiles.reserve(capacity.tiles);
    pairs.reserve(capacity.pairs);
    writes.reserve(capacity.writes);
  }

  void clear() {
    slabs.clear();
    rows.clear();
    logits.clear();
    processing.clear();
    adjustments.clear();
    masks = {};
    told.clear();
    said.clear();
    known_drafts.clear();
    tiles.clear();
    pairs.clear();
    writes.clear();
  }

  std::vector<Slab> slabs;
  std::vector<RowInput> rows;
  std::vector<LogitInput> logits;
  std::vector<ProcessInput> processing;  ///< parallel to `logits`, or empty: nothing to be done
  std::vector<sampling::Adjustment> adjustments;
  std::span<const std::uint32_t> masks;     ///< words, of the step's slices
  std::vector<ToldLogits> told;             ///< in the order of slabs
  std::vector<ListRange> said;              ///< [slices] the adjustments of each
  std::vector<std::uint32_t> known_drafts;  ///< all drafts, if no pass proposes them
  std::vector<PromptTile> tiles;
  std::vector<BlockPair> pairs;
  std::vector<TableWrite> writes;
};

/// How many slabs, rows and so on are in an upload.
struct StepSizes {
  std::uint32_t slabs = 0;
  std::uint32_t rows = 0;
  std::uint32_t logits = 0;
  std::uint32_t processing = 0;
  std::uint32_t adjustments = 0;
  std::uint32_t masks = 0;
  std::uint32_t known_drafts = 0;
  std::uint32_t tiles = 0;
  std::uint32_t pairs = 0;
  std::uint32_t writes = 0;

  static StepSizes of(const StepInput& input) {
    const auto size = [](const auto& list) { return static_cast<std::uint32_t>(list.size()); };
    return {size(input.slabs),        size(input.rows),        size(input.logits),
            size(input.processing),   size(input.adjustments), size(input.masks),
            size(input.known_drafts), size(input.tiles),       size(input.pairs),
            size(input.writes)};
  }
  static StepSizes of(const Capacity& c) {
    return {c.slabs,      c.rows,   c.logits, c.logits, c.adjustments,
            c.mask_words, c.drafts, c.tiles,  c.pairs,  c.writes};
  }
};

}  // namespace forge::gpu
