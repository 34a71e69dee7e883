#include "forge/sim/sim_device.h"

#include "forge/sim/kernel_time.h"
#include "sim_context.h"
#include "sim_stream.h"

namespace forge::sim {

SimDevice::SimDevice(const SimOptions& options) : context_(std::make_unique<SimContext>(options)) {}
SimDevice::~SimDevice() = default;

gpu::DeviceInfo SimDevice::info() const {
  const DeviceDescription& device = context_->options().device;
  return {.name = context_->device_name(),
          .multiprocessors = device.multiprocessors,
          .compute_capability = device.compute_capability,
          .memory_bytes = device.memory_bytes,
          .shared_bytes = shared_bytes_of_block(device)};
}

/// Not given in options: this machine's.
tl::expected<std::optional<std::uint64_t>, gpu::DeviceError> SimDevice::free_bytes() {
  const std::optional<std::uint64_t> all = context_->options().memory_bytes;
  if (!all) return std::nullopt;
  return *all - context_->memory().device_bytes_used();
}

tl::expected<gpu::Buffer, gpu::DeviceError> SimDevice::allocate(gpu::MemoryKind kind,
                                                                std::size_t bytes,
                                                                const char* name) {
  return context_->allocate(*this, kind, bytes, name);
}

void SimDevice::release(void* data, gpu::MemoryKind kind) { context_->release(data, kind); }

tl::expected<std::unique_ptr<gpu::Stream>, gpu::DeviceError> SimDevice::create_stream() {
  const auto begun = context_->begin_call_outside_capture(DeviceCall::Kind::create, "stream");
  if (!begun) return tl::unexpected(begun.error());
  return std::make_unique<SimStream>(*context_);
}

tl::expected<std::unique_ptr<gpu::Event>, gpu::DeviceError> SimDevice::create_event() {
  const auto begun = context_->begin_call_outside_capture(DeviceCall::Kind::create, "event");
  if (!begun) return tl::unexpected(begun.error());
  return std::make_unique<SimEvent>(*context_);
}

tl::expected<gpu::MatrixLibrary*, std::string> SimDevice::matrix_library() {
  if (context_->options().library == nullptr) return Device::matrix_library();
  return context_->options().library;
}

std::optional<gpu::Estimate> SimDevice::estimate() const {
  gpu::Estimate estimate{
      .us = statistics().device_us,
      .kernels = statistics().kernels,
      .calibrated = description().calibration.has_value() && statistics().library_products == 0};
  for (std::size_t i = 0; i < estimate.kernels.size(); ++i) {
    if (estimate.kernels[i].launches == 0) continue;
    estimate.calibrated &= is_calibrated(description(), static_cast<gpu::KernelId>(i));
  }
  return estimate;
}

const DeviceDescription& SimDevice::description() const { return context_->options().device; }

const SimStatistics& SimDevice::statistics() const { return context_->statistics(); }

const simt::MemoryMap& SimDevice::memory() const { return context_->memory().map(); }

const std::optional<simt::KernelFault>& SimDevice::kernel_fault() const {
  return context_->kernel_fault();
}

}  // namespace forge::sim
