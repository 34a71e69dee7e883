// ForwardBatch: the rows of one forward pass, tokens of any sequences at any positions.
//
// Thread contract: a value.
#pragma once

#include <cstdint>
#include <span>

#include "forge/core/ids.h"

namespace forge::model {

/// T rows to run. All spans are borrowed.
///
/// Rows of one sequence must be in ascending order of position and see one another
/// causally; the keys and values of all earlier positions are in the pool already, or in
/// earlier rows of this batch.
struct ForwardBatch {
  std::span<const TokenId> tokens;                         ///< [T], each below V
  std::span<const std::uint32_t> positions;                ///< [T]
  std::span<const std::uint32_t> sequences;                ///< [T], index into `tables`
  std::span<const std::span<const std::uint32_t>> tables;  ///< block table of each sequence
  std::span<const std::uint32_t> logit_rows;               ///< [R], rows whose logits are wanted

  int rows() const { return static_cast<int>(tokens.size()); }

  /// The block table of row `row`.
  std::span<const std::uint32_t> table(int row) const {
    return tables[sequences[static_cast<std::size_t>(row)]];
  }

  std::uint32_t position(int row) const { return positions[static_cast<std::size_t>(row)]; }
};

/// Aborts unless the three spans of rows are equally long, sequences have tables, and these cover
/// the positions with blocks of `block_size` slots.
void check_batch(const ForwardBatch& batch, std::uint32_t block_size);

}  // namespace forge::model
