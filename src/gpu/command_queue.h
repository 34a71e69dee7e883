// CommandQueue: queues commands in a stream. After the first that fails it queues nothing more and
// remembers why, so that a sequence of commands reads without a branch after each.
//
// Borrows the stream. Thread contract: none of its own.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>

#include "forge/gpu/device.h"

namespace forge::gpu {

class CommandQueue {
 public:
  /// Without `overlap`, every launch begins when the one before has ended.
  explicit CommandQueue(Stream& stream, bool overlap = true) : stream_(stream), overlap_(overlap) {}

  void copy(void* to, const void* from, std::size_t bytes, CopyDirection direction) {
    if (status_) status_ = stream_.copy(to, from, bytes, direction);
  }

  /// Launches the kernel of `args` over `count` rows, tiles, ... . Requires: count > 0.
  template <class Args>
  void launch(const Args& args, std::uint32_t count) {
    launch_in(args, args.shape(static_cast<int>(count)));
  }

  /// Launches a kernel whose shape does not depend on a count.
  template <class Args>
  void launch(const Args& args) {
    launch_in(args, args.shape());
  }

  /// By the device's library. Requires: it has one.
  void multiply(const LibraryProduct& product) {
    if (status_) status_ = stream_.multiply(product);
  }
  /// The same for a caller who can do without: a failure of this call is not remembered.
  Status try_multiply(const LibraryProduct& product) {
    return status_ ? stream_.multiply(product) : status_;
  }

  void launch(Graph& graph) {
    if (status_) status_ = stream_.launch(graph);
  }

  void record(Event& event) {
    if (status_) status_ = stream_.record(event);
  }

  void synchronize() {
    if (status_) status_ = stream_.synchronize();
  }
  void synchronize(Event& event) {
    if (status_) status_ = event.synchronize();
  }

  /// Waits for whatever is under way, also after a failure, whose status stays.
  void drain() {
    if (Status done = stream_.synchronize(); status_) status_ = std::move(done);
  }

  const Status& status() const { return status_; }
  std::uint64_t launches() const { return launches_; }

 private:
  template <class Args>
  void launch_in(const Args& args, const simt::LaunchShape& shape) {
    if (!status_) return;
    KernelLaunch launch = launch_of(args, shape);
    launch.overlaps = launch.overlaps && overlap_;
    status_ = stream_.launch(launch);
    ++launches_;
  }

  Stream& stream_;
  bool overlap_;
  Status status_;
  std::uint64_t launches_ = 0;  // kernels launched one by one
};

}  // namespace forge::gpu
