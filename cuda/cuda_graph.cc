#include "cuda_graph.h"

namespace forge::cuda {

tl::expected<std::unique_ptr<gpu::Graph>, gpu::DeviceError> CudaGraph::create(
    const CudaContext& context, cudaGraph_t captured, cudaStream_t stream) {
  std::size_t nodes = 0;
  cudaGraphExec_t graph = nullptr;
  const auto purpose = [&] { return "a graph of " + std::to_string(nodes) + " nodes"; };
  auto status = context.run(
      "cudaGraphGetNodes", [&] { return cudaGraphGetNodes(captured, nullptr, &nodes); }, purpose);
  if (status) {
    status = context.run(
        "cudaGraphInstantiate", [&] { return cudaGraphInstantiate(&graph, captured, 0); }, purpose);
  }
  context.free("cudaGraphDestroy", [&] { return cudaGraphDestroy(captured); });
  if (!status) return tl::unexpected(status.error());

  auto made = std::make_unique<CudaGraph>(context, graph, nodes);
  // Now rather than in the first launch.
  status = context.run(
      "cudaGraphUpload", [&] { return cudaGraphUpload(graph, stream); }, purpose);
  if (!status) return tl::unexpected(status.error());
  return made;
}

CudaGraph::~CudaGraph() {
  context_.free("cudaGraphExecDestroy", [&] { return cudaGraphExecDestroy(graph_); });
}

}  // namespace forge::cuda
