#include "capacity.h"

#include <algorithm>

#include "attention_path.h"
#include "forge/core/sampling_params.h"
#include "forge/model/transformer.h"
#include "forge/sampling/mask.h"

namespace forge::gpu {
namespace {

/// Table writes of a step for which there is room beside those that its tokens can bring: blocks
/// that a sequence finds cached.
constexpr std::uint32_t kSpareWrites = 1024;

/// Rows of a prompt whose logits are wanted, to be told, that go through the head together.
constexpr std::uint32_t kToldTogether = 64;

/// Far more of anything than a step has; sums of a few of these still fit.
constexpr std::uint64_t kMost = 1U << 26;

std::uint32_t smallest(std::uint64_t a, std::uint64_t b) {
  return static_cast<std::uint32_t>(std::min({a, b, kMost}));
}

/// Thread blocks of a row that attends over one segment of keys.
std::uint32_t head_tiles_of(const model::ModelConfig& model) {
  if (const auto* latent = std::get_if<model::LatentConfig>(&model.attention)) {
    return static_cast<std::uint32_t>(ceil_div(latent->heads, kLatentTileHeads));
  }
  const auto& grouped = std::get<model::GroupedQueryConfig>(model.attention);
  const int of_group = ceil_div(grouped.heads / grouped.kv_heads, kTileHeads);
  return static_cast<std::uint32_t>(grouped.kv_heads * of_group);
}

GpuNumerics numerics_of(const GpuModels& models) {
  const bool all_fast = models.model.numerics() == GpuNumerics::fast &&
                        (!models.draft || models.draft->numerics() == GpuNumerics::fast);
  return all_fast ? GpuNumerics::fast : GpuNumerics::canonical;
}

}  // namespace

CapacityTerms terms_of(const GpuModels& models, const GpuOptions& gpu, std::uint64_t shared_bytes) {
  return {.numerics = numerics_of(models),
          .has_draft_model = models.draft.has_value(),
          .matrix_library = gpu.matrix_library,
          .positions = models.model.config().positions,
          .chunk_rows = gpu.chunk_rows,
          .shared_bytes = shared_bytes};
}

Capacity::Capacity(const model::ModelConfig& model, const executor::ExecutorOptions& options,
                   const CapacityTerms& terms) {
  const bool has_draft_model = terms.has_draft_model;
  const std::uint64_t slots = std::uint64_t{options.cache.num_blocks} * options.cache.block_size;
  const std::uint32_t k = options.drafts;

  batch_rows = options.batch.max_batch_size;
  slices = smallest(options.batch.max_batch_size, slots);
  tokens = smallest(options.batch.max_batch_tokens, slots);
  drafts = smallest(std::uint64_t{slices} * k, tokens);
  picks = smallest(std::uint64_t{slices} * (k + 1), tokens);

  // The passes with more than a row a slice: the one that verifies, and the first that proposes. Of
  // a draft model that catches up at most one slot of each block.
  const bool proposes = k > 0 || has_draft_model;
  const std::uint32_t first_rows =
      proposes ? tokens + (has_draft_model ? options.cache.num_blocks : 0) : 0;
  const std::uint32_t narrow_passes = k > 0 ? k - 1 : 0;
  const bool is_fast = terms.numerics == GpuNumerics::fast;
  tile_rows = is_fast ? SpanTiles::kRowsMax : AttendPromptArgs::kTileRows;
  const auto tiles_of = [&](std::uint32_t its_slabs) {
    return slices + its_slabs + tokens / tile_rows;
  };
  slab_rows = std::min(std::max(tokens, first_rows), terms.chunk_rows);
  const auto slabs_of = [&](std::uint32_t of_rows) {
    return (of_rows + slab_rows - 1) / slab_rows;
  };
  slab_logits = std::min(slab_rows, std::max(picks, kToldTogether));
  const std::uint32_t told_slabs = (tokens + slab_logits - 1) / slab_logits;
  slabs = told_slabs + slabs_of(first_rows) + narrow_passes * slabs_of(slices);
  rows = tokens + first_rows + drafts;
  logits = tokens + drafts;
  tiles = tiles_of(told_slabs) + (proposes ? tiles_of(slabs_of(first_rows)) : 0);
  // A host block may be copied to twice in a step, if its content comes back in between.
  pairs = slices + 3 * options.cache.num_host_blocks;
  writes = 2 * slices + tokens / options.cache.block_size + kSpareWrites;

  positions = smallest(slots, static_cast<std::uint64_t>(terms.positions));
  table_stride = (positions + options.cache.block_size - 1) / options.cache.block_size;
  reads_logits = options.digest_logits || !is_fast;
  vocabulary = static_cast<std::uint32_t>(model.vocabulary_size);
  const std::uint64_t of_sequence =
      std::min<std::uint64_t>(vocabulary, positions + SamplingParams::kLogitBiasMax);
  adjustments = smallest(slices * of_sequence, kMost);
  mask_words = smallest(std::uint64_t{picks} * sampling::mask_words(vocabulary), kMost);
  key_segments = (positions + numerics::kKeySegment - 1) / numerics::kKeySegment;
  split_rows = std::min(slab_rows, split_rows_max(head_tiles_of(model)));
  shared_bytes = terms.shared_bytes;
  uses_library = terms.matrix_library && is_fast && slab_rows >= kLibraryRowsMin;
  block_size = options.cache.block_size;
  kv_type = options.kv_type;
  block_numbers = options.cache.block_size * kv_shape(model).token_numbers();
  layer_numbers = block_numbers / static_cast<std::uint64_t>(model.layers);
}

}  // namespace forge::gpu
