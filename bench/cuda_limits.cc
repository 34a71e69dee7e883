#include "cuda_limits.h"

#include "cuda_clock.h"

namespace forge {
namespace {

constexpr std::size_t kBytes = std::size_t{1} << 29;  // many times the caches
constexpr int kRounds = 11;

double gb_per_s(std::size_t bytes, double us) { return static_cast<double>(bytes) / us / 1e3; }

double copy_gb_per_s(DeviceClock& clock, const gpu::Buffer& to, const gpu::Buffer& from,
                     gpu::CopyDirection direction) {
  return gb_per_s(kBytes, clock.median_us(kRounds, [&](gpu::Stream& stream) {
    must(stream.copy(to.as<void>(), from.as<void>(), kBytes, direction));
  }));
}

}  // namespace

nlohmann::ordered_json to_json(const DeviceLimits& limits) {
  return {{"copy_within_gb_per_s", limits.copy_within_gb_per_s},
          {"copy_to_device_gb_per_s", limits.copy_to_device_gb_per_s},
          {"copy_to_host_gb_per_s", limits.copy_to_host_gb_per_s},
          {"launch_us", limits.launch_us},
          {"graph_launch_us", limits.graph_launch_us}};
}

DeviceLimits measure_limits(gpu::Device& device) {
  DeviceClock clock(device);
  const gpu::Buffer first = must(device.allocate(gpu::MemoryKind::device, kBytes, "first"));
  const gpu::Buffer second = must(device.allocate(gpu::MemoryKind::device, kBytes, "second"));
  const gpu::Buffer host = must(device.allocate(gpu::MemoryKind::pinned, kBytes, "host"));
  // No zeros: what all is alike may be moved faster.
  for (std::size_t i = 0; i < kBytes / sizeof(std::uint32_t); ++i) {
    host.as<std::uint32_t>()[i] = static_cast<std::uint32_t>(i) * 2654435761u;
  }

  DeviceLimits limits;
  using gpu::CopyDirection;
  limits.copy_to_device_gb_per_s = copy_gb_per_s(clock, first, host, CopyDirection::to_device);
  limits.copy_within_gb_per_s = 2 * copy_gb_per_s(clock, second, first, CopyDirection::within);
  limits.copy_to_host_gb_per_s = copy_gb_per_s(clock, host, second, CopyDirection::to_host);

  // A kernel that finds in device memory, as all do, that it has nothing to do.
  *host.as<std::uint32_t>() = 0;
  must(clock.stream().copy(first.as<void>(), host.as<void>(), sizeof(std::uint32_t),
                           CopyDirection::to_device));
  const gpu::UpdateTablesArgs nothing{.writes = second.as<gpu::TableWrite>(),
                                      .count = first.as<std::uint32_t>(),
                                      .tables = second.as<std::uint32_t>(),
                                      .table_stride = 1};
  const gpu::KernelLaunch launch = gpu::launch_of(nothing, gpu::UpdateTablesArgs::shape(1));
  limits.launch_us = clock.launch_us(launch);
  limits.graph_launch_us = clock.launch_in_graph_us(launch);
  return limits;
}

}  // namespace forge
