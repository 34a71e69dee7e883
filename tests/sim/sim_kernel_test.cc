// SimDevice runs kernels: in streams and graphs, plain and checked, and counts their time.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "forge/sim/kernel_time.h"
#include "forge/sim/sim_device.h"

namespace forge::sim {
namespace {

using gpu::KernelId;
using gpu::MemoryKind;
using gpu::TableWrite;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

/// Block tables on a device, of two sequences with three blocks, and a kernel that writes to them.
class Tables {
 public:
  explicit Tables(const SimOptions& options) : device_(options) {
    writes_.as<TableWrite>()[0] = {.table = 1, .index = 0, .block = 40};
    writes_.as<TableWrite>()[1] = {.table = 0, .index = 2, .block = 41};
    *count_.as<std::uint32_t>() = 2;
    for (std::uint32_t i = 0; i < 6; ++i) tables_.as<std::uint32_t>()[i] = i;
  }

  gpu::KernelLaunch update() const {
    const gpu::UpdateTablesArgs args{.writes = writes_.as<TableWrite>(),
                                     .count = count_.as<std::uint32_t>(),
                                     .tables = tables_.as<std::uint32_t>(),
                                     .table_stride = 3};
    return gpu::launch_of(args, args.shape(2));
  }
  /// The kernel writes one table too far.
  void plant_bug() { writes_.as<TableWrite>()[0].table = 2; }

  std::vector<std::uint32_t> tables() const {
    return {tables_.as<std::uint32_t>(), tables_.as<std::uint32_t>() + 6};
  }
  SimDevice& device() { return device_; }
  gpu::Stream& stream() { return *stream_; }
  TableWrite& write(int i) { return writes_.as<TableWrite>()[i]; }

 private:
  gpu::Buffer allocate(std::size_t bytes, const char* name) {
    return device_.allocate(MemoryKind::device, bytes, name).value();
  }

  SimDevice device_;
  gpu::Buffer writes_ = allocate(2 * sizeof(TableWrite), "table_writes");
  gpu::Buffer count_ = allocate(sizeof(std::uint32_t), "write_count");
  gpu::Buffer tables_ = allocate(6 * sizeof(std::uint32_t), "block_tables");
  std::unique_ptr<gpu::Stream> stream_ = device_.create_stream().value();
};

SimOptions options_of(SimMode mode, std::optional<std::uint64_t> seed = std::nullopt) {
  return {.device = find_device("h200").value(), .mode = mode, .schedule_seed = seed};
}

class SimKernelTest : public ::testing::TestWithParam<SimMode> {};

TEST_P(SimKernelTest, a_kernel_runs_when_somebody_waits) {
  Tables t(options_of(GetParam()));
  ASSERT_TRUE(t.stream().launch(t.update()));
  EXPECT_THAT(t.tables(), ElementsAre(0, 1, 2, 3, 4, 5));
  ASSERT_TRUE(t.stream().synchronize());
  EXPECT_THAT(t.tables(), ElementsAre(0, 1, 41, 40, 4, 5));
}

TEST_P(SimKernelTest, a_graph_keeps_the_arguments_and_reads_the_memory_anew) {
  Tables t(options_of(GetParam()));
  ASSERT_TRUE(t.stream().begin_capture());
  {
    gpu::KernelLaunch launch = t.update();
    ASSERT_TRUE(t.stream().launch(launch));
    launch.args = {};
  }
  const auto graph = t.stream().end_capture().value();
  for (const std::uint32_t block : {7u, 8u}) {
    t.write(1).block = block;
    ASSERT_TRUE(t.stream().launch(*graph));
    ASSERT_TRUE(t.stream().synchronize());
    EXPECT_THAT(t.tables(), ElementsAre(0, 1, block, 40, 4, 5));
  }
}

INSTANTIATE_TEST_SUITE_P(Modes, SimKernelTest, ::testing::Values(SimMode::plain, SimMode::checked),
                         [](const auto& mode) {
                           return mode.param == SimMode::plain ? "plain" : "checked";
                         });

TEST(SimKernels, each_costs_what_is_estimated_and_less_in_a_graph) {
  Tables t(options_of(SimMode::plain));
  const DeviceDescription& h200 = t.device().description();
  const std::uint64_t allocated = t.device().statistics().bytes_allocated;
  const gpu::KernelLaunch update = t.update();
  const double alone = estimate(h200, update, {.working_set_bytes = allocated}).total_us;
  const double in_graph =
      estimate(h200, update, {.in_graph = true, .working_set_bytes = allocated}).total_us;
  EXPECT_LT(in_graph, alone);

  ASSERT_TRUE(t.stream().launch(update));
  ASSERT_TRUE(t.stream().begin_capture());
  ASSERT_TRUE(t.stream().launch(update));
  const auto graph = t.stream().end_capture().value();
  ASSERT_TRUE(t.stream().launch(*graph));
  ASSERT_TRUE(t.stream().launch(*graph));
  EXPECT_EQ(t.device().statistics().launches, 0u) << "nothing has run";
  ASSERT_TRUE(t.stream().synchronize());
  const SimStatistics& s = t.device().statistics();
  EXPECT_EQ(s.launches, 3u);
  EXPECT_DOUBLE_EQ(s.device_us, alone + 2 * in_graph);
  const auto& total = s.kernels[static_cast<std::size_t>(KernelId::update_tables)];
  EXPECT_EQ(total.launches, 3u);
  EXPECT_EQ(total.us, s.device_us);
}

/// The kernel does not wait for the launch before, so it must not overlap with one like it.
TEST(SimKernels, launches_that_overlap_and_touch_the_same_are_reported_in_streams_and_in_graphs) {
  for (const bool in_graph : {false, true}) {
    Tables t(options_of(SimMode::checked));
    gpu::KernelLaunch update = t.update();
    if (in_graph) {
      ASSERT_TRUE(t.stream().begin_capture());
    }
    ASSERT_TRUE(t.stream().launch(update));
    update.overlaps = true;
    ASSERT_TRUE(t.stream().launch(update));
    if (in_graph) {
      const auto graph = t.stream().end_capture().value();
      ASSERT_TRUE(t.stream().launch(*graph));
      ASSERT_FALSE(t.stream().synchronize());
    } else {
      ASSERT_FALSE(t.stream().synchronize());
    }
    ASSERT_TRUE(t.device().kernel_fault());
    EXPECT_EQ(t.device().kernel_fault()->kind, simt::FaultKind::race);
    EXPECT_THAT(t.device().kernel_fault()->detail, HasSubstr("write by 'update_tables', launched"));
  }
}

TEST(SimKernels, a_copy_waits_for_the_launches_before) {
  Tables t(options_of(SimMode::checked));
  gpu::KernelLaunch update = t.update();
  ASSERT_TRUE(t.stream().launch(update));
  const gpu::Buffer pinned = t.device().allocate(MemoryKind::pinned, 24, "pinned").value();
  const gpu::Buffer there = t.device().allocate(MemoryKind::device, 24, "there").value();
  ASSERT_TRUE(
      t.stream().copy(there.as<void>(), pinned.as<void>(), 24, gpu::CopyDirection::to_device));
  update.overlaps = true;
  ASSERT_TRUE(t.stream().launch(update));
  EXPECT_TRUE(t.stream().synchronize());
}

TEST(SimKernels, and_so_does_the_host) {
  Tables t(options_of(SimMode::checked));
  gpu::KernelLaunch update = t.update();
  ASSERT_TRUE(t.stream().launch(update));
  ASSERT_TRUE(t.stream().synchronize());
  update.overlaps = true;
  ASSERT_TRUE(t.stream().launch(update));
  EXPECT_TRUE(t.stream().synchronize());
}

/// 228 KB of a multiprocessor, less one of the hardware's own.
TEST(SimKernels, a_block_has_as_much_shared_memory_as_the_device_gives) {
  Tables t(options_of(SimMode::plain));
  gpu::KernelLaunch update = t.update();
  update.shape.shared_bytes = 227 * 1024;
  EXPECT_TRUE(t.stream().launch(update));
  ++update.shape.shared_bytes;
  const auto refused = t.stream().launch(update);
  ASSERT_FALSE(refused);
  EXPECT_THAT(
      refused.error().message,
      HasSubstr("update_tables: a block has at most 232448 bytes of shared memory here, not "
                "232449"));
}

TEST(SimKernels, an_access_out_of_bounds_is_reported_in_full_and_loses_the_device) {
  Tables t(options_of(SimMode::checked));
  t.plant_bug();
  ASSERT_TRUE(t.stream().launch(t.update()));
  const auto done = t.stream().synchronize();
  ASSERT_FALSE(done);
  EXPECT_TRUE(done.error().lost);
  for (const char* part : {"update_tables", "block_tables", "out of bounds"}) {
    EXPECT_THAT(to_string(done.error()), HasSubstr(part));
  }
  ASSERT_TRUE(t.device().kernel_fault());
  EXPECT_EQ(t.device().kernel_fault()->kind, simt::FaultKind::out_of_bounds);
  EXPECT_THAT(t.tables(), ElementsAre(0, 1, 2, 3, 4, 5)) << "stopped before the access";
  const auto later = t.stream().launch(t.update());
  ASSERT_FALSE(later);
  EXPECT_TRUE(later.error().lost);
}

TEST(SimKernelsDeathTest, an_access_out_of_bounds_is_found_in_plain_mode_when_memory_is_freed) {
  const auto overrun = [] {
    Tables t(options_of(SimMode::plain));
    t.plant_bug();
    ASSERT_TRUE(t.stream().launch(t.update()));
    ASSERT_TRUE(t.stream().synchronize());
  };
  EXPECT_DEATH(overrun(), "block_tables .24 bytes.: byte 24 was overwritten|use-after-poison");
}

TEST(SimKernels, each_launch_has_a_schedule_of_its_own) {
  const auto seed_of_launch = [](int launches_before) {
    Tables t(options_of(SimMode::checked, 5));
    for (int i = 0; i < launches_before; ++i) {
      EXPECT_TRUE(t.stream().launch(t.update()));
    }
    EXPECT_TRUE(t.stream().synchronize());
    t.plant_bug();
    EXPECT_TRUE(t.stream().launch(t.update()));
    EXPECT_FALSE(t.stream().synchronize());
    return t.device().kernel_fault()->seed.value();
  };
  EXPECT_EQ(seed_of_launch(0), seed_of_launch(0));
  EXPECT_NE(seed_of_launch(0), seed_of_launch(1));
}

}  // namespace
}  // namespace forge::sim
