// Occupancy and the estimate of time, on a device with round numbers.
#include <gtest/gtest.h>

#include "forge/sim/kernel_time.h"

namespace forge::sim {
namespace {

/// 10 multiprocessors of 100 lanes at 1 GHz: 2 TFLOP/s. A cycle is a nanosecond.
DeviceDescription round_device() {
  DeviceDescription d;
  d.name = "round";
  d.multiprocessors = 10;
  d.clock_ghz = 1;
  d.fp32_lanes = 128;
  d.matrix_flops = 1000;
  d.max_threads = 2048;
  d.max_blocks = 32;
  d.registers = 65536;
  d.l1_bytes = 256 << 10;
  d.shared_bytes = 228 << 10;
  d.l2_bytes = 1 << 20;
  d.memory_bytes = 1 << 30;
  d.memory_gb_per_s = 100;
  d.l2_gb_per_s = 500;
  d.memory_latency_ns = 400;
  d.l2_latency_ns = 200;
  d.operation_latency_cycles = 4;
  d.launch_us = 2;
  d.graph_launch_us = 1;
  d.host_link_gb_per_s = 50;
  d.host_link_latency_us = 3;
  return d;
}

gpu::KernelLaunch launch_of(int blocks, int threads) {
  gpu::KernelLaunch launch;
  launch.kernel = gpu::KernelId::embed;
  launch.shape = {{blocks, 1, 1}, threads};
  return launch;
}

KernelTime time_of(const KernelWork& work, int blocks, int threads,
                   const LaunchContext& context = {}) {
  return estimate(round_device(), launch_of(blocks, threads), work, context);
}

TEST(Occupancy, is_what_the_scarcest_resource_allows) {
  const DeviceDescription d = round_device();
  const auto expect = [&](int threads, gpu::BlockResources block, int blocks, const char* limit) {
    const Occupancy fit = occupancy(d, threads, block);
    EXPECT_EQ(fit.blocks, blocks) << limit;
    EXPECT_STREQ(fit.limited_by, limit);
    EXPECT_DOUBLE_EQ(fit.fraction, blocks * threads / 2048.0);
  };
  expect(256, {}, 8, "threads");
  expect(32, {}, 32, "blocks");
  expect(128, {.shared_bytes = 48 << 10}, 4, "shared memory");  // 228 / (48 + 1)
  expect(256, {.registers = 64}, 4, "registers");               // 64 * 256 of 65536
  expect(256, {.shared_bytes = 300 << 10}, 0, "shared memory");
}

TEST(Occupancy, registers_come_in_units_of_256_a_warp) {
  // 33 registers a thread are 1056 a warp, which takes 1280: 12 warps in each file of 16384.
  EXPECT_EQ(occupancy(round_device(), 32, {.registers = 33}).blocks, 32);  // of 48
  EXPECT_EQ(occupancy(round_device(), 256, {.registers = 33}).blocks, 6);
  EXPECT_EQ(occupancy(round_device(), 256, {.registers = 32}).blocks, 8);
}

TEST(Occupancy, of_the_published_devices_is_that_of_the_occupancy_calculator) {
  // 48 KB of shared memory a block of 256 threads, 64 registers a thread.
  const auto blocks = [](const char* device) {
    return occupancy(find_device(device).value(), 256, {.shared_bytes = 48 << 10, .registers = 64})
        .blocks;
  };
  EXPECT_EQ(blocks("h200"), 4);
  EXPECT_EQ(blocks("a100"), 3);
  EXPECT_EQ(blocks("rtx4090"), 2);
}

TEST(Estimate, of_a_launch_that_moves_much_is_its_bytes_over_the_bandwidth) {
  const KernelTime t =
      time_of({.bytes_read = 60'000'000, .bytes_written = 40'000'000, .block_bytes = 100'000'000},
              1000, 256);
  EXPECT_DOUBLE_EQ(t.memory_us, 1000);
  EXPECT_DOUBLE_EQ(t.total_us, 1002);
  EXPECT_STREQ(t.bound_by, "memory");
}

TEST(Estimate, reading_the_same_bytes_in_many_blocks_is_paid_in_l2) {
  const KernelTime t = time_of({.bytes_read = 1'000'000, .block_bytes = 1'000'000'000}, 1000, 256);
  EXPECT_DOUBLE_EQ(t.memory_us, 2000);
}

TEST(Estimate, a_working_set_that_l2_holds_needs_no_device_memory) {
  const KernelWork work{.bytes_read = 500'000, .block_bytes = 500'000, .chain_loads = 2};
  const KernelTime cold = time_of(work, 1000, 256);
  EXPECT_DOUBLE_EQ(cold.memory_us, 5);
  const KernelTime warm = time_of(work, 1000, 256, {.working_set_bytes = 1 << 20});
  EXPECT_DOUBLE_EQ(warm.memory_us, 1);
  EXPECT_DOUBLE_EQ(cold.latency_us, 2 * warm.latency_us);
}

TEST(Estimate, one_block_cannot_draw_more_than_its_multiprocessor) {
  // 64 bytes a clock at 1 GHz: 64 GB/s, below the 100 GB/s of memory.
  const KernelTime t = time_of({.bytes_read = 640'000, .block_bytes = 640'000}, 1, 256);
  EXPECT_DOUBLE_EQ(t.memory_us, 10);
}

TEST(Estimate, of_much_arithmetic_is_that_of_the_busiest_multiprocessor) {
  // 20 blocks on 10 multiprocessors: 2 each, at 256 operations a ns.
  EXPECT_DOUBLE_EQ(time_of({.flops = 25'600'000}, 20, 256).compute_us, 10);
  // An 11th block makes one of them work twice as long as with 10.
  EXPECT_DOUBLE_EQ(time_of({.flops = 10 * 256'000}, 10, 256).compute_us, 1);
  EXPECT_DOUBLE_EQ(time_of({.flops = 11 * 256'000}, 11, 256).compute_us, 2);
  // A single warp keeps a quarter of the lanes busy.
  EXPECT_DOUBLE_EQ(time_of({.flops = 256'000}, 1, 32).compute_us, 4);
  EXPECT_STREQ(time_of({.flops = 25'600'000}, 20, 256).bound_by, "compute");
}

TEST(Estimate, of_a_long_chain_is_its_latency_once_a_wave) {
  const KernelWork chain{.chain_loads = 10, .chain_operations = 1000};
  EXPECT_DOUBLE_EQ(time_of(chain, 80, 256).latency_us, 8);  // 10 * 400 ns + 1000 * 4 ns
  EXPECT_DOUBLE_EQ(time_of(chain, 81, 256).latency_us, 16) << "8 blocks fit on a multiprocessor";
  EXPECT_STREQ(time_of(chain, 80, 256).bound_by, "latency");
}

TEST(Estimate, of_an_empty_launch_is_the_launch) {
  const KernelTime t = time_of({}, 1, 32);
  EXPECT_DOUBLE_EQ(t.total_us, 2);
  EXPECT_STREQ(t.bound_by, "launch");
  EXPECT_DOUBLE_EQ(time_of({}, 1, 32, {.in_graph = true}).total_us, 1);
  EXPECT_FALSE(t.calibrated);
}

TEST(Estimate, is_scaled_by_what_was_measured_of_the_kernel) {
  DeviceDescription device = round_device();
  device.calibration = Calibration{.launch_us = 3, .kernel_factors = {{"embed", 2.0}}};
  const KernelWork work{.bytes_read = 1'000'000, .block_bytes = 1'000'000};
  const KernelTime t = estimate(device, launch_of(100, 256), work, {});
  EXPECT_TRUE(t.calibrated);
  EXPECT_DOUBLE_EQ(t.total_us, 3 + 2 * 10);
  gpu::KernelLaunch other = launch_of(100, 256);
  other.kernel = gpu::KernelId::sample;
  EXPECT_DOUBLE_EQ(estimate(device, other, work, {}).total_us, 3 + 10);
}

TEST(Estimate, of_a_copy_is_latency_and_bytes) {
  EXPECT_DOUBLE_EQ(copy_us(round_device(), 0), 3);
  EXPECT_DOUBLE_EQ(copy_us(round_device(), 50'000'000), 1003);
}

}  // namespace
}  // namespace forge::sim
