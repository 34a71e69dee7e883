// SimDevice: a GPU that is not there. Memory is host memory with guard zones, kernels run on the
// simulated machine (forge/simt/machine.h), time is estimated from a device description, and every
// call can be made to fail.
//
// Streams are lazy: an operation runs when a caller waits for it (an event, a synchronize) or frees
// memory, not before. Host code that reads a result it has not waited for finds poison: the
// destination of a copy to the host is filled with 0xff bytes when the copy is queued. So nothing
// queued before may still read that destination.
//
//   mode      kernels run                                     use
//   plain     as fast as fibers go                            test suites, whole workloads
//   checked   with bounds, races, shared memory, divergence   finding bugs (forge/simt/checker.h)
//
// With a schedule seed, each launch runs its threads in an order of its own (machine.h). Results do
// not depend on it.
//
// The device's clock adds up what runs, one operation after the other, whichever stream it is on.
//
// Stricter than CUDA, so that host code which runs here runs there: both sides of a copy, and the
// matrices of a library's product, are checked at the call; in a capture, only copies, kernels and
// products of one stream are allowed, and no other call to the device.
//
// Invariants
//   1. Streams, events, graphs and memory are gone before the device; otherwise it aborts.
//   2. Guard zones around each allocation are whole when it is freed; otherwise it aborts and
//      names the buffer. Checked mode also looks at them at every synchronize, and returns an
// error.
//   3. Once an error says `lost`, all later ones say so too, and no operation runs any more.
//
// Thread contract: as gpu::Device.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "forge/gpu/device.h"
#include "forge/sim/device_description.h"
#include "forge/sim/sim_library.h"
#include "forge/simt/machine.h"
#include "forge/simt/memory_map.h"

namespace forge {
class Heartbeat;
}

namespace forge::sim {

class SimContext;  // sim/sim_context.h

enum class SimMode : std::uint8_t { plain, checked };

/// One call to the device, as a fault injector sees it.
struct DeviceCall {
  enum class Kind : std::uint8_t {
    allocate,
    create,  ///< a stream or an event is created
    copy,
    launch,
    multiply,
    graph_launch,
    event,    ///< record or wait
    capture,  ///< its begin or its end
    synchronize,
  };
  Kind kind = Kind::copy;
  std::uint64_t index = 0;  ///< how many calls came before
  std::string_view what;    ///< name of the buffer or kernel, direction of the copy, ...
};

/// What becomes of a call.
enum class Fault : std::uint8_t {
  none,
  fails,        ///< this call returns an error and has no effect; a capture is ended by it
  device_lost,  ///< this call and all later ones return an error
  late,  ///< a copy to the host, or a graph with such copies, succeeds, but the bytes arrive with
         ///< the next such copy and the old ones stay until then; no effect on other calls
};
using FaultInjector = std::function<Fault(const DeviceCall&)>;

struct SimOptions {
  DeviceDescription device;  ///< as find_device() yields it
  SimMode mode = SimMode::plain;
  std::optional<std::uint64_t> schedule_seed;
  int host_threads = 1;
  std::optional<std::uint64_t> memory_bytes;  ///< of the device; not given: what the host has
  FaultInjector faults;                       ///< none: nothing fails
  SimLibrary* library = nullptr;              ///< that the device has, if any; it outlives it
  Heartbeat* heartbeat = nullptr;             ///< beats at each block of a kernel; borrowed
};

/// What has run so far.
struct SimStatistics {
  double device_us = 0;  ///< the device's clock: estimated time of all that has run
  std::uint64_t launches = 0;
  std::uint64_t library_products = 0;
  std::uint64_t copies = 0;
  std::uint64_t bytes_copied = 0;
  std::uint64_t bytes_allocated = 0;  ///< now, of both kinds
  std::uint64_t bytes_allocated_max = 0;
  std::vector<gpu::Estimate::Kernel> kernels;  ///< by gpu::KernelId
};

class SimDevice : public gpu::Device {
 public:
  explicit SimDevice(const SimOptions& options);
  ~SimDevice() override;

  gpu::DeviceInfo info() const override;
  tl::expected<std::optional<std::uint64_t>, gpu::DeviceError> free_bytes() override;
  std::optional<gpu::Estimate> estimate() const override;
  tl::expected<gpu::Buffer, gpu::DeviceError> allocate(gpu::MemoryKind kind, std::size_t bytes,
                                                       const char* name) override;
  tl::expected<std::unique_ptr<gpu::Stream>, gpu::DeviceError> create_stream() override;
  tl::expected<std::unique_ptr<gpu::Event>, gpu::DeviceError> create_event() override;
  tl::expected<gpu::MatrixLibrary*, std::string> matrix_library() override;
  void release(void* data, gpu::MemoryKind kind) override;

  const DeviceDescription& description() const;
  const SimStatistics& statistics() const;
  const simt::MemoryMap& memory() const;

  /// The fault that stopped a kernel, if one did.
  const std::optional<simt::KernelFault>& kernel_fault() const;

 private:
  std::unique_ptr<SimContext> context_;
};

}  // namespace forge::sim
