#include "forge/cuda/cuda_device.h"

#include <cstring>

#include "cuda_context.h"
#include "cuda_event.h"
#include "cuda_stream.h"
#include "forge/core/check.h"
#include "forge/executor/executor_options.h"
#include "kernel_table.h"

namespace forge::cuda {
namespace {

/// sm_80: the oldest architecture that there is machine code for.
constexpr int kOldestMajor = 8;
/// From here on launches can overlap.
constexpr int kOverlappingMajor = 9;

class CudaDevice final : public gpu::Device {
 public:
  CudaDevice(int index, const cudaDeviceProp& properties)
      : context_(index, properties.name),
        info_{.name = properties.name,
              .multiprocessors = properties.multiProcessorCount,
              .compute_capability = 10 * properties.major + properties.minor,
              .memory_bytes = properties.totalGlobalMem,
              .shared_bytes = properties.sharedMemPerBlockOptin},
        overlaps_(properties.major >= kOverlappingMajor) {}

  const CudaContext& context() const { return context_; }
  gpu::DeviceInfo info() const override { return info_; }
  tl::expected<std::optional<std::uint64_t>, gpu::DeviceError> free_bytes() override;
  tl::expected<gpu::Buffer, gpu::DeviceError> allocate(gpu::MemoryKind kind, std::size_t bytes,
                                                       const char* name) override;
  tl::expected<std::unique_ptr<gpu::Stream>, gpu::DeviceError> create_stream() override {
    return CudaStream::create(context_, library_, overlaps_);
  }
  tl::expected<std::unique_ptr<gpu::Event>, gpu::DeviceError> create_event() override {
    return CudaEvent::create(context_);
  }
  tl::expected<gpu::MatrixLibrary*, std::string> matrix_library() override {
    return library_.get();
  }
  void release(void* data, gpu::MemoryKind kind) override;

 private:
  gpu::Status poison(gpu::MemoryKind kind, void* data, std::size_t bytes, const char* name);

  CudaContext context_;
  LazyCublasLt library_{context_};
  gpu::DeviceInfo info_;
  bool overlaps_;
};

tl::expected<std::optional<std::uint64_t>, gpu::DeviceError> CudaDevice::free_bytes() {
  std::size_t free = 0;
  std::size_t total = 0;
  const auto status = context_.run(
      "cudaMemGetInfo", [&] { return cudaMemGetInfo(&free, &total); },
      [] { return std::string("free memory"); });
  if (!status) return tl::unexpected(status.error());
  return free;
}

tl::expected<gpu::Buffer, gpu::DeviceError> CudaDevice::allocate(gpu::MemoryKind kind,
                                                                 std::size_t bytes,
                                                                 const char* name) {
  FORGE_CHECK(bytes > 0, "allocation of no bytes for ", std::string_view(name));
  void* data = nullptr;
  const bool pinned = kind == gpu::MemoryKind::pinned;
  const auto status = context_.run(
      pinned ? "cudaHostAlloc" : "cudaMalloc",
      [&] {
        // With unified addressing, kernels use the host's address of pinned memory.
        return pinned ? cudaHostAlloc(&data, bytes, cudaHostAllocPortable | cudaHostAllocMapped)
                      : cudaMalloc(&data, bytes);
      },
      [&] { return std::string(name) + ", " + std::to_string(bytes) + " bytes"; });
  if (!status) return tl::unexpected(status.error());
  gpu::Buffer buffer(*this, kind, data, bytes);
  if constexpr (executor::kCheckedBuild) {
    const auto poisoned = poison(kind, data, bytes, name);
    if (!poisoned) return tl::unexpected(poisoned.error());
  }
  return buffer;
}

/// Fills fresh memory with NaN, so that a read of what was never written shows.
gpu::Status CudaDevice::poison(gpu::MemoryKind kind, void* data, std::size_t bytes,
                               const char* name) {
  if (kind == gpu::MemoryKind::pinned) {
    std::memset(data, 0xff, bytes);
    return {};
  }
  return context_.run(
      "cudaMemset",
      [&] {
        const cudaError_t code = cudaMemset(data, 0xff, bytes);
        return code == cudaSuccess ? cudaDeviceSynchronize() : code;
      },
      [&] { return std::string(name) + ", " + std::to_string(bytes) + " bytes of NaN"; });
}

void CudaDevice::release(void* data, gpu::MemoryKind kind) {
  if (kind == gpu::MemoryKind::pinned) {
    context_.free("cudaFreeHost", [&] { return cudaFreeHost(data); });
  } else {
    context_.free("cudaFree", [&] { return cudaFree(data); });
  }
}

/// Brings every kernel to the device now: otherwise each would be loaded at its first launch, in
/// the middle of a step or of a capture. Errors: there is no code for this device.
gpu::Status load_kernels(const CudaContext& context) {
  for (std::size_t i = 0; i < gpu::kKernelNames.size(); ++i) {
    const auto kernel = static_cast<gpu::KernelId>(i);
    cudaFuncAttributes attributes;
    auto loaded = context.run(
        "cudaFuncGetAttributes",
        [&] { return cudaFuncGetAttributes(&attributes, kernel_entry(kernel)); },
        [&] { return "kernel " + std::string(gpu::name(kernel)); });
    if (!loaded) return loaded;
  }
  return {};
}

}  // namespace

bool built_with_cuda() { return true; }

int device_count() {
  int count = 0;
  if (cudaGetDeviceCount(&count) == cudaSuccess) return count;
  cudaGetLastError();
  return 0;
}

tl::expected<std::unique_ptr<gpu::Device>, gpu::DeviceError> open_device(int index) {
  const std::string device = std::to_string(index);
  int count = 0;
  if (const cudaError_t code = cudaGetDeviceCount(&count); code != cudaSuccess) {
    return tl::unexpected(error_of(code, "cudaGetDeviceCount", "looking for devices", device));
  }
  cudaDeviceProp properties;
  if (const cudaError_t code = cudaGetDeviceProperties(&properties, index); code != cudaSuccess) {
    const std::string purpose = "one of " + std::to_string(count) + " devices, numbered from 0";
    return tl::unexpected(error_of(code, "cudaGetDeviceProperties", purpose, device));
  }
  auto opened = std::make_unique<CudaDevice>(index, properties);
  if (properties.major < kOldestMajor) {
    return tl::unexpected(gpu::DeviceError{
        "cudaGetDeviceProperties",
        "compute capability " + std::to_string(properties.major) + "." +
            std::to_string(properties.minor) + " is older than the oldest supported, 8.0 (sm_80)",
        opened->context().device()});
  }
  const auto loaded = load_kernels(opened->context());
  if (!loaded) return tl::unexpected(loaded.error());
  return opened;
}

}  // namespace forge::cuda
