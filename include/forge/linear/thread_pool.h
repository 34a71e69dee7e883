// ThreadPool: a few threads that share the work of one operation at a time.
//
// An operation is cut into parts by what it produces (outputs of a product, rows, heads), never
// within a sum; each part is computed by whichever thread is free. So results do not depend on the
// number of threads, nor on which of them did what.
//
// Example, given `ThreadPool& pool` and `int parts`:
//
//   pool.run(parts, [&](int part) { ... });
//   pool.run(parts, [&](int part, int thread) { ... });  // to each thread memory of its own
//
// Between two operations of a step the threads spin, since the next one is microseconds away; after
// about 0.1 ms without work they sleep. With one thread everything runs on the caller's.
//
// Owns its threads. Thread contract: run() from one thread at a time, not from within a part.
#pragma once

#include <memory>
#include <type_traits>

namespace forge::linear {

class ThreadPool {
 public:
  static constexpr int kThreadsMax = 1024;

  /// `threads` counts the caller's thread, too. Requires: 1 .. kThreadsMax.
  explicit ThreadPool(int threads);
  ~ThreadPool();
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  int threads() const { return threads_; }

  /// Calls part(0) .. part(parts - 1), each once, and returns when all have returned. Everything
  /// written before is visible to the parts, everything they wrote is visible after. A second
  /// argument is the thread, 0 (the caller's) .. threads() - 1: it runs one part at a time.
  /// Allocates nothing. Requires: part does not throw.
  template <class Part>
  void run(int parts, const Part& part) {
    if (threads_ == 1 || parts <= 1) {
      for (int i = 0; i < parts; ++i) invoke(part, i, 0);
      return;
    }
    run_shared(
        parts,
        [](const void* task, int i, int thread) {
          invoke(*static_cast<const Part*>(task), i, thread);
        },
        &part);
  }

 private:
  using Call = void (*)(const void* task, int part, int thread);
  void run_shared(int parts, Call call, const void* task);

  template <class Part>
  static void invoke(const Part& part, int i, [[maybe_unused]] int thread) {
    if constexpr (std::is_invocable_v<const Part&, int, int>) {
      part(i, thread);
    } else {
      part(i);
    }
  }

  struct State;
  int threads_;
  std::unique_ptr<State> state_;  // none with one thread
};

}  // namespace forge::linear
