// WatchedDevice: a simulated device that shows each launch of a kernel to a function before it
// runs, when all before it has ended: what the launch reads is in the memory that its arguments
// point to. Launches of graphs are not shown.
//
// Thread contract: as gpu::Device.
#pragma once

#include <functional>
#include <memory>
#include <utility>

#include "forge/core/check.h"
#include "forge/gpu/device.h"

namespace forge::testing {

using Watch = std::function<void(const gpu::KernelLaunch&)>;

class WatchedDevice : public gpu::Device {
 public:
  /// Requires: the device's memory is the host's, and no work goes to it by a graph.
  WatchedDevice(std::unique_ptr<gpu::Device> device, Watch watch)
      : device_(std::move(device)), watch_(std::move(watch)) {}

  gpu::DeviceInfo info() const override { return device_->info(); }
  std::optional<gpu::Estimate> estimate() const override { return device_->estimate(); }
  tl::expected<std::optional<std::uint64_t>, gpu::DeviceError> free_bytes() override {
    return device_->free_bytes();
  }
  tl::expected<gpu::Buffer, gpu::DeviceError> allocate(gpu::MemoryKind kind, std::size_t bytes,
                                                       const char* name) override {
    return device_->allocate(kind, bytes, name);
  }
  void release(void* data, gpu::MemoryKind kind) override { device_->release(data, kind); }
  tl::expected<std::unique_ptr<gpu::Event>, gpu::DeviceError> create_event() override {
    return device_->create_event();
  }
  tl::expected<std::unique_ptr<gpu::Stream>, gpu::DeviceError> create_stream() override {
    auto made = device_->create_stream();
    if (!made) return made;
    return std::make_unique<WatchedStream>(*std::move(made), watch_);
  }

 private:
  class WatchedStream : public gpu::Stream {
   public:
    WatchedStream(std::unique_ptr<gpu::Stream> stream, const Watch& watch)
        : stream_(std::move(stream)), watch_(watch) {}

    gpu::Status launch(const gpu::KernelLaunch& launch) override {
      if (auto done = stream_->synchronize(); !done) return done;
      watch_(launch);
      return stream_->launch(launch);
    }
    gpu::Status copy(void* to, const void* from, std::size_t bytes,
                     gpu::CopyDirection direction) override {
      return stream_->copy(to, from, bytes, direction);
    }
    gpu::Status record(gpu::Event& event) override { return stream_->record(event); }
    gpu::Status wait(const gpu::Event& event) override { return stream_->wait(event); }
    gpu::Status begin_capture() override { FORGE_CHECK(false, "a graph on a watched device"); }
    tl::expected<std::unique_ptr<gpu::Graph>, gpu::DeviceError> end_capture() override {
      return stream_->end_capture();
    }
    gpu::Status launch(gpu::Graph& graph) override { return stream_->launch(graph); }
    gpu::Status synchronize() override { return stream_->synchronize(); }

   private:
    std::unique_ptr<gpu::Stream> stream_;
    const Watch& watch_;
  };

  std::unique_ptr<gpu::Device> device_;
  Watch watch_;
};

}  // namespace forge::testing
