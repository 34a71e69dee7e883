#include "cuda_context.h"

#include "forge/core/check.h"

namespace forge::cuda {

// The codes of which the runtime's documentation says that the process must be started anew, and
// those of broken hardware.
bool is_sticky(cudaError_t code) {
  switch (code) {
    case cudaErrorECCUncorrectable:
    case cudaErrorNvlinkUncorrectable:
    case cudaErrorContained:
    case cudaErrorIllegalAddress:
    case cudaErrorLaunchTimeout:
    case cudaErrorContextIsDestroyed:
    case cudaErrorAssert:
    case cudaErrorHardwareStackError:
    case cudaErrorIllegalInstruction:
    case cudaErrorMisalignedAddress:
    case cudaErrorInvalidAddressSpace:
    case cudaErrorInvalidPc:
    case cudaErrorLaunchFailure:
    case cudaErrorTensorMemoryLeak:
    case cudaErrorMpsClientTerminated:
    case cudaErrorExternalDevice:
      return true;
    default:
      return false;
  }
}

gpu::DeviceError error_of(cudaError_t code, const char* call, const std::string& purpose,
                          const std::string& device) {
  // The runtime keeps the last error; one that does not stick must not be taken for a later call's.
  cudaGetLastError();
  return {call, purpose + ": " + cudaGetErrorString(code) + " (" + cudaGetErrorName(code) + ")",
          device, is_sticky(code)};
}

CudaContext::CudaContext(int index, const std::string& name)
    : index_(index), device_(std::to_string(index) + ", " + name) {}

void CudaContext::check_freed(const char* call, cudaError_t code) const {
  const bool expected = code == cudaSuccess || code == cudaErrorCudartUnloading || is_sticky(code);
  FORGE_CHECK(expected, call, ": ", cudaGetErrorString(code), ", ", device_);
}

}  // namespace forge::cuda
