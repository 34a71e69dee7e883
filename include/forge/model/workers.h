// Workers: the threads of a forward pass, and what their products need on the way.
//
// Work is cut by rows, heads and outputs, never within a sum, so the number of threads changes no
// bit (linear/thread_pool.h).
//
// Borrows the threads. Thread contract: one forward pass at a time.
#pragma once

#include <algorithm>

#include "forge/linear/product.h"
#include "forge/linear/thread_pool.h"

namespace forge::model {

using linear::Rows;

class Workers {
 public:
  explicit Workers(linear::ThreadPool& threads) : threads_(&threads) {}

  int threads() const { return threads_->threads(); }

  /// y [count][N] = x W^T, x [count][K].
  void multiply(Rows x, const linear::LinearWeights& w, float* y) {
    linear::multiply(x, w, y, products_, *threads_);
  }

  /// Calls row(0) .. row(rows - 1), each once, neighbours on the same thread.
  template <class Row>
  void for_rows(int rows, const Row& row) {
    constexpr int kRowsOfPart = 4;
    threads_->run((rows + kRowsOfPart - 1) / kRowsOfPart, [&](int part) {
      const int end = std::min(rows, (part + 1) * kRowsOfPart);
      for (int i = part * kRowsOfPart; i < end; ++i) row(i);
    });
  }

  /// linear::ThreadPool::run.
  template <class Part>
  void run(int parts, const Part& part) {
    threads_->run(parts, part);
  }

 private:
  linear::ThreadPool* threads_;
  linear::ProductScratch products_;
};

}  // namespace forge::model
