#include "forge/model/attention_pass.h"

#include <algorithm>

#include "forge/numerics/vector_ops.h"

namespace forge::model {

void AttentionPass::rotate(float* head, std::uint32_t position) const {
  if (rotary == nullptr) return;
  const int half = config.rope.size / 2;
  if (config.rope.pairing == RopePairing::adjacent) {
    numerics::rotate_adjacent_pairs(head, rotary->cos(position), rotary->sin(position), half);
  } else {
    numerics::rotate_pairs(head, rotary->cos(position), rotary->sin(position), half);
  }
}

Work AttentionPass::work(int window, double operations_of_key, double bytes_of_key) const {
  double seen = 0;
  double read = 0;
  const auto first_seen = [&](int row) {
    const int keys = static_cast<int>(batch.position(row)) + 1;
    return window > 0 ? std::max(0, keys - window) : 0;
  };
  int first = 0;  // of the rows of a sequence
  for (int row = 0; row < batch.rows(); ++row) {
    const int keys = static_cast<int>(batch.position(row)) + 1;
    seen += keys - first_seen(row);
    const auto r = static_cast<std::size_t>(row);
    if (row + 1 < batch.rows() && batch.sequences[r + 1] == batch.sequences[r]) continue;
    read += keys - first_seen(first);
    first = row + 1;
  }
  Work work{.bytes = read * bytes_of_key};
  work.operations[static_cast<std::size_t>(linear::Arithmetic::f32)] = seen * operations_of_key;
  return work;
}

}  // namespace forge::model
