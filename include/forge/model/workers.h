// Workers: the threads of a forward pass, and what their products need on the way.
//
// Work is cut by rows, heads and outputs, never within a sum, so the number of threads changes no
// bit (linear/thread_pool.h). Each piece says which operation of the pass it is, for the profile
// (pass_profile.h); without one nothing is measured. Each beats the heartbeat, if there is one.
//
// Borrows the threads, the profile and the heartbeat. Thread contract: one forward pass at a time.
#pragma once

#include <algorithm>

#include "forge/core/heartbeat.h"
#include "forge/linear/product.h"
#include "forge/linear/thread_pool.h"
#include "forge/model/pass_profile.h"

namespace forge::model {

using linear::Rows;

class Workers {
 public:
  explicit Workers(linear::ThreadPool& threads) : threads_(&threads) {}

  int threads() const { return threads_->threads(); }

  /// What passes tell of themselves from now on; null: nothing.
  void set_profile(PassProfile* profile) { profile_ = profile; }
  PassProfile* profile() const { return profile_; }

  /// What beats from now on; null: nothing.
  void set_heartbeat(Heartbeat* heartbeat) { heartbeat_ = heartbeat; }

  /// y [count][N] = x W^T, x [count][K].
  void multiply(Operation operation, Rows x, const linear::LinearWeights& w, float* y) {
    measure(
        operation, [&] { linear::multiply(x, w, y, products_, *threads_); },
        [&] { return product_work(x.count, w); });
  }

  /// Calls row(0) .. row(rows - 1), each once, neighbours on the same thread.
  template <class Row>
  void for_rows(Operation operation, int rows, const Row& row) {
    constexpr int kRowsOfPart = 4;
    run(operation, (rows + kRowsOfPart - 1) / kRowsOfPart, [&](int part) {
      const int end = std::min(rows, (part + 1) * kRowsOfPart);
      for (int i = part * kRowsOfPart; i < end; ++i) row(i);
    });
  }

  /// linear::ThreadPool::run. work() tells the profile what the parts do together.
  template <class Part, class WorkOf>
  void run(Operation operation, int parts, const Part& part, const WorkOf& work) {
    measure(
        operation, [&] { threads_->run(parts, part); }, work);
  }
  template <class Part>
  void run(Operation operation, int parts, const Part& part) {
    run(operation, parts, part, [] { return Work(); });
  }

 private:
  template <class Body, class WorkOf>
  void measure(Operation operation, const Body& body, const WorkOf& work) {
    if (heartbeat_ != nullptr) heartbeat_->beat();
    if (profile_ == nullptr) return body();
    const auto start = PassProfile::Clock::now();
    body();
    profile_->add(operation, start, work());
  }

  linear::ThreadPool* threads_;
  PassProfile* profile_ = nullptr;
  Heartbeat* heartbeat_ = nullptr;
  linear::ProductScratch products_;
};

}  // namespace forge::model
