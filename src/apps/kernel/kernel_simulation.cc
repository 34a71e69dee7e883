#include "kernel_simulation.h"

#include <algorithm>

#include "forge/sim/sim_kernels.h"

namespace forge::apps {
namespace {

tl::expected<void, std::string> check_given(const KernelEntry& kernel,
                                            const std::vector<int KernelSizes::*>& given) {
  for (const auto size : given) {
    if (std::find(kernel.sizes.begin(), kernel.sizes.end(), size) != kernel.sizes.end()) continue;
    std::string known;
    for (const auto member : kernel.sizes) {
      known += (known.empty() ? "" : " ") + std::string(flag_of(member).name);
    }
    return tl::unexpected(std::string(flag_of(size).name) + ": " + std::string(kernel.name()) +
                          " has no use for it, but for " + known);
  }
  return {};
}

}  // namespace

KernelSimulation::KernelSimulation(const KernelEntry& kernel, const sim::DeviceDescription& device)
    : kernel_(kernel), device_({.device = device}) {}

tl::expected<std::unique_ptr<KernelSimulation>, std::string> KernelSimulation::create(
    const KernelOptions& options) {
  const auto kernel = find_kernel(options.kernel);
  if (!kernel) return tl::unexpected(kernel.error());
  if (auto checked = check_given(**kernel, options.given); !checked) {
    return tl::unexpected(checked.error());
  }
  if (auto valid = validate(**kernel, options.sizes); !valid) {
    return tl::unexpected(valid.error());
  }
  const auto device = sim::find_device(options.device);
  if (!device) return tl::unexpected(device.error());
  std::unique_ptr<KernelSimulation> simulation(new KernelSimulation(**kernel, *device));
  auto inputs = KernelCase::create(simulation->device_, **kernel, options.sizes, options.seed);
  if (!inputs) return tl::unexpected(to_string(inputs.error()));
  simulation->case_ = *std::move(inputs);
  return simulation;
}

sim::Occupancy KernelSimulation::occupancy() const {
  return sim::occupancy(device(), launch().shape.threads, gpu::resources_of(launch()));
}

simt::CacheSizes KernelSimulation::caches() const {
  const auto multiprocessors = static_cast<long long>(device().multiprocessors);
  const long long each = (launch().shape.blocks() + multiprocessors - 1) / multiprocessors;
  const auto resident = static_cast<std::uint64_t>(
      std::max<long long>(1, std::min<long long>(each, occupancy().blocks)));
  const auto shared = static_cast<std::uint64_t>(gpu::resources_of(launch()).shared_bytes);
  return {.l1_bytes = device().l1_bytes / resident - shared, .l2_bytes = device().l2_bytes};
}

tl::expected<void, simt::KernelFault> KernelSimulation::run(
    simt::Observer& observer, std::optional<simt::Site> broken_barrier) {
  simt::Machine machine;
  return machine.run(sim::kernel_code(kernel_.id), launch().shape, launch().args.data(),
                     {.observer = &observer, .left_out = broken_barrier});
}

}  // namespace forge::apps
