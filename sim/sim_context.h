// SimContext: what a simulated device, its streams, events and graphs share: memory, machine,
// clock, statistics, and whether calls still succeed.
//
//   call      SimDevice / SimStream / SimEvent method -> begin_call(): an error, or a way on
//   run       SimStream, once somebody waits          -> run(copy), run(launch): what happens
//
// Thread contract: none of its own.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "forge/sim/sim_device.h"
#include "forge/simt/launch_chain.h"
#include "sim_memory.h"

namespace forge::sim {

class SimStream;

/// A copy in a queue or a graph.
struct CopyOperation {
  void* to = nullptr;
  const void* from = nullptr;
  std::size_t bytes = 0;
  gpu::CopyDirection direction = gpu::CopyDirection::within;
};

/// A product of the library in a queue or a graph.
struct ProductOperation {
  gpu::LibraryProduct product;  ///< its algorithm is the one below
  gpu::LibraryAlgorithm algorithm;
};

/// Whether an operation runs in a graph, whether an injected fault makes it late, and the launches
/// of its stream.
struct RunOptions {
  bool in_graph = false;
  bool late = false;
  simt::LaunchChain* launches = nullptr;
};

class SimContext {
 public:
  explicit SimContext(const SimOptions& options);
  ~SimContext();
  SimContext(const SimContext&) = delete;
  SimContext& operator=(const SimContext&) = delete;

  /// Begins a call. Returns: whether its copies will be late. Errors: the device is lost, or an
  /// injected fault; `what` is then in the message.
  tl::expected<bool, gpu::DeviceError> begin_call(DeviceCall::Kind kind, std::string_view what);

  /// Does the same for calls that are not allowed in a capture.
  gpu::Status begin_call_outside_capture(DeviceCall::Kind kind, std::string_view what);

  gpu::DeviceError error(DeviceCall::Kind kind, std::string message) const;
  /// Requires: lost().
  gpu::DeviceError lost_error(DeviceCall::Kind kind, std::string_view what) const;

  gpu::Status run(const CopyOperation& copy, const RunOptions& options);
  gpu::Status run(const gpu::KernelLaunch& launch, const RunOptions& options);
  gpu::Status run(const ProductOperation& operation, const RunOptions& options);

  /// Fills the destination of a copy to the host with poison, which stays until the copy runs.
  static void poison_destination(const CopyOperation& copy);

  /// Checked mode: an error if a guard zone was written to. The device is then lost.
  gpu::Status check_guards();

  /// Runs all that is queued on any stream; errors are dropped.
  void finish_all();

  tl::expected<gpu::Buffer, gpu::DeviceError> allocate(gpu::Buffer::Owner& owner,
                                                       gpu::MemoryKind kind, std::size_t bytes,
                                                       const char* name);
  void release(void* data, gpu::MemoryKind kind);

  void add(SimStream& stream) { streams_.push_back(&stream); }
  void remove(SimStream& stream) { std::erase(streams_, &stream); }

  bool lost() const { return lost_because_.has_value(); }
  double now_us() const { return statistics_.device_us; }
  std::string device_name() const { return "simulated " + options_.device.full_name; }
  const SimOptions& options() const { return options_; }
  const SimMemory& memory() const { return memory_; }
  const SimStatistics& statistics() const { return statistics_; }
  const std::optional<simt::KernelFault>& kernel_fault() const { return kernel_fault_; }

  int live_objects = 0;    ///< streams, events and graphs
  bool capturing = false;  ///< a stream is capturing

 private:
  struct LateCopy {
    std::byte* to;
    std::vector<std::byte> bytes;
  };

  gpu::DeviceError lose(DeviceCall::Kind kind, std::string message);
  void deliver_late_copies();

  SimOptions options_;
  SimMemory memory_;
  simt::Machine machine_;
  SimStatistics statistics_;
  std::vector<SimStream*> streams_;
  std::vector<LateCopy> late_copies_;
  std::optional<simt::KernelFault> kernel_fault_;
  std::uint64_t calls_ = 0;
  std::optional<std::string> lost_because_;  ///< if the device is lost
};

}  // namespace forge::sim
