// LibraryStream: a stream of the CUDA runtime for a library, which wants one as cudaStream_t, and
// its clock. It measures as DeviceClock does: launches in a row in a graph, the median of as many
// rounds.
//
// Thread contract: one thread at a time.
#pragma once

#include <cuda_runtime_api.h>

#include <functional>
#include <memory>
#include <string>
#include <tl/expected.hpp>

namespace forge {

class LibraryStream {
 public:
  using Status = tl::expected<void, std::string>;

  static tl::expected<std::unique_ptr<LibraryStream>, std::string> create();
  LibraryStream() = default;
  LibraryStream(const LibraryStream&) = delete;
  LibraryStream& operator=(const LibraryStream&) = delete;
  ~LibraryStream();

  cudaStream_t get() const { return stream_; }

  /// Until all that is queued is done. Errors: also of what was queued before.
  Status synchronize();

  /// Microseconds of one of `count` that `queue(i)` queues here, in a graph.
  tl::expected<double, std::string> in_graph_us(int count, const std::function<Status(int)>& queue);

 private:
  tl::expected<double, std::string> round_us(cudaGraphExec_t graph);

  cudaStream_t stream_ = nullptr;
  cudaEvent_t begin_ = nullptr;
  cudaEvent_t end_ = nullptr;
};

/// "cudaGraphLaunch: an illegal memory access ...", if the call failed.
LibraryStream::Status runtime_status(const char* call, cudaError_t code);

}  // namespace forge
