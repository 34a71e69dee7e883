// How answers of the CUDA runtime become errors, and that every kernel is there. Needs no GPU.
#include "cuda_context.h"

#include <gtest/gtest.h>

#include <set>

#include "kernel_table.h"

namespace forge::cuda {
namespace {

TEST(CudaContext, an_error_names_call_purpose_code_and_device) {
  const gpu::DeviceError error =
      error_of(cudaErrorMemoryAllocation, "cudaMalloc", "kv_pool, 1024 bytes", "0, NVIDIA H200");
  EXPECT_EQ(error.call, "cudaMalloc");
  EXPECT_EQ(error.message, "kv_pool, 1024 bytes: out of memory (cudaErrorMemoryAllocation)");
  EXPECT_EQ(error.device, "0, NVIDIA H200");
  EXPECT_FALSE(error.lost);
}

TEST(CudaContext, faults_of_kernels_and_hardware_lose_the_device_and_refusals_do_not) {
  for (const cudaError_t code : {cudaErrorIllegalAddress, cudaErrorLaunchFailure, cudaErrorAssert,
                                 cudaErrorMisalignedAddress, cudaErrorECCUncorrectable}) {
    EXPECT_TRUE(is_sticky(code)) << cudaGetErrorName(code);
  }
  for (const cudaError_t code :
       {cudaSuccess, cudaErrorMemoryAllocation, cudaErrorInvalidValue,
        cudaErrorInvalidConfiguration, cudaErrorNoDevice, cudaErrorStreamCaptureInvalidated}) {
    EXPECT_FALSE(is_sticky(code)) << cudaGetErrorName(code);
  }
}

TEST(KernelTable, every_kernel_has_an_entry_of_its_own) {
  std::set<const void*> entries;
  for (std::size_t i = 0; i < gpu::kKernelNames.size(); ++i) {
    const void* const entry = kernel_entry(static_cast<gpu::KernelId>(i));
    EXPECT_NE(entry, nullptr) << gpu::kKernelNames[i];
    EXPECT_TRUE(entries.insert(entry).second) << gpu::kKernelNames[i];
  }
}

}  // namespace
}  // namespace forge::cuda
