// CudaEvent: a point in a stream, with the device's time there.
#pragma once

#include <memory>

#include "cuda_context.h"

namespace forge::cuda {

class CudaEvent final : public gpu::Event {
 public:
  static tl::expected<std::unique_ptr<gpu::Event>, gpu::DeviceError> create(
      const CudaContext& context);
  CudaEvent(const CudaContext& context, cudaEvent_t event) : context_(context), event_(event) {}
  ~CudaEvent() override;
  CudaEvent(const CudaEvent&) = delete;
  CudaEvent& operator=(const CudaEvent&) = delete;

  gpu::Status synchronize() override;
  tl::expected<double, gpu::DeviceError> microseconds_since(
      const gpu::Event& earlier) const override;

  cudaEvent_t handle() const { return event_; }

 private:
  const CudaContext& context_;
  cudaEvent_t event_;
};

}  // namespace forge::cuda
