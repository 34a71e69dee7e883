// BenchDevice: another device, whose launches can be left out, or timed one by one, for a while.
//
// To measure a decode of 256 sequences that have 2,048 tokens each, their KV has to be there, but
// not to be right: to compute it takes half a minute, to be done with it a copy. So memory named
// "KV pool" begins as random finite numbers, and while skip(true) holds, launches do nothing, but
// for those that keep the block tables. A plan that runs meanwhile must sample nothing.
//
// While time(true) holds, each launch that is not captured stands between two events. What lies
// between them also has what the device waits for the host, where that is the slower one. Launches
// do not overlap then.
//
// Borrows the device. Thread contract: as gpu::Device.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "forge/gpu/device.h"

namespace forge {

class BenchDevice : public gpu::Device {
 public:
  explicit BenchDevice(gpu::Device& device) : device_(device) {}

  struct LaunchTimes {
    std::uint64_t launches = 0;
    double us = 0;
  };

  void skip(bool skips) { skips_ = skips; }
  void time(bool times) { times_ = times; }
  /// Of all that was timed since the last call, by the names of kernels, and "library".
  std::map<std::string, LaunchTimes> take_times();

  gpu::DeviceInfo info() const override { return device_.info(); }
  tl::expected<std::optional<std::uint64_t>, gpu::DeviceError> free_bytes() override {
    return device_.free_bytes();
  }
  tl::expected<gpu::Buffer, gpu::DeviceError> allocate(gpu::MemoryKind kind, std::size_t bytes,
                                                       const char* name) override;
  void release(void* data, gpu::MemoryKind kind) override { device_.release(data, kind); }
  tl::expected<std::unique_ptr<gpu::Stream>, gpu::DeviceError> create_stream() override;
  tl::expected<std::unique_ptr<gpu::Event>, gpu::DeviceError> create_event() override {
    return device_.create_event();
  }
  tl::expected<gpu::MatrixLibrary*, std::string> matrix_library() override {
    return device_.matrix_library();
  }

 private:
  class Stream;
  struct TimedLaunch {
    std::string name;
    std::unique_ptr<gpu::Event> begin;
    std::unique_ptr<gpu::Event> end;
  };

  gpu::Status fill(const gpu::Buffer& memory);

  gpu::Device& device_;
  bool skips_ = false;
  bool times_ = false;
  std::vector<TimedLaunch> timed_;
};

}  // namespace forge
