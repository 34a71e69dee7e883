// CudaGraph: what a stream noted between begin_capture() and end_capture(), ready to be launched.
#pragma once

#include <cstddef>
#include <memory>

#include "cuda_context.h"

namespace forge::cuda {

class CudaGraph final : public gpu::Graph {
 public:
  /// Makes `captured` launchable and frees it; `stream` will launch it.
  static tl::expected<std::unique_ptr<gpu::Graph>, gpu::DeviceError> create(
      const CudaContext& context, cudaGraph_t captured, cudaStream_t stream);
  CudaGraph(const CudaContext& context, cudaGraphExec_t graph, std::size_t nodes)
      : context_(context), graph_(graph), nodes_(nodes) {}
  ~CudaGraph() override;
  CudaGraph(const CudaGraph&) = delete;
  CudaGraph& operator=(const CudaGraph&) = delete;

  cudaGraphExec_t handle() const { return graph_; }
  std::size_t nodes() const { return nodes_; }

 private:
  const CudaContext& context_;
  cudaGraphExec_t graph_;
  std::size_t nodes_;
};

}  // namespace forge::cuda
