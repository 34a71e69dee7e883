#include "counting_device.h"

#include <sys/mman.h>

#include <cstring>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "forge/core/check.h"
#include "forge/sim/kernel_time.h"

namespace forge {
namespace {

/// Whether this is memory of whose contents the cost of a launch does not depend.
bool is_weights_or_kv(std::string_view name) {
  return name.starts_with("weights") || name == "KV pool";
}

struct DoneEvent : gpu::Event {
  gpu::Status synchronize() override { return {}; }
  tl::expected<double, gpu::DeviceError> microseconds_since(
      const gpu::Event& /*earlier*/) const override {
    return 0;
  }
};

}  // namespace

// ---- The stream ---------------------------------------------------------------------------------

class CountingDevice::Stream : public gpu::Stream {
 public:
  explicit Stream(CountingDevice& device) : device_(device) {}

  gpu::Status copy(void* to, const void* from, std::size_t bytes,
                   gpu::CopyDirection /*direction*/) override {
    queue(Copy{to, from, bytes});
    return {};
  }
  gpu::Status launch(const gpu::KernelLaunch& launch) override {
    queue(launch);
    return {};
  }
  gpu::Status record(gpu::Event& /*event*/) override { return {}; }
  gpu::Status wait(const gpu::Event& /*event*/) override { return {}; }
  gpu::Status begin_capture() override {
    captured_ = std::make_unique<Graph>();
    return {};
  }
  tl::expected<std::unique_ptr<gpu::Graph>, gpu::DeviceError> end_capture() override {
    return std::unique_ptr<gpu::Graph>(std::move(captured_));
  }
  gpu::Status launch(gpu::Graph& graph) override {
    for (const Operation& operation : static_cast<Graph&>(graph).operations) run(operation, true);
    return {};
  }
  gpu::Status synchronize() override { return {}; }

 private:
  using Operation = std::variant<Copy, gpu::KernelLaunch>;
  struct Graph : gpu::Graph {
    std::vector<Operation> operations;
  };

  void queue(const Operation& operation) {
    if (captured_) {
      captured_->operations.push_back(operation);
    } else {
      run(operation, false);
    }
  }
  void run(const Operation& operation, bool in_graph) {
    if (const auto* const copy = std::get_if<Copy>(&operation)) {
      device_.run(*copy);
    } else {
      device_.options_.run(std::get<gpu::KernelLaunch>(operation), in_graph);
    }
  }

  CountingDevice& device_;
  std::unique_ptr<Graph> captured_;
};

// ---- The device ---------------------------------------------------------------------------------

gpu::DeviceInfo CountingDevice::info() const {
  const sim::DeviceDescription& description = options_.description;
  return {.name = description.full_name,
          .multiprocessors = description.multiprocessors,
          .compute_capability = description.compute_capability,
          .memory_bytes = description.memory_bytes,
          .shared_bytes = sim::shared_bytes_of_block(description)};
}

tl::expected<std::optional<std::uint64_t>, gpu::DeviceError> CountingDevice::free_bytes() {
  return options_.description.memory_bytes - bytes_allocated_;
}

tl::expected<gpu::Buffer, gpu::DeviceError> CountingDevice::allocate(gpu::MemoryKind kind,
                                                                     std::size_t bytes,
                                                                     const char* name) {
  const bool is_on_device = kind == gpu::MemoryKind::device;
  const std::uint64_t free = options_.description.memory_bytes - bytes_allocated_;
  if (is_on_device && bytes > free) {
    return tl::unexpected(error(std::string(name) + ": out of memory"));
  }
  void* const data = mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                          MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (data == MAP_FAILED) return tl::unexpected(error(std::string(name) + ": not to be mapped"));
  memory_[static_cast<const std::byte*>(data)] = {bytes, name};
  if (is_on_device) bytes_allocated_ += bytes;
  return gpu::Buffer(*this, kind, data, bytes);
}

gpu::DeviceError CountingDevice::error(std::string message) const {
  return {
      .call = "allocate", .message = std::move(message), .device = options_.description.full_name};
}

void CountingDevice::release(void* data, gpu::MemoryKind kind) {
  const auto memory = memory_.find(static_cast<const std::byte*>(data));
  const std::size_t bytes = memory->second.bytes;
  memory_.erase(memory);
  if (kind == gpu::MemoryKind::device) bytes_allocated_ -= bytes;
  munmap(data, bytes);
}

tl::expected<std::unique_ptr<gpu::Stream>, gpu::DeviceError> CountingDevice::create_stream() {
  return std::make_unique<Stream>(*this);
}

tl::expected<std::unique_ptr<gpu::Event>, gpu::DeviceError> CountingDevice::create_event() {
  return std::make_unique<DoneEvent>();
}

void CountingDevice::run(const Copy& copy) {
  if (!options_.keeps_all && is_weights_or_kv(name_at(copy.to))) return;
  std::memcpy(copy.to, copy.from, copy.bytes);
  copies_us_ += sim::copy_us(options_.description, copy.bytes);
}

std::string_view CountingDevice::name_at(const void* address) const {
  const auto* const at = static_cast<const std::byte*>(address);
  const auto next = memory_.upper_bound(at);
  if (next == memory_.begin()) return {};
  const auto& [begin, memory] = *std::prev(next);
  return at < begin + memory.bytes ? std::string_view(memory.name) : std::string_view();
}

}  // namespace forge
