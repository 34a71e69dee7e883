#include "peers_stream.h"

#include "cuda_clock.h"

namespace forge {
namespace {

struct DestroyGraph {
  void operator()(cudaGraph_t graph) const { static_cast<void>(cudaGraphDestroy(graph)); }
  void operator()(cudaGraphExec_t graph) const { static_cast<void>(cudaGraphExecDestroy(graph)); }
};

}  // namespace

LibraryStream::Status runtime_status(const char* call, cudaError_t code) {
  if (code == cudaSuccess) return {};
  return tl::unexpected(std::string(call) + ": " + cudaGetErrorString(code));
}

tl::expected<std::unique_ptr<LibraryStream>, std::string> LibraryStream::create() {
  auto made = std::make_unique<LibraryStream>();
  Status status = runtime_status("cudaStreamCreateWithFlags",
                                 cudaStreamCreateWithFlags(&made->stream_, cudaStreamNonBlocking));
  for (cudaEvent_t* const event : {&made->begin_, &made->end_}) {
    if (status) status = runtime_status("cudaEventCreate", cudaEventCreate(event));
  }
  if (!status) return tl::unexpected(status.error());
  return made;
}

LibraryStream::~LibraryStream() {
  for (cudaEvent_t const event : {begin_, end_}) {
    if (event != nullptr) static_cast<void>(cudaEventDestroy(event));
  }
  if (stream_ != nullptr) static_cast<void>(cudaStreamDestroy(stream_));
}

LibraryStream::Status LibraryStream::synchronize() {
  return runtime_status("cudaStreamSynchronize", cudaStreamSynchronize(stream_));
}

tl::expected<double, std::string> LibraryStream::in_graph_us(
    int count, const std::function<Status(int)>& queue) {
  Status status = runtime_status("cudaStreamBeginCapture",
                                 cudaStreamBeginCapture(stream_, cudaStreamCaptureModeThreadLocal));
  if (!status) return tl::unexpected(status.error());
  for (int i = 0; i < count && status; ++i) status = queue(i);
  cudaGraph_t captured = nullptr;
  const Status ended =
      runtime_status("cudaStreamEndCapture", cudaStreamEndCapture(stream_, &captured));
  const std::unique_ptr<CUgraph_st, DestroyGraph> graph(captured);
  if (status) status = ended;
  cudaGraphExec_t instance = nullptr;
  if (status) {
    status = runtime_status("cudaGraphInstantiate", cudaGraphInstantiate(&instance, captured, 0));
  }
  if (!status) return tl::unexpected(status.error());
  const std::unique_ptr<CUgraphExec_st, DestroyGraph> executable(instance);
  std::vector<double> times;
  for (int round = -DeviceClock::kWarmups; round < DeviceClock::kRounds; ++round) {
    const auto us = round_us(instance);
    if (!us) return tl::unexpected(us.error());
    if (round >= 0) times.push_back(*us);
  }
  return median(std::move(times)) / count;
}

tl::expected<double, std::string> LibraryStream::round_us(cudaGraphExec_t graph) {
  Status status = runtime_status("cudaEventRecord", cudaEventRecord(begin_, stream_));
  if (status) status = runtime_status("cudaGraphLaunch", cudaGraphLaunch(graph, stream_));
  if (status) status = runtime_status("cudaEventRecord", cudaEventRecord(end_, stream_));
  if (status) status = synchronize();
  float ms = 0;
  if (status) {
    status = runtime_status("cudaEventElapsedTime", cudaEventElapsedTime(&ms, begin_, end_));
  }
  if (!status) return tl::unexpected(status.error());
  return 1e3 * static_cast<double>(ms);
}

}  // namespace forge
