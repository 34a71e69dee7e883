// SpanPass: a pass of fast attention over the sequences of a world, for the tests of its kernels:
// rows, what they ask for, and what they must get, which is what span_attention_reference makes
// (numerics/span_attention.h).
#pragma once

#include <ostream>
#include <utility>
#include <vector>

#include "forge/numerics/tensor_product.h"
#include "gpu/kv_world.h"

namespace forge::gpu {

/// What models differ in.
struct SpanKind {
  int window = 0;       ///< positions that a row sees; 0: all
  float score_cap = 0;  ///< 0: none
  bool sinks = false;
  numerics::HalfType out = numerics::HalfType::bf16;
};
std::ostream& operator<<(std::ostream& out, const SpanKind& kind);

/// Rows first .. end - 1 of each sequence, in tiles; before them a row that decodes.
struct TiledRows {
  TiledRows(const std::vector<std::pair<int, int>>& slices, int tile_rows);

  /// Of all rows, and with a tile beyond the count that names no rows.
  PassCounts counts() const;
  std::vector<PromptTile> tiles_and_one() const;

  std::vector<int> lengths;  ///< of each sequence: its end
  std::vector<RowInput> rows;
  std::vector<PromptTile> tiles;
};

class SpanPass {
 public:
  SpanPass(const KvWorld& world, const SpanKind& kind, std::vector<RowInput> rows, Random& random);

  /// The input of the kernels, in which `written` says which rows are to be written.
  SpanInput input(KernelRig& rig, const numerics::StepModel& step, const PassCounts& counts,
                  const std::vector<bool>& written) const;

  /// What attend_spans leaves of the spans of the first `count` rows, of room for `rows_max`.
  std::vector<float> partial(const numerics::StepModel& step, int count, int rows_max,
                             int spans_max) const;

  static constexpr float kUnwritten = -777.0f;  ///< where it leaves nothing

 private:
  std::size_t out_width() const;
  numerics::PagedKV view(int row, int kv_head) const;
  numerics::QueryGroup group(int row, int head, int heads) const;
  std::vector<std::uint16_t> expected(const numerics::StepModel& step,
                                      const std::vector<bool>& written) const;

  const KvWorld& world_;
  SpanKind kind_;
  std::vector<RowInput> rows_;
  std::vector<float> q_;
  float scale_;
  std::vector<float> sinks_;  ///< of each query head
};

}  // namespace forge::gpu
