// NullDevice: a device without kernels. Memory is host memory, copies are done at once, launches
// and graphs do nothing. What remains of an executor's step is the executor itself.
#pragma once

#include <array>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <utility>
#include <vector>

#include "forge/gpu/device.h"

namespace forge::testing {

class NullDevice : public gpu::Device {
 public:
  std::uint64_t launches = 0;                    ///< of kernels, outside graphs
  std::uint64_t overlapping = 0;                 ///< of them, those that may begin early
  std::array<std::uint64_t, 256> launches_of{};  ///< of them, those of each KernelId
  std::uint64_t graph_launches = 0;              ///< of graphs
  std::uint64_t copies = 0;                      ///< in graphs too
  std::uint64_t device_bytes = 0;                ///< allocated
  std::uint64_t pinned_bytes = 0;                ///< allocated

  gpu::DeviceInfo info() const override {
    return {.name = "none", .multiprocessors = 1, .shared_bytes = std::uint64_t{227} * 1024};
  }

  tl::expected<std::optional<std::uint64_t>, gpu::DeviceError> free_bytes() override {
    return std::nullopt;
  }
  tl::expected<gpu::Buffer, gpu::DeviceError> allocate(gpu::MemoryKind kind, std::size_t bytes,
                                                       const char* /*name*/) override {
    (kind == gpu::MemoryKind::device ? device_bytes : pinned_bytes) += bytes;
    void* memory = std::aligned_alloc(256, (bytes + 255) / 256 * 256);
    std::memset(memory, 0, bytes);
    return gpu::Buffer(*this, kind, memory, bytes);
  }
  void release(void* data, gpu::MemoryKind /*kind*/) override { std::free(data); }

  tl::expected<std::unique_ptr<gpu::Stream>, gpu::DeviceError> create_stream() override {
    return std::make_unique<NullStream>(*this);
  }
  tl::expected<std::unique_ptr<gpu::Event>, gpu::DeviceError> create_event() override {
    return std::make_unique<NullEvent>();
  }

 private:
  struct NullEvent : gpu::Event {
    gpu::Status synchronize() override { return {}; }
    tl::expected<double, gpu::DeviceError> microseconds_since(
        const gpu::Event& /*earlier*/) const override {
      return 0;
    }
  };
  struct Copy {
    void* to;
    const void* from;
    std::size_t bytes;
  };
  struct NullGraph : gpu::Graph {
    std::vector<Copy> copies;
  };

  class NullStream : public gpu::Stream {
   public:
    explicit NullStream(NullDevice& device) : device_(device) {}

    gpu::Status copy(void* to, const void* from, std::size_t bytes,
                     gpu::CopyDirection /*direction*/) override {
      const Copy copy{to, from, bytes};
      if (captured_) {
        captured_->copies.push_back(copy);
      } else {
        run(copy);
      }
      return {};
    }
    gpu::Status launch(const gpu::KernelLaunch& launch) override {
      if (captured_) return {};
      ++device_.launches;
      device_.overlapping += launch.overlaps ? 1 : 0;
      ++device_.launches_of[static_cast<std::size_t>(launch.kernel)];
      return {};
    }
    gpu::Status record(gpu::Event& /*event*/) override { return {}; }
    gpu::Status wait(const gpu::Event& /*event*/) override { return {}; }
    gpu::Status begin_capture() override {
      captured_ = std::make_unique<NullGraph>();
      return {};
    }
    tl::expected<std::unique_ptr<gpu::Graph>, gpu::DeviceError> end_capture() override {
      return std::unique_ptr<gpu::Graph>(std::move(captured_));
    }
    gpu::Status launch(gpu::Graph& graph) override {
      ++device_.graph_launches;
      for (const Copy& copy : static_cast<NullGraph&>(graph).copies) run(copy);
      return {};
    }
    gpu::Status synchronize() override { return {}; }

   private:
    void run(const Copy& copy) {
      ++device_.copies;
      std::memcpy(copy.to, copy.from, copy.bytes);
    }

    NullDevice& device_;
    std::unique_ptr<NullGraph> captured_;
  };
};

}  // namespace forge::testing
