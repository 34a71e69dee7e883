#include "cuda_stream.h"

#include "cuda_event.h"
#include "cuda_graph.h"
#include "kernel_table.h"

namespace forge::cuda {
namespace {

cudaMemcpyKind kind_of(gpu::CopyDirection direction) {
  switch (direction) {
    case gpu::CopyDirection::to_device:
      return cudaMemcpyHostToDevice;
    case gpu::CopyDirection::to_host:
      return cudaMemcpyDeviceToHost;
    case gpu::CopyDirection::within:
      break;
  }
  return cudaMemcpyDeviceToDevice;
}

const char* words_of(gpu::CopyDirection direction) {
  switch (direction) {
    case gpu::CopyDirection::to_device:
      return "to the device";
    case gpu::CopyDirection::to_host:
      return "to the host";
    case gpu::CopyDirection::within:
      break;
  }
  return "within the device";
}

std::string words_of(const gpu::KernelLaunch& launch) {
  const simt::LaunchShape& shape = launch.shape;
  return std::string(gpu::name(launch.kernel)) + ", grid " + std::to_string(shape.grid.x) + "x" +
         std::to_string(shape.grid.y) + "x" + std::to_string(shape.grid.z) + ", " +
         std::to_string(shape.threads) + " threads a block" +
         (shape.shared_bytes > 0
              ? ", " + std::to_string(shape.shared_bytes) + " bytes of shared memory"
              : "");
}

dim3 dim3_of(const simt::Index3& index) {
  return {static_cast<unsigned>(index.x), static_cast<unsigned>(index.y),
          static_cast<unsigned>(index.z)};
}

}  // namespace

tl::expected<std::unique_ptr<gpu::Stream>, gpu::DeviceError> CudaStream::create(
    const CudaContext& context, LazyCublasLt& library, bool overlaps) {
  cudaStream_t stream = nullptr;
  // Non-blocking: without ties to the default stream, which nothing here uses.
  const auto created = context.run(
      "cudaStreamCreateWithFlags",
      [&] { return cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking); },
      [] { return "a stream"; });
  if (!created) return tl::unexpected(created.error());
  return std::make_unique<CudaStream>(context, library, stream, overlaps);
}

CudaStream::~CudaStream() {
  context_.free("cudaStreamDestroy", [&] { return cudaStreamDestroy(stream_); });
}

gpu::Status CudaStream::copy(void* to, const void* from, std::size_t bytes,
                             gpu::CopyDirection direction) {
  return context_.run(
      "cudaMemcpyAsync",
      [&] { return cudaMemcpyAsync(to, from, bytes, kind_of(direction), stream_); },
      [&] { return std::to_string(bytes) + " bytes " + words_of(direction); });
}

/// A device gives 48 KiB without being asked, and what the kernel declares is part of them.
gpu::Status CudaStream::allow_shared_bytes(const gpu::KernelLaunch& launch) const {
  if (launch.shape.shared_bytes == 0) return {};
  return context_.run(
      "cudaFuncSetAttribute",
      [&] {
        return cudaFuncSetAttribute(kernel_entry(launch.kernel),
                                    cudaFuncAttributeMaxDynamicSharedMemorySize,
                                    launch.shape.shared_bytes);
      },
      [&] { return words_of(launch); });
}

gpu::Status CudaStream::launch(const gpu::KernelLaunch& launch) {
  if (auto allowed = allow_shared_bytes(launch); !allowed) return allowed;
  // The runtime copies the arguments, one struct, before it returns.
  void* args[] = {const_cast<std::byte*>(launch.args.data())};
  cudaLaunchAttribute overlaps{};
  overlaps.id = cudaLaunchAttributeProgrammaticStreamSerialization;
  overlaps.val.programmaticStreamSerializationAllowed = 1;
  cudaLaunchConfig_t config{};
  config.gridDim = dim3_of(launch.shape.grid);
  config.blockDim = dim3_of({launch.shape.threads, 1, 1});
  config.dynamicSmemBytes = static_cast<std::size_t>(launch.shape.shared_bytes);
  config.stream = stream_;
  config.attrs = &overlaps;
  config.numAttrs = overlaps_ && launch.overlaps ? 1 : 0;
  return context_.run(
      "cudaLaunchKernelExC",
      [&] { return cudaLaunchKernelExC(&config, kernel_entry(launch.kernel), args); },
      [&] { return words_of(launch); });
}

gpu::Status CudaStream::multiply(const gpu::LibraryProduct& product) {
  const auto library = library_.get();
  if (!library) return Stream::multiply(product);
  return (*library)->multiply(product, stream_);
}

gpu::Status CudaStream::record(gpu::Event& event) {
  const cudaEvent_t handle = static_cast<CudaEvent&>(event).handle();
  return context_.run(
      "cudaEventRecord", [&] { return cudaEventRecord(handle, stream_); },
      [] { return "an event"; });
}

gpu::Status CudaStream::wait(const gpu::Event& event) {
  const cudaEvent_t handle = static_cast<const CudaEvent&>(event).handle();
  return context_.run(
      "cudaStreamWaitEvent", [&] { return cudaStreamWaitEvent(stream_, handle, 0); },
      [] { return "an event of another stream"; });
}

gpu::Status CudaStream::begin_capture() {
  // Other threads may go on to use the runtime as they like.
  return context_.run(
      "cudaStreamBeginCapture",
      [&] { return cudaStreamBeginCapture(stream_, cudaStreamCaptureModeThreadLocal); },
      [] { return "capture of a graph"; });
}

tl::expected<std::unique_ptr<gpu::Graph>, gpu::DeviceError> CudaStream::end_capture() {
  cudaGraph_t captured = nullptr;
  const auto ended = context_.run(
      "cudaStreamEndCapture", [&] { return cudaStreamEndCapture(stream_, &captured); },
      [] { return "capture of a graph"; });
  if (!ended) return tl::unexpected(ended.error());
  return CudaGraph::create(context_, captured, stream_);
}

gpu::Status CudaStream::launch(gpu::Graph& graph) {
  const CudaGraph& captured = static_cast<CudaGraph&>(graph);
  return context_.run(
      "cudaGraphLaunch", [&] { return cudaGraphLaunch(captured.handle(), stream_); },
      [&] { return "a graph of " + std::to_string(captured.nodes()) + " nodes"; });
}

gpu::Status CudaStream::synchronize() {
  return context_.run(
      "cudaStreamSynchronize", [&] { return cudaStreamSynchronize(stream_); },
      [] { return "what was queued"; });
}

}  // namespace forge::cuda
