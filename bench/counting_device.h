// CountingDevice: a device that computes nothing and hands each launch, at the moment at which it
// would run, to a function: one that counts what it costs, say (model_count.h).
//
// Copies are done at once, so a launch finds the counts and rows of its step in the memory that its
// arguments point to. Memory is mapped and not touched until somebody writes: 85 GB of weights and
// KV are there for executors of real models, on any machine. So copies into memory of these names
// are left out, unless asked for.
//
// Example:
//
//   std::uint64_t launches = 0;
//   CountingDevice device({.description = sim::find_device("h200").value(),
//                          .run = [&](const gpu::KernelLaunch&, bool) { ++launches; }});
//
// Thread contract: as gpu::Device.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "forge/gpu/device.h"
#include "forge/sim/device_description.h"

namespace forge {

struct CountingOptions {
  sim::DeviceDescription description;
  /// The launch, and whether it is one of a graph.
  std::function<void(const gpu::KernelLaunch& launch, bool in_graph)> run;
  bool keeps_all = false;  ///< weights and KV, too
};

class CountingDevice : public gpu::Device {
 public:
  explicit CountingDevice(CountingOptions options) : options_(std::move(options)) {}

  /// Estimated time of all copies so far that were not left out.
  double copies_us() const { return copies_us_; }
  /// Device memory that is taken now.
  std::uint64_t bytes_allocated() const { return bytes_allocated_; }

  /// The name that the memory at this address was taken by; empty where it is not the device's.
  std::string_view name_at(const void* address) const;

  gpu::DeviceInfo info() const override;
  /// Of the described device.
  tl::expected<std::optional<std::uint64_t>, gpu::DeviceError> free_bytes() override;
  tl::expected<gpu::Buffer, gpu::DeviceError> allocate(gpu::MemoryKind kind, std::size_t bytes,
                                                       const char* name) override;
  void release(void* data, gpu::MemoryKind kind) override;
  tl::expected<std::unique_ptr<gpu::Stream>, gpu::DeviceError> create_stream() override;
  tl::expected<std::unique_ptr<gpu::Event>, gpu::DeviceError> create_event() override;

 private:
  class Stream;
  struct Copy {
    void* to;
    const void* from;
    std::size_t bytes;
  };
  struct Memory {
    std::size_t bytes;
    std::string name;
  };

  gpu::DeviceError error(std::string message) const;
  void run(const Copy& copy);

  CountingOptions options_;
  std::map<const std::byte*, Memory> memory_;  // by its first byte
  double copies_us_ = 0;
  std::uint64_t bytes_allocated_ = 0;
};

}  // namespace forge
