// MatrixRows: some rows of a stored matrix, read into memory: a StoredLinear of its own.
//
//   rows, int8, float8   what they need follows one another in the file: one piece
//   gptq, awq            codes, zeros and scales of these outputs: columns of all three arrays
//
// Arrays that can be read where they are stay there, if they are one piece.
//
// Owns what it has read. Thread contract: const after read().
#pragma once

#include <cstddef>
#include <span>
#include <tl/expected.hpp>
#include <vector>

#include "forge/linear/stored_linear.h"
#include "forge/linear/thread_pool.h"
#include "forge/linear/weight_reader.h"

namespace forge::linear {

class MatrixRows {
 public:
  /// Reads outputs first .. first + count - 1 of `whole` with the threads of `pool`; what was read
  /// before is gone. Requires: 0 <= first, first + count <= outputs, and where a word has codes of
  /// several outputs, whole words.
  tl::expected<void, ReadFault> read(const StoredLinear& whole, int first, int count,
                                     const WeightReader& reader, ThreadPool& pool);

  /// The rows. Borrowed, valid until the next read().
  const StoredLinear& matrix() const { return matrix_; }

  /// Hands what matrix() borrows from here to the caller, at the address that it has.
  void give_up(std::vector<std::vector<std::byte>>& arrays,
               std::vector<std::vector<float>>& row_scales);

 private:
  class Reading;

  StoredLinear matrix_;
  std::vector<std::byte> codes_;
  std::vector<std::byte> zeros_;
  std::vector<std::byte> scales_;
  std::vector<float> row_scales_;  // of StoredFloat8
};

/// The bytes of an output of `matrix`, in all its arrays together.
std::size_t row_bytes(const StoredLinear& matrix);

}  // namespace forge::linear
