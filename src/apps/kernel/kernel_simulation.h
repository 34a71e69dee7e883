// One launch of one kernel on the simulated machine, as the commands of forge-kernel need it.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <tl/expected.hpp>
#include <vector>

#include "forge/sim/kernel_time.h"
#include "forge/sim/sim_device.h"
#include "forge/simt/machine.h"
#include "forge/simt/traffic.h"
#include "kernel_inputs.h"

namespace forge::apps {

/// Exit status of all commands.
inline constexpr int kKernelRight = 0;     ///< or: done
inline constexpr int kKernelWrong = 1;     ///< a fault, or bits that differ from the CPU's
inline constexpr int kKernelUnusable = 2;  ///< what was asked for

/// What the command line asks for.
struct KernelOptions {
  std::string kernel;
  std::vector<int KernelSizes::*> given;  ///< sizes that it sets
  KernelSizes sizes;
  std::uint64_t seed = 1;
  std::string device = "h200";
};

class KernelSimulation {
 public:
  /// Errors: an unknown kernel or device, a size that the kernel has no use for or that cannot be.
  static tl::expected<std::unique_ptr<KernelSimulation>, std::string> create(
      const KernelOptions& options);

  const KernelEntry& kernel() const { return kernel_; }
  const sim::DeviceDescription& device() const { return device_.description(); }
  const gpu::KernelLaunch& launch() const { return case_->launch(); }
  const simt::MemoryMap& memory() const { return device_.memory(); }
  KernelCase& inputs() { return *case_; }

  sim::Occupancy occupancy() const;
  /// What a block has of L1 while its multiprocessor is as full as this launch makes it.
  simt::CacheSizes caches() const;

  /// Runs the launch under an observer, without one barrier if asked to.
  tl::expected<void, simt::KernelFault> run(simt::Observer& observer,
                                            std::optional<simt::Site> broken_barrier = {});

 private:
  KernelSimulation(const KernelEntry& kernel, const sim::DeviceDescription& device);

  const KernelEntry& kernel_;
  sim::SimDevice device_;
  std::unique_ptr<KernelCase> case_;
};

}  // namespace forge::apps
