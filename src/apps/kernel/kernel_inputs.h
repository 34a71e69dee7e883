// KernelCase: one launch of one kernel, with inputs made up from a seed, on any device.
//
// forge-kernel runs it on the simulated machine and compares the result with the CPU's; a
// benchmark launches it on a GPU. All buffers are device memory that the case owns.
//
//   positions of a sequence lie in blocks of KV that are scattered over the pool, in no order;
//   slots that no position has hold NaN, and so does memory that the kernel is to write
//
// Thread contract: as the device.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <tl/expected.hpp>
#include <vector>

#include "forge/gpu/device.h"
#include "kernel_sizes.h"

namespace forge::apps {

/// What the values of a buffer are.
enum class ElementKind : std::uint8_t { f32, words };

/// A buffer after the launch, against what the CPU says it must be.
struct KernelComparison {
  std::string buffer;
  std::uint64_t values = 0;           ///< numbers of 4 bytes that were compared
  std::uint64_t different = 0;        ///< those that differ in any bit
  std::uint64_t first_different = 0;  ///< index, if there is one
};

class KernelCase {
 public:
  /// Requires: valid sizes (kernel_sizes.h); `device` outlives the case.
  static tl::expected<std::unique_ptr<KernelCase>, gpu::DeviceError> create(
      gpu::Device& device, const KernelEntry& kernel, const KernelSizes& sizes, std::uint64_t seed);

  const gpu::KernelLaunch& launch() const { return launch_; }

  /// After one launch, compares every buffer that the kernel writes, whole.
  tl::expected<std::vector<KernelComparison>, gpu::DeviceError> compare();

  /// Kind of the buffer that was allocated under this name. Requires: there is one.
  ElementKind kind_of(const std::string& buffer) const;

 private:
  friend class KernelCaseBuilder;

  struct Memory {
    std::string name;
    ElementKind kind;
    gpu::Buffer buffer;
  };
  struct Output {
    std::size_t memory;  ///< index
    std::function<std::vector<std::uint32_t>()> expected;
  };

  gpu::KernelLaunch launch_;
  std::unique_ptr<gpu::Stream> stream_;
  std::vector<Memory> memory_;
  std::vector<Output> outputs_;
};

}  // namespace forge::apps
