#include "forge/linear/thread_pool.h"

#include <atomic>
#include <chrono>
#include <cstdint>
#include <thread>
#include <vector>

#include "forge/core/check.h"
#include "hwy/cache_control.h"

namespace forge::linear {
namespace {

constexpr auto kSpin = std::chrono::microseconds(100);
constexpr std::size_t kLine = 64;               // bytes of a cache line
constexpr std::uint64_t kClosed = 0xffffffffu;  // no part: there are fewer

/// Spins until done() or until kSpin has passed; returns done().
template <class Done>
bool spin_until(const Done& done) {
  for (int i = 0; i < 64; ++i) {  // no clock for the shortest waits
    if (done()) return true;
    hwy::Pause();
  }
  const auto end = std::chrono::steady_clock::now() + kSpin;
  do {
    for (int i = 0; i < 32; ++i) {
      if (done()) return true;
      hwy::Pause();
    }
  } while (std::chrono::steady_clock::now() < end);
  return done();
}

}  // namespace

// A ticket is (operation << 32 | next part), and whoever raises it by one has taken that part. The
// operation within makes this safe for a thread that slept through the end of one: its exchange
// fails. The operation's fields may change under a thread that reads them late, so they are atomic,
// and what it read counts only when the exchange succeeds. They are changed while the ticket is
// closed: who reads a field of the next operation, then sees a ticket of it, too.
struct ThreadPool::State {
  alignas(kLine) std::atomic<std::uint64_t> ticket{0};
  alignas(kLine) std::atomic<std::uint32_t> operation{0};  // what sleeping threads watch
  std::atomic<int> parts{0};
  std::atomic<Call> call{nullptr};
  std::atomic<const void*> task{nullptr};
  std::atomic<bool> stop{false};
  alignas(kLine) std::atomic<std::uint32_t> done{0};  // parts that have returned
  std::vector<std::thread> workers;

  void take_parts(int thread);
  void work(int thread);
};

/// Takes and calls parts of the current operation until none is left.
void ThreadPool::State::take_parts(int thread) {
  std::uint64_t seen = ticket.load(std::memory_order_acquire);
  for (;;) {
    const int count = parts.load(std::memory_order_acquire);
    const Call function = call.load(std::memory_order_acquire);
    const void* const argument = task.load(std::memory_order_acquire);
    const auto part = static_cast<std::uint32_t>(seen);
    if (part >= static_cast<std::uint32_t>(count)) return;
    if (!ticket.compare_exchange_weak(seen, seen + 1, std::memory_order_acq_rel,
                                      std::memory_order_acquire)) {
      continue;
    }
    function(argument, static_cast<int>(part), thread);
    if (done.fetch_add(1, std::memory_order_acq_rel) + 1 == static_cast<std::uint32_t>(count)) {
      done.notify_one();  // the caller, if it sleeps
    }
    seen = ticket.load(std::memory_order_acquire);
  }
}

void ThreadPool::State::work(int thread) {
  for (std::uint32_t seen = 0;;) {
    const auto changed = [&] { return operation.load(std::memory_order_acquire) != seen; };
    if (!spin_until(changed)) operation.wait(seen, std::memory_order_acquire);
    seen = operation.load(std::memory_order_acquire);
    if (stop.load(std::memory_order_acquire)) return;
    take_parts(thread);
  }
}

ThreadPool::ThreadPool(int threads) : threads_(threads) {
  FORGE_CHECK(threads >= 1 && threads <= kThreadsMax, "threads=", threads, " not in 1 .. ",
              kThreadsMax);
  if (threads == 1) return;
  state_ = std::make_unique<State>();
  for (int thread = 1; thread < threads; ++thread) {
    state_->workers.emplace_back([state = state_.get(), thread] { state->work(thread); });
  }
}

ThreadPool::~ThreadPool() {
  if (!state_) return;
  state_->stop.store(true, std::memory_order_release);
  state_->operation.fetch_add(1, std::memory_order_release);
  state_->operation.notify_all();
  for (std::thread& worker : state_->workers) worker.join();
}

void ThreadPool::run_shared(int parts, Call call, const void* task) {
  State& state = *state_;
  const std::uint32_t operation = state.operation.load(std::memory_order_relaxed) + 1;
  state.ticket.store(std::uint64_t{operation} << 32 | kClosed, std::memory_order_relaxed);
  state.done.store(0, std::memory_order_relaxed);
  state.parts.store(parts, std::memory_order_release);
  state.call.store(call, std::memory_order_release);
  state.task.store(task, std::memory_order_release);
  state.ticket.store(std::uint64_t{operation} << 32, std::memory_order_release);
  state.operation.store(operation, std::memory_order_release);
  state.operation.notify_all();
  state.take_parts(0);

  const auto count = static_cast<std::uint32_t>(parts);
  const auto all_done = [&] { return state.done.load(std::memory_order_acquire) == count; };
  if (spin_until(all_done)) return;
  for (std::uint32_t done = state.done.load(std::memory_order_acquire); done != count;
       done = state.done.load(std::memory_order_acquire)) {
    state.done.wait(done, std::memory_order_acquire);
  }
}

}  // namespace forge::linear
