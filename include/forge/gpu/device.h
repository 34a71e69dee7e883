// Device: what the GPU executor needs of a GPU. A dozen operations, after the CUDA runtime's; two
// implementations: CudaDevice (forge/cuda/cuda_device.h) calls the runtime, SimDevice
// (forge/sim/sim_device.h) runs kernels on the CPU and can fail on purpose.
//
//   Device --allocate--> Buffer          device memory, or pinned host memory
//          --create_stream--> Stream     an in-order queue: copies, launches, events, graphs
//          --create_event--> Event       a point in a stream; also measures time
//          --matrix_library--> MatrixLibrary  where the vendor has one
//   Stream --begin_capture ... end_capture--> Graph    recorded once, launched often
//
// Everything on a stream is asynchronous: when copy() or launch() returns, it may not have begun.
// What a copy reads or writes on the host must stay as it is until an event recorded after it
// has been waited for. An error may be that of an earlier operation.
//
// Thread contract: one thread at a time per device and all that was made from it. Everything made
// from a device must be destroyed before it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <tl/expected.hpp>
#include <vector>

#include "forge/core/names.h"
#include "forge/gpu/kernels.h"
#include "forge/gpu/matrix_library.h"

namespace forge::gpu {

/// A call that failed. to_string: "cudaMemcpyAsync: an illegal memory access ... (device 0, NVIDIA
/// H200)".
struct DeviceError {
  std::string call;     ///< as the runtime names it
  std::string message;  ///< with what was asked for: sizes, kernel, shape
  std::string device;   ///< number and name
  bool lost = false;    ///< no later call on this device can succeed
};
std::string to_string(const DeviceError& error);

using Status = tl::expected<void, DeviceError>;

struct DeviceInfo {
  std::string name;
  int multiprocessors = 0;
  int compute_capability = 0;  ///< 90: 9.0
  std::size_t memory_bytes = 0;
  std::uint64_t shared_bytes = 0;  ///< of a multiprocessor, the most that a block can have
};

/// The time that work on a simulated device would take on the device that is simulated.
struct Estimate {
  struct Kernel {
    std::uint64_t launches = 0;
    double us = 0;
  };
  double us = 0;                ///< kernels and copies, one after the other
  std::vector<Kernel> kernels;  ///< by KernelId
  bool calibrated = false;      ///< were the device and all these kernels on it measured?
};

enum class MemoryKind : std::uint8_t {
  device,
  pinned,  ///< host memory that copies and kernels of the device can reach
};

/// An amount of memory, by kind.
struct MemoryBytes {
  std::uint64_t device = 0;
  std::uint64_t pinned = 0;
};

/// Memory, freed when the Buffer goes. Aligned to 256 bytes. Contents are undefined (the
/// simulator fills them with NaN).
class Buffer {
 public:
  class Owner {
   public:
    virtual void release(void* data, MemoryKind kind) = 0;

   protected:
    ~Owner() = default;
  };

  Buffer() = default;
  Buffer(Owner& owner, MemoryKind kind, void* data, std::size_t bytes)
      : owner_(&owner), kind_(kind), data_(data), bytes_(bytes) {}
  Buffer(Buffer&& other) noexcept;
  Buffer& operator=(Buffer&& other) noexcept;
  ~Buffer();

  /// The address. That of device memory is for kernels and copies, not for the host.
  template <class T>
  T* as() const {
    return static_cast<T*>(data_);
  }
  std::size_t bytes() const { return bytes_; }

 private:
  Owner* owner_ = nullptr;
  MemoryKind kind_ = MemoryKind::device;
  void* data_ = nullptr;
  std::size_t bytes_ = 0;
};

enum class CopyDirection : std::uint8_t { to_device, to_host, within };
constexpr Names<CopyDirection> names_of(CopyDirection) {
  return {"to_device", "to_host", "within"};
}

class Event {
 public:
  virtual ~Event() = default;
  /// Returns when everything before the event in its stream is done.
  virtual Status synchronize() = 0;
  /// Device time between two events that are done.
  virtual tl::expected<double, DeviceError> microseconds_since(const Event& earlier) const = 0;
};

class Graph {
 public:
  virtual ~Graph() = default;
};

class Stream {
 public:
  virtual ~Stream() = default;
  virtual Status copy(void* to, const void* from, std::size_t bytes, CopyDirection direction) = 0;
  virtual Status launch(const KernelLaunch& launch) = 0;
  /// By the device's library. Requires: it has one.
  virtual Status multiply(const LibraryProduct& product);
  virtual Status record(Event& event) = 0;
  /// What is queued on this stream from now on waits for `event`, recorded on another stream.
  virtual Status wait(const Event& event) = 0;

  /// Until end_capture(), operations are noted instead of run. Arguments of kernels are noted by
  /// value, those of copies by address: each launch of the graph reads what is there then.
  virtual Status begin_capture() = 0;
  virtual tl::expected<std::unique_ptr<Graph>, DeviceError> end_capture() = 0;
  virtual Status launch(Graph& graph) = 0;

  virtual Status synchronize() = 0;
};

class Device : public Buffer::Owner {
 public:
  virtual ~Device() = default;
  virtual DeviceInfo info() const = 0;
  /// The estimate for all work so far; none for a real device, whose events measure.
  virtual std::optional<Estimate> estimate() const { return std::nullopt; }
  /// The device's memory that is free now; nullopt where it is memory of this machine.
  virtual tl::expected<std::optional<std::uint64_t>, DeviceError> free_bytes() = 0;
  /// `name` is for error messages and reports: "kv_pool". Requires: bytes > 0.
  virtual tl::expected<Buffer, DeviceError> allocate(MemoryKind kind, std::size_t bytes,
                                                     const char* name) = 0;
  virtual tl::expected<std::unique_ptr<Stream>, DeviceError> create_stream() = 0;
  virtual tl::expected<std::unique_ptr<Event>, DeviceError> create_event() = 0;
  /// Lives as long as the device. Errors: why there is none.
  virtual tl::expected<MatrixLibrary*, std::string> matrix_library();
};

}  // namespace forge::gpu
