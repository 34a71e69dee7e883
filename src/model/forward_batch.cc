#include "forge/model/forward_batch.h"

#include "forge/core/check.h"

namespace forge::model {

void check_batch(const ForwardBatch& batch, std::uint32_t block_size) {
  FORGE_CHECK(batch.positions.size() == batch.tokens.size() &&
                  batch.sequences.size() == batch.tokens.size(),
              "tokens=", batch.tokens.size(), " positions=", batch.positions.size(),
              " sequences=", batch.sequences.size());
  for (std::size_t row = 0; row < batch.tokens.size(); ++row) {
    FORGE_CHECK(batch.sequences[row] < batch.tables.size(), "row=", row,
                " sequence=", batch.sequences[row], " tables=", batch.tables.size());
    const std::size_t capacity = batch.tables[batch.sequences[row]].size() * block_size;
    FORGE_CHECK(batch.positions[row] < capacity, "row=", row, " position=", batch.positions[row],
                " slots of its block table=", capacity);
  }
}

}  // namespace forge::model
