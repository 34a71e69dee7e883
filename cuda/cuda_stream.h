// CudaStream: a queue of the GPU.
#pragma once

#include <memory>

#include "cublas_lt.h"
#include "cuda_context.h"

namespace forge::cuda {

class CudaStream final : public gpu::Stream {
 public:
  /// `overlaps`: can launches of this device?
  static tl::expected<std::unique_ptr<gpu::Stream>, gpu::DeviceError> create(
      const CudaContext& context, LazyCublasLt& library, bool overlaps);
  CudaStream(const CudaContext& context, LazyCublasLt& library, cudaStream_t stream, bool overlaps)
      : context_(context), library_(library), stream_(stream), overlaps_(overlaps) {}
  ~CudaStream() override;
  CudaStream(const CudaStream&) = delete;
  CudaStream& operator=(const CudaStream&) = delete;

  gpu::Status copy(void* to, const void* from, std::size_t bytes,
                   gpu::CopyDirection direction) override;
  gpu::Status launch(const gpu::KernelLaunch& launch) override;
  gpu::Status multiply(const gpu::LibraryProduct& product) override;
  gpu::Status record(gpu::Event& event) override;
  gpu::Status wait(const gpu::Event& event) override;

  gpu::Status begin_capture() override;
  tl::expected<std::unique_ptr<gpu::Graph>, gpu::DeviceError> end_capture() override;
  gpu::Status launch(gpu::Graph& graph) override;

  gpu::Status synchronize() override;

 private:
  gpu::Status allow_shared_bytes(const gpu::KernelLaunch& launch) const;

  const CudaContext& context_;
  LazyCublasLt& library_;
  cudaStream_t stream_;
  bool overlaps_;
};

}  // namespace forge::cuda
