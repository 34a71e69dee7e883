#include "cuda/fake_runtime.h"

#include <array>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <map>
#include <memory>
#include <vector>

#include "cuda_context.h"
#include "forge/sim/sim_kernels.h"
#include "kernel_table.h"

using Operation = std::function<cudaError_t()>;

// The runtime's own types, which its header leaves open.
struct CUstream_st {
  std::unique_ptr<CUgraph_st> capture;
};
struct CUevent_st {
  bool recorded = false;
};
struct CUgraph_st {
  std::vector<Operation> operations;
};
struct CUgraphExec_st {
  std::vector<Operation> operations;
};

namespace forge::testing {
namespace {

struct Runtime {
  int major = 9;
  int live = 0;
  int overlapping_launches = 0;
  std::map<const void*, int> allowed_bytes;  ///< of shared memory, dynamic
  bool capturing = false;
  std::string failing;
  cudaError_t failure = cudaSuccess;
  cudaError_t lost_by = cudaSuccess;
  cudaError_t last = cudaSuccess;
};
Runtime runtime;

cudaError_t answer(cudaError_t code) {
  if (code != cudaSuccess) runtime.last = code;
  if (cuda::is_sticky(code)) runtime.lost_by = code;
  return code;
}

/// What `function` answers before it does anything.
cudaError_t begin(const char* function) {
  if (runtime.lost_by != cudaSuccess) return answer(runtime.lost_by);
  if (runtime.failing != function) return cudaSuccess;
  runtime.failing.clear();
  return answer(runtime.failure);
}

/// Does `body`, unless the call fails.
template <class Body>
cudaError_t call(const char* function, const Body& body) {
  if (const cudaError_t code = begin(function); code != cudaSuccess) return code;
  return answer(body());
}

/// The same for a call that a capture does not allow.
template <class Body>
cudaError_t call_outside_capture(const char* function, const Body& body) {
  return call(function,
              [&] { return runtime.capturing ? cudaErrorStreamCaptureUnsupported : body(); });
}

cudaError_t run_or_note(cudaStream_t stream, Operation operation) {
  if (!stream->capture) return operation();
  stream->capture->operations.push_back(std::move(operation));
  return cudaSuccess;
}

cudaError_t allocate(void** data, std::size_t bytes) {
  if (bytes > std::size_t{1} << 40) return cudaErrorMemoryAllocation;
  *data = std::aligned_alloc(256, (bytes + 255) / 256 * 256);
  ++runtime.live;
  return cudaSuccess;
}

cudaError_t release(void* data) {
  std::free(data);
  --runtime.live;
  return cudaSuccess;
}

template <class T, class... Parts>
cudaError_t make(T** object, Parts&&... parts) {
  *object = new T{std::forward<Parts>(parts)...};
  ++runtime.live;
  return cudaSuccess;
}

template <class T>
cudaError_t destroy(T* object) {
  delete object;
  --runtime.live;
  return cudaSuccess;
}

/// Whether a launch may have so much: 48 KiB, with what the kernel declares, without being asked.
bool is_allowed(const void* kernel, std::size_t dynamic_bytes) {
  const auto allowed = runtime.allowed_bytes.find(kernel);
  if (allowed != runtime.allowed_bytes.end()) {
    return dynamic_bytes <= static_cast<std::size_t>(allowed->second);
  }
  for (std::size_t i = 0; i < gpu::kKernelNames.size(); ++i) {
    const auto id = static_cast<gpu::KernelId>(i);
    if (cuda::kernel_entry(id) != kernel) continue;
    return dynamic_bytes + static_cast<std::size_t>(gpu::resources_of(id).shared_bytes) <=
           48 * 1024;
  }
  return false;
}

}  // namespace

int overlapping_launches() { return runtime.overlapping_launches; }

void reset_fake_runtime(int major) { runtime = {.major = major, .failing = ""}; }

void fail_next(const std::string& function, cudaError_t code) {
  runtime.failing = function;
  runtime.failure = code;
}

int live_objects() { return runtime.live; }

}  // namespace forge::testing

namespace forge::cuda {

const void* kernel_entry(gpu::KernelId kernel) {
  return reinterpret_cast<const void*>(sim::kernel_code(kernel).plain);
}

}  // namespace forge::cuda

using namespace forge::testing;  // the runtime's functions are nobody's

extern "C" {

const char* cudaGetErrorName(cudaError_t code) {
  return code == cudaErrorIllegalAddress ? "cudaErrorIllegalAddress" : "cudaErrorOfTheFake";
}
const char* cudaGetErrorString(cudaError_t code) {
  switch (code) {
    case cudaErrorMemoryAllocation:
      return "out of memory";
    case cudaErrorIllegalAddress:
      return "an illegal memory access was encountered";
    default:
      return "some error";
  }
}
cudaError_t cudaGetLastError() { return std::exchange(runtime.last, runtime.lost_by); }

// ---- Devices --------------------------------------------------------------------

cudaError_t cudaGetDeviceCount(int* count) {
  return call("cudaGetDeviceCount", [&] { return *count = 1, cudaSuccess; });
}
cudaError_t cudaSetDevice(int device) {
  return call("cudaSetDevice", [&] { return device == 0 ? cudaSuccess : cudaErrorInvalidDevice; });
}
cudaError_t cudaGetDeviceProperties(cudaDeviceProp* properties, int device) {
  return call("cudaGetDeviceProperties", [&] {
    if (device != 0) return cudaErrorInvalidDevice;
    *properties = {};
    std::strcpy(properties->name, "NVIDIA Fake");
    properties->major = runtime.major;
    properties->multiProcessorCount = 4;
    properties->totalGlobalMem = std::size_t{1} << 33;
    return cudaSuccess;
  });
}
cudaError_t cudaDeviceSynchronize() {
  return call_outside_capture("cudaDeviceSynchronize", [] { return cudaSuccess; });
}
cudaError_t cudaFuncGetAttributes(cudaFuncAttributes*, const void* kernel) {
  return call("cudaFuncGetAttributes",
              [&] { return kernel != nullptr ? cudaSuccess : cudaErrorInvalidDeviceFunction; });
}

// ---- Memory ---------------------------------------------------------------------

cudaError_t cudaMalloc(void** data, std::size_t bytes) {
  return call_outside_capture("cudaMalloc", [&] { return allocate(data, bytes); });
}
cudaError_t cudaHostAlloc(void** data, std::size_t bytes, unsigned) {
  return call_outside_capture("cudaHostAlloc", [&] { return allocate(data, bytes); });
}
cudaError_t cudaMemGetInfo(std::size_t* free, std::size_t* total) {
  return call("cudaMemGetInfo", [&] {
    *total = std::size_t{1} << 33;
    *free = *total - (std::size_t{1} << 30);
    return cudaSuccess;
  });
}
cudaError_t cudaFree(void* data) {
  return call_outside_capture("cudaFree", [&] { return release(data); });
}
cudaError_t cudaFreeHost(void* data) {
  return call_outside_capture("cudaFreeHost", [&] { return release(data); });
}
cudaError_t cudaMemset(void* data, int value, std::size_t bytes) {
  return call_outside_capture("cudaMemset",
                              [&] { return std::memset(data, value, bytes), cudaSuccess; });
}

// ---- Streams --------------------------------------------------------------------

cudaError_t cudaStreamCreateWithFlags(cudaStream_t* stream, unsigned) {
  return call("cudaStreamCreateWithFlags", [&] { return make(stream); });
}
cudaError_t cudaStreamDestroy(cudaStream_t stream) {
  return call_outside_capture("cudaStreamDestroy", [&] { return destroy(stream); });
}
cudaError_t cudaStreamSynchronize(cudaStream_t) {
  return call_outside_capture("cudaStreamSynchronize", [] { return cudaSuccess; });
}
cudaError_t cudaMemcpyAsync(void* to, const void* from, std::size_t bytes, cudaMemcpyKind,
                            cudaStream_t stream) {
  return call("cudaMemcpyAsync", [&] {
    return run_or_note(stream, [=] { return std::memcpy(to, from, bytes), cudaSuccess; });
  });
}
cudaError_t cudaFuncSetAttribute(const void* kernel, cudaFuncAttribute, int value) {
  return call("cudaFuncSetAttribute", [&] {
    if (value > forge::simt::kSharedBytesMax) return cudaErrorInvalidValue;
    runtime.allowed_bytes[kernel] = value;
    return cudaSuccess;
  });
}
cudaError_t cudaLaunchKernelExC(const cudaLaunchConfig_t* config, const void* kernel, void** args) {
  return call("cudaLaunchKernelExC", [&] {
    const dim3 grid = config->gridDim;
    if (grid.y > 65535 || grid.z > 65535) return cudaErrorInvalidConfiguration;
    if (!is_allowed(kernel, config->dynamicSmemBytes)) return cudaErrorInvalidValue;
    if (config->numAttrs > 0) ++runtime.overlapping_launches;
    using forge::gpu::KernelLaunch;
    std::array<std::byte, KernelLaunch::kArgsMax> copy;
    std::memcpy(copy.data(), args[0], copy.size());
    const forge::simt::KernelCode code{
        .plain = reinterpret_cast<forge::simt::Entry>(const_cast<void*>(kernel))};
    const forge::simt::LaunchShape shape{
        {static_cast<int>(grid.x), static_cast<int>(grid.y), static_cast<int>(grid.z)},
        static_cast<int>(config->blockDim.x),
        static_cast<int>(config->dynamicSmemBytes)};
    return run_or_note(config->stream, [=] {
      static forge::simt::Machine machine;
      return machine.run(code, shape, copy.data()) ? cudaSuccess : cudaErrorLaunchFailure;
    });
  });
}

// ---- Events ---------------------------------------------------------------------

cudaError_t cudaEventCreate(cudaEvent_t* event) {
  return call("cudaEventCreate", [&] { return make(event); });
}
cudaError_t cudaEventDestroy(cudaEvent_t event) {
  return call("cudaEventDestroy", [&] { return destroy(event); });
}
cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t) {
  return call("cudaEventRecord", [&] { return event->recorded = true, cudaSuccess; });
}
cudaError_t cudaEventSynchronize(cudaEvent_t) {
  return call_outside_capture("cudaEventSynchronize", [] { return cudaSuccess; });
}
cudaError_t cudaStreamWaitEvent(cudaStream_t, cudaEvent_t, unsigned) {
  return call("cudaStreamWaitEvent", [] { return cudaSuccess; });
}
cudaError_t cudaEventElapsedTime(float* milliseconds, cudaEvent_t begin, cudaEvent_t end) {
  return call("cudaEventElapsedTime", [&] {
    *milliseconds = 0.25F;
    return begin->recorded && end->recorded ? cudaSuccess : cudaErrorInvalidResourceHandle;
  });
}

// ---- Graphs ---------------------------------------------------------------------

cudaError_t cudaStreamBeginCapture(cudaStream_t stream, cudaStreamCaptureMode) {
  return call("cudaStreamBeginCapture", [&] {
    stream->capture = std::make_unique<CUgraph_st>();
    runtime.capturing = true;
    ++runtime.live;
    return cudaSuccess;
  });
}
cudaError_t cudaStreamEndCapture(cudaStream_t stream, cudaGraph_t* graph) {
  return call("cudaStreamEndCapture", [&] {
    if (!stream->capture) return cudaErrorIllegalState;
    *graph = stream->capture.release();
    runtime.capturing = false;
    return cudaSuccess;
  });
}
cudaError_t cudaGraphGetNodes(cudaGraph_t graph, cudaGraphNode_t*, std::size_t* count) {
  return call("cudaGraphGetNodes", [&] { return *count = graph->operations.size(), cudaSuccess; });
}
cudaError_t cudaGraphInstantiate(cudaGraphExec_t* exec, cudaGraph_t graph, unsigned long long) {
  return call("cudaGraphInstantiate", [&] { return make(exec, graph->operations); });
}
cudaError_t cudaGraphUpload(cudaGraphExec_t, cudaStream_t) {
  return call("cudaGraphUpload", [] { return cudaSuccess; });
}
cudaError_t cudaGraphLaunch(cudaGraphExec_t exec, cudaStream_t) {
  return call("cudaGraphLaunch", [&] {
    for (const Operation& operation : exec->operations) {
      if (const cudaError_t code = operation(); code != cudaSuccess) return code;
    }
    return cudaSuccess;
  });
}
cudaError_t cudaGraphDestroy(cudaGraph_t graph) {
  return call("cudaGraphDestroy", [&] { return destroy(graph); });
}
cudaError_t cudaGraphExecDestroy(cudaGraphExec_t exec) {
  return call("cudaGraphExecDestroy", [&] { return destroy(exec); });
}

}  // extern "C"
