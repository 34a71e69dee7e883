// What forge/cuda/cuda_device.h says where the build had no CUDA toolkit.
#include "forge/cuda/cuda_device.h"

namespace forge::cuda {

bool built_with_cuda() { return false; }

int device_count() { return 0; }

tl::expected<std::unique_ptr<gpu::Device>, gpu::DeviceError> open_device(int index) {
  return tl::unexpected(gpu::DeviceError{
      "open_device", "this program was built without a CUDA toolkit (CMake's FORGE_CUDA)",
      std::to_string(index)});
}

}  // namespace forge::cuda
