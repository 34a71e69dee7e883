#include "cuda_event.h"

namespace forge::cuda {

tl::expected<std::unique_ptr<gpu::Event>, gpu::DeviceError> CudaEvent::create(
    const CudaContext& context) {
  cudaEvent_t event = nullptr;
  const auto created = context.run(
      "cudaEventCreate", [&] { return cudaEventCreate(&event); }, [] { return "an event"; });
  if (!created) return tl::unexpected(created.error());
  return std::make_unique<CudaEvent>(context, event);
}

CudaEvent::~CudaEvent() {
  context_.free("cudaEventDestroy", [&] { return cudaEventDestroy(event_); });
}

gpu::Status CudaEvent::synchronize() {
  return context_.run(
      "cudaEventSynchronize", [&] { return cudaEventSynchronize(event_); },
      [] { return "what was queued before the event"; });
}

tl::expected<double, gpu::DeviceError> CudaEvent::microseconds_since(
    const gpu::Event& earlier) const {
  const cudaEvent_t begin = static_cast<const CudaEvent&>(earlier).event_;
  float milliseconds = 0;
  const auto measured = context_.run(
      "cudaEventElapsedTime", [&] { return cudaEventElapsedTime(&milliseconds, begin, event_); },
      [] { return "the time between two events"; });
  if (!measured) return tl::unexpected(measured.error());
  return static_cast<double>(milliseconds) * 1000;
}

}  // namespace forge::cuda
