#include "forge/simt/machine.h"

#include <condition_variable>
#include <mutex>
#include <thread>
#include <utility>

#include "block_runner.h"
#include "forge/core/check.h"
#include "launch.h"

namespace forge::simt {

/// A runner for the caller's thread, and one for each helper, which sleeps between launches.
struct Machine::Workers {
  explicit Workers(int host_threads);
  ~Workers();

  /// Every thread runs blocks of `launch` until none is left.
  void run(Launch& launch);

 private:
  void helper(BlockRunner& runner);

  std::vector<std::unique_ptr<BlockRunner>> runners_;
  std::vector<std::thread> threads_;
  std::mutex mutex_;
  std::condition_variable changed_;
  Launch* launch_ = nullptr;
  std::uint64_t launches_ = 0;
  std::size_t busy_ = 0;  ///< helpers that are not done with the launch
  bool stopping_ = false;
};

Machine::Workers::Workers(int host_threads) {
  for (int i = 0; i < host_threads; ++i) runners_.push_back(std::make_unique<BlockRunner>());
  for (int i = 1; i < host_threads; ++i) {
    threads_.emplace_back([this, i] { helper(*runners_[static_cast<std::size_t>(i)]); });
  }
}

Machine::Workers::~Workers() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  changed_.notify_all();
  for (std::thread& thread : threads_) thread.join();
}

void Machine::Workers::helper(BlockRunner& runner) {
  std::uint64_t seen = 0;
  std::unique_lock lock(mutex_);
  for (;;) {
    changed_.wait(lock, [&] { return stopping_ || launches_ != seen; });
    if (stopping_) return;
    seen = launches_;
    lock.unlock();
    launch_->run_blocks(runner);
    lock.lock();
    if (--busy_ == 0) changed_.notify_all();
  }
}

void Machine::Workers::run(Launch& launch) {
  if (threads_.empty() || launch.blocks() == 1) {
    launch.run_blocks(*runners_[0]);
    return;
  }
  {
    const std::lock_guard lock(mutex_);
    launch_ = &launch;
    ++launches_;
    busy_ = threads_.size();
  }
  changed_.notify_all();
  launch.run_blocks(*runners_[0]);
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return busy_ == 0; });
}

Machine::Machine(int host_threads) {
  FORGE_CHECK(host_threads >= 1, "host_threads=", host_threads);
  workers_ = std::make_unique<Workers>(host_threads);
}

Machine::~Machine() = default;

tl::expected<void, KernelFault> Machine::run(const KernelCode& kernel, const LaunchShape& shape,
                                             const void* args, const LaunchOptions& options) {
  constexpr int kThreadsMax = 1024;
  FORGE_CHECK(
      shape.threads % kWarpSize == 0 && shape.threads >= kWarpSize && shape.threads <= kThreadsMax,
      kernel.name, ": threads=", shape.threads);
  FORGE_CHECK(shape.grid.x >= 1 && shape.grid.y >= 1 && shape.grid.z >= 1, kernel.name, ": grid ",
              shape.grid.x, " x ", shape.grid.y, " x ", shape.grid.z);
  FORGE_CHECK(shape.shared_bytes >= 0 && shape.shared_bytes <= kSharedBytesMax, kernel.name,
              ": shared_bytes=", shape.shared_bytes);
  const Entry entry = options.observer == nullptr ? kernel.plain : kernel.instrumented;
  FORGE_CHECK(entry != nullptr, kernel.name, ": this build of the kernel is missing");
  Launch launch({.kernel = kernel.name,
                 .entry = entry,
                 .shape = shape,
                 .args = args,
                 .seed = options.seed,
                 .left_out = options.left_out,
                 .step_model = options.step_model,
                 .heartbeat = options.heartbeat},
                options.observer);
  workers_->run(launch);
  if (std::optional<KernelFault> fault = launch.take_fault(); fault.has_value()) {
    return tl::unexpected(std::move(*fault));
  }
  return {};
}

}  // namespace forge::simt
