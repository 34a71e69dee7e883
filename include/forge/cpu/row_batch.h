// RowBatch: rows of several sequences on their way through the model.
//
// A plan may ask for more rows than scratch memory should hold, so they run in chunks of
// kSlabRows, in order. Cutting a batch changes no bit of any output.
//
// Reused from step to step: once it has seen the largest step it allocates nothing.
//
// Owns the rows and their logits, borrows the block tables between add_sequence() and the
// end of run(). Thread contract: none of its own.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "forge/cpu/cpu_model.h"

namespace forge::cpu {

class RowBatch {
 public:
  static constexpr std::size_t kSlabRows = 512;

  /// Borrows the model.
  explicit RowBatch(CpuModel& model) : model_(model) {}

  void clear();

  /// The rows added next belong to the sequence that holds `blocks`.
  void add_sequence(std::span<const std::uint32_t> blocks);

  void add_row(TokenId token, std::uint32_t position, bool wants_logits);

  /// Runs the first `layers` layers on all rows.
  void run(int layers);

  std::size_t rows() const { return tokens_.size(); }

  /// Logits [V] of the index-th row that wanted them, in the order added, after run().
  std::span<const float> logits(std::size_t index) const;

 private:
  std::size_t vocabulary() const { return static_cast<std::size_t>(model_.vocabulary_size()); }

  CpuModel& model_;
  std::vector<TokenId> tokens_;
  std::vector<std::uint32_t> positions_;
  std::vector<std::uint32_t> sequences_;
  std::vector<std::span<const std::uint32_t>> tables_;
  std::vector<std::uint32_t> logit_rows_;  // counted from the start of their slab
  std::vector<std::size_t> slab_logits_;   // [slabs] how many logit rows each has
  std::vector<float> logits_;              // [logit rows][V]
};

}  // namespace forge::cpu
