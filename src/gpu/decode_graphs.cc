#include "decode_graphs.h"

#include <algorithm>
#include <array>
#include <bit>

#include "attention_path.h"

namespace forge::gpu {
namespace {

/// The most rows of each bucket.
constexpr std::array<std::uint32_t, 13> kRows{1, 2, 4, 8, 16, 24, 32, 48, 64, 96, 128, 192, 256};

/// Number of the first bucket that holds `rows`; kRows.size() if there is none.
std::size_t row_bucket(std::uint32_t rows) {
  return static_cast<std::size_t>(std::ranges::lower_bound(kRows, rows) - kRows.begin());
}

/// Number of the bucket of `segments` >= 1: bucket i holds up to 2^i.
std::uint32_t length_bucket(std::uint32_t segments) {
  return static_cast<std::uint32_t>(std::bit_width(segments - 1));
}

}  // namespace

DecodeGraphs::DecodeGraphs(const Capacity& capacity)
    : capacity_(capacity), length_buckets_(length_bucket(capacity.key_segments) + 1) {
  entries_.resize(kLogitsUses * kRows.size() * length_buckets_);
}

std::optional<DecodeGraphs::Bucket> DecodeGraphs::bucket_of(const StepInput& input) const {
  if (input.slabs.size() != 1 || !input.tiles.empty() || !input.pairs.empty() ||
      !input.adjustments.empty() || !input.masks.empty() || !input.told.empty()) {
    return std::nullopt;
  }
  const std::size_t rows_index = row_bucket(input.slabs.front().counts.rows);
  if (rows_index == kRows.size()) return std::nullopt;
  const std::uint32_t rows = std::min({kRows[rows_index], capacity_.slices, capacity_.slab_rows});
  if (input.writes.size() > rows) return std::nullopt;

  Bucket bucket;
  bucket.shape = SlabShape::of(input.slabs.front());
  const std::uint32_t length_index = length_bucket(bucket.shape.key_segments);
  const std::uint32_t key_segments = std::min(1U << length_index, capacity_.key_segments);
  const bool split = decode_path(rows, key_segments, capacity_.split_rows) == DecodePath::split;
  bucket.shape.key_segments = split ? key_segments : 1;
  const std::uint32_t logits = std::min(rows, capacity_.slab_logits);
  bucket.shape.counts = {.rows = rows, .logit_rows = logits, .decode_rows = rows};
  const LogitsUse use = bucket.shape.logits_use;
  bucket.sizes = {.slabs = 1,
                  .rows = rows,
                  .logits = logits,
                  .processing = use == LogitsUse::processed ? logits : 0,
                  .writes = rows};
  const std::size_t of_rows = kLogitsUses * rows_index + static_cast<std::size_t>(use);
  bucket.entry = of_rows * length_buckets_ + (split ? length_index : 0);
  return bucket;
}

}  // namespace forge::gpu
