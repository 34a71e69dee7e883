#include "forge/cpu/row_batch.h"

#include <algorithm>

namespace forge::cpu {

void RowBatch::clear() {
  tokens_.clear();
  positions_.clear();
  sequences_.clear();
  tables_.clear();
  logit_rows_.clear();
  slab_logits_.clear();
}

void RowBatch::add_sequence(std::span<const std::uint32_t> blocks) { tables_.push_back(blocks); }

void RowBatch::add_row(TokenId token, std::uint32_t position, bool wants_logits) {
  const std::size_t row = tokens_.size();
  if (row % kSlabRows == 0) slab_logits_.push_back(0);
  if (wants_logits) {
    logit_rows_.push_back(static_cast<std::uint32_t>(row % kSlabRows));
    ++slab_logits_.back();
  }
  tokens_.push_back(token);
  positions_.push_back(position);
  sequences_.push_back(static_cast<std::uint32_t>(tables_.size() - 1));
}

void RowBatch::run(int layers) {
  logits_.resize(std::max(logits_.size(), logit_rows_.size() * vocabulary()));
  std::size_t logits_before = 0;
  for (std::size_t slab = 0; slab < slab_logits_.size(); ++slab) {
    const std::size_t first = slab * kSlabRows;
    const std::size_t count = std::min(kSlabRows, rows() - first);
    const model::ForwardBatch batch{
        .tokens = std::span(tokens_).subspan(first, count),
        .positions = std::span(positions_).subspan(first, count),
        .sequences = std::span(sequences_).subspan(first, count),
        .tables = tables_,
        .logit_rows = std::span(logit_rows_).subspan(logits_before, slab_logits_[slab])};
    model_.forward(batch, layers, std::span(logits_).subspan(logits_before * vocabulary()));
    logits_before += slab_logits_[slab];
  }
}

std::span<const float> RowBatch::logits(std::size_t index) const {
  return std::span(logits_).subspan(index * vocabulary(), vocabulary());
}

}  // namespace forge::cpu
