// CudaContext: which GPU it is, and how a call of the CUDA runtime that failed becomes an error
// that names the call, what it was for, and the device.
//
// Everything made from a CudaDevice refers to the device's context. Thread contract: as
// gpu::Device.
#pragma once

#include <cuda_runtime_api.h>

#include <string>
#include <utility>

#include "forge/gpu/device.h"

namespace forge::cuda {

/// Whether the device is lost: the runtime answers every later call with this error again.
bool is_sticky(cudaError_t code);

/// The error of a call that answered `code`. `purpose`: what the call was for, in words.
gpu::DeviceError error_of(cudaError_t code, const char* call, const std::string& purpose,
                          const std::string& device);

class CudaContext {
 public:
  /// `name` is the GPU's. Requires: a device `index` exists.
  CudaContext(int index, const std::string& name);

  /// "0, NVIDIA H200"
  const std::string& device() const { return device_; }

  /// Runs `body`, which calls the runtime's function `call` and returns its answer.
  /// `purpose()` says what for; it is asked only after a failure.
  template <class Body, class Purpose>
  gpu::Status run(const char* call, const Body& body, const Purpose& purpose) const {
    // The runtime's current device is a property of the thread, which may be a new one.
    if (const cudaError_t code = cudaSetDevice(index_); code != cudaSuccess) [[unlikely]] {
      return tl::unexpected(error_of(code, "cudaSetDevice", purpose(), device_));
    }
    if (const cudaError_t code = body(); code != cudaSuccess) [[unlikely]] {
      return tl::unexpected(error_of(code, call, purpose(), device_));
    }
    return {};
  }

  /// Frees something in a destructor, where no error can be returned. That the device is lost is no
  /// surprise here: an earlier call has said so, or the next one will.
  template <class Body>
  void free(const char* call, const Body& body) const {
    check_freed(call, cudaSetDevice(index_) == cudaSuccess ? body() : cudaSuccess);
  }

 private:
  void check_freed(const char* call, cudaError_t code) const;

  int index_;
  std::string device_;
};

}  // namespace forge::cuda
