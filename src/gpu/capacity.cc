#include "capacity.h"

#include <algorithm>

#include "attention_path.h"
#include "forge/model/rotary_table.h"
#include "forge/model/transformer.h"

namespace forge::gpu {
namespace {

/// Table writes of a step for which there is room beside those that its tokens can bring: blocks
/// that a sequence finds cached.
constexpr std::uint32_t kSpareWrites = 1024;

/// Far more of anything than a step has; sums of a few of these still fit.
constexpr std::uint64_t kMost = 1U << 26;

std::uint32_t smallest(std::uint64_t a, std::uint64_t b) {
  return static_cast<std::uint32_t>(std::min({a, b, kMost}));
}

/// Thread blocks of a row that attends over one chunk of keys.
std::uint32_t head_tiles_of(const model::ModelConfig& model) {
  if (const auto* latent = std::get_if<model::LatentConfig>(&model.attention)) {
    return static_cast<std::uint32_t>(ceil_div(latent->heads, kLatentTileHeads));
  }
  const auto& grouped = std::get<model::GroupedQueryConfig>(model.attention);
  const int of_group = ceil_div(grouped.heads / grouped.kv_heads, kTileHeads);
  return static_cast<std::uint32_t>(grouped.kv_heads * of_group);
}

std::uint32_t chunks_of(std::uint32_t rows) { return (rows + kChunkRows - 1) / kChunkRows; }

}  // namespace

Capacity::Capacity(const model::ModelConfig& model, const executor::ExecutorOptions& options) {
  const std::uint64_t slots = std::uint64_t{options.num_blocks} * options.block_size;
  const std::uint32_t k = options.drafts;

  batch_rows = options.max_batch_size;
  slices = smallest(options.max_batch_size, slots);
  tokens = smallest(options.max_batch_tokens, slots);
  drafts = smallest(std::uint64_t{slices} * k, tokens);
  picks = smallest(std::uint64_t{slices} * (k + 1), tokens);

  // Passes with more than a row a slice: the target's and, if there are drafts, the first of the
  // draft model.
  const std::uint32_t wide_passes = k > 0 ? 2 : 1;
  const std::uint32_t narrow_passes = k > 0 ? k - 1 : 0;
  chunks = wide_passes * chunks_of(tokens) + narrow_passes * chunks_of(slices);
  rows = wide_passes * tokens + drafts;
  logits = picks + drafts;
  tiles = wide_passes * (slices + chunks_of(tokens) + tokens / PromptTile::kMaxRows);
  // A host block may be copied to twice in a step, if its content comes back in between.
  pairs = slices + 3 * options.num_host_blocks;
  writes = 2 * slices + tokens / options.block_size + kSpareWrites;

  chunk_rows = std::min(tokens, kChunkRows);
  chunk_logits = std::min(chunk_rows, picks);
  positions = smallest(slots, model::RotaryTable::kPositionsMax);
  table_stride = options.num_blocks;
  key_chunks = (positions + numerics::kKeyChunk - 1) / numerics::kKeyChunk;
  split_rows = std::min(chunk_rows, split_rows_max(head_tiles_of(model)));
  block_size = options.block_size;
  block_floats = options.block_size * kv_shape(model).token_floats();
}

}  // namespace forge::gpu
