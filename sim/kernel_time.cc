#include "forge/sim/kernel_time.h"

#include <algorithm>
#include <array>

#include "forge/core/check.h"

namespace forge::sim {
namespace {

/// The hardware's own part of shared memory, per block, since compute capability 8.0 (CUDA C++
/// Programming Guide).
constexpr std::uint64_t kSharedReserve = 1024;
/// A warp gets registers in units of 256, from one of four register files (the same).
constexpr int kRegisterUnit = 256;
constexpr int kRegisterFiles = 4;
/// Between L2 and one multiprocessor, a clock: Jia et al., arXiv:1804.06826.
constexpr double kL2BytesPerClock = 64;

std::int64_t blocks_by_registers(const DeviceDescription& device, int warps, int registers) {
  const int per_warp = (registers * simt::kWarpSize + kRegisterUnit - 1) / kRegisterUnit;
  const int resident = device.registers / kRegisterFiles / (per_warp * kRegisterUnit);
  return resident * kRegisterFiles / warps;
}

double ceil_divide(double a, double b) {
  return static_cast<double>(static_cast<long long>((a + b - 1) / b));
}

}  // namespace

std::uint64_t shared_bytes_of_block(const DeviceDescription& device) {
  return device.shared_bytes - kSharedReserve;
}

Occupancy occupancy(const DeviceDescription& device, int threads,
                    const gpu::BlockResources& block) {
  FORGE_CHECK(threads >= 1, "threads=", threads);
  const int warps = (threads + simt::kWarpSize - 1) / simt::kWarpSize;
  struct Limit {
    std::int64_t blocks;
    const char* name;
  };
  const std::array<Limit, 4> limits{{
      {device.max_threads / (warps * simt::kWarpSize), "threads"},
      {device.max_blocks, "blocks"},
      {static_cast<std::int64_t>(device.shared_bytes /
                                 (static_cast<std::uint64_t>(block.shared_bytes) + kSharedReserve)),
       "shared memory"},
      {block.registers == 0 ? INT32_MAX : blocks_by_registers(device, warps, block.registers),
       "registers"},
  }};
  const auto least =
      std::min_element(limits.begin(), limits.end(),
                       [](const Limit& a, const Limit& b) { return a.blocks < b.blocks; });
  const auto blocks = static_cast<int>(least->blocks);
  return {blocks, static_cast<double>(blocks) * threads / device.max_threads, least->name};
}

bool is_calibrated(const DeviceDescription& device, gpu::KernelId kernel) {
  return device.calibration &&
         device.calibration->kernel_factors.contains(std::string(name(kernel)));
}

KernelTime estimate(const DeviceDescription& device, const gpu::KernelLaunch& launch,
                    const LaunchContext& context) {
  return estimate(device, launch, work_of(launch), context);
}

KernelTime estimate(const DeviceDescription& device, const gpu::KernelLaunch& launch,
                    const KernelWork& work, const LaunchContext& context) {
  const Occupancy fit = occupancy(device, launch.shape.threads, gpu::resources_of(launch));
  FORGE_CHECK(fit.blocks >= 1, "a block of ", name(launch.kernel), " does not fit on ", device.name,
              ": ", fit.limited_by);
  const auto blocks = static_cast<double>(launch.shape.blocks());
  const double busiest = ceil_divide(blocks, device.multiprocessors);
  const double ns_per_cycle = 1 / device.clock_ghz;
  const bool in_l2 = context.working_set_bytes <= device.l2_bytes;

  KernelTime time;
  const auto bytes = static_cast<double>(work.bytes_read + work.bytes_written);
  const auto block_bytes = static_cast<double>(work.block_bytes);
  const double memory_ns =
      std::max({in_l2 ? 0.0 : bytes / device.memory_gb_per_s, block_bytes / device.l2_gb_per_s,
                busiest * block_bytes / blocks / kL2BytesPerClock * ns_per_cycle});
  time.memory_us = memory_ns / 1e3;

  const double resident_threads = std::min<double>(busiest, fit.blocks) * launch.shape.threads;
  const double lanes = std::min<double>(device.fp32_lanes, resident_threads);
  const double lane_cycles = static_cast<double>(work.flops) / (2 * lanes);
  const double matrix_cycles = static_cast<double>(work.matrix_flops) / device.matrix_flops;
  time.compute_us = busiest * std::max(lane_cycles, matrix_cycles) / blocks * ns_per_cycle / 1e3;

  const double waves =
      ceil_divide(blocks, static_cast<double>(device.multiprocessors) * fit.blocks);
  const double load_ns = in_l2 ? device.l2_latency_ns : device.memory_latency_ns;
  const double operation_ns = device.operation_latency_cycles * ns_per_cycle;
  time.latency_us = waves *
                    (static_cast<double>(work.chain_loads) * load_ns +
                     static_cast<double>(work.chain_operations) * operation_ns) /
                    1e3;

  time.launch_us = context.in_graph ? device.graph_launch_us : device.launch_us;
  if (device.calibration) {
    const Calibration& measured = *device.calibration;
    time.launch_us = context.in_graph ? measured.graph_launch_us : measured.launch_us;
    time.calibrated = is_calibrated(device, launch.kernel);
    if (time.calibrated) {
      time.factor = measured.kernel_factors.at(std::string(name(launch.kernel)));
    }
  }
  const double running = std::max({time.memory_us, time.compute_us, time.latency_us});
  time.total_us = time.launch_us + time.factor * running;
  time.bound_by = time.launch_us >= time.factor * running ? "launch"
                  : running == time.memory_us             ? "memory"
                  : running == time.compute_us            ? "compute"
                                                          : "latency";
  return time;
}

double product_us(const DeviceDescription& device, const gpu::LibraryShape& shape, bool in_graph) {
  const double rows = shape.rows;
  const double outputs = shape.outputs;
  const double inputs = shape.inputs;
  const double bytes = 2 * inputs * (rows + outputs) + 4 * rows * outputs;
  const double flops = 2 * rows * outputs * inputs;
  const double flops_per_us =
      device.multiprocessors * device.clock_ghz * static_cast<double>(device.matrix_flops) * 1e3;
  const double memory_us = bytes / device.memory_gb_per_s / 1e3;
  return (in_graph ? device.graph_launch_us : device.launch_us) +
         std::max(memory_us, flops / flops_per_us);
}

double copy_us(const DeviceDescription& device, std::uint64_t bytes) {
  return device.host_link_latency_us + static_cast<double>(bytes) / device.host_link_gb_per_s / 1e3;
}

}  // namespace forge::sim
