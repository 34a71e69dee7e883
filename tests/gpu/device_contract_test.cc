// What forge/gpu/device.h promises, of every device.
#include <gmock/gmock.h>

#include <algorithm>
#include <numeric>
#include <vector>

#include "gpu/test_devices.h"

/// Under AddressSanitizer, too, memory that there is not is null, and not the end.
extern "C" const char* __asan_default_options() { return "allocator_may_return_null=1"; }

namespace forge::gpu {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

using Numbers = std::vector<std::uint32_t>;

/// A device with a stream.
class DeviceContract : public testing::DeviceTest {
 protected:
  static constexpr std::size_t kCount = 4;
  static constexpr std::size_t kBytes = kCount * sizeof(std::uint32_t);

  void SetUp() override {
    DeviceTest::SetUp();
    if (!IsSkipped() && !HasFatalFailure()) stream_ = device().create_stream().value();
  }
  void TearDown() override { stream_.reset(); }

  Stream& stream() { return *stream_; }

  Buffer on_device(const char* name = "numbers") {
    return device().allocate(MemoryKind::device, kBytes, name).value();
  }
  /// Host memory that holds first, first + 1, ...
  Buffer pinned(std::uint32_t first = 0) {
    Buffer buffer = device().allocate(MemoryKind::pinned, kBytes, "pinned").value();
    set(buffer, first);
    return buffer;
  }
  static void set(const Buffer& buffer, std::uint32_t first) {
    std::iota(buffer.as<std::uint32_t>(), buffer.as<std::uint32_t>() + kCount, first);
  }

  static Status upload(Stream& stream, const Buffer& to, const Buffer& from) {
    return stream.copy(to.as<void>(), from.as<void>(), kBytes, CopyDirection::to_device);
  }
  static Status download(Stream& stream, const Buffer& to, const Buffer& from) {
    return stream.copy(to.as<void>(), from.as<void>(), kBytes, CopyDirection::to_host);
  }
  static Numbers numbers(const Buffer& host) {
    return {host.as<std::uint32_t>(), host.as<std::uint32_t>() + kCount};
  }
  /// What lies on the device.
  Numbers fetched(const Buffer& there) {
    const Buffer host = pinned();
    EXPECT_TRUE(download(stream(), host, there));
    EXPECT_TRUE(stream().synchronize());
    return numbers(host);
  }

  /// Copies the first block of `from` over that of `to` by a kernel. Borrows `pair`.
  KernelLaunch copy_by_kernel(const Buffer& to, const Buffer& from, const Buffer& pair) {
    *pair.as<BlockPair>() = {.from = 0, .to = 0};
    const CopyBlocksArgs args{.pairs = pair.as<BlockPair>(),
                              .source = from.as<float>(),
                              .target = to.as<float>(),
                              .block_bytes = kCount * sizeof(float)};
    return launch_of(args, args.shape(1));
  }

 private:
  std::unique_ptr<Stream> stream_;
};
FORGE_FOR_EACH_DEVICE(DeviceContract);

// ---- Memory ---------------------------------------------------------------------

TEST_P(DeviceContract, the_device_says_what_it_is) {
  const DeviceInfo info = device().info();
  EXPECT_FALSE(info.name.empty());
  EXPECT_GT(info.multiprocessors, 0);
  EXPECT_GT(info.memory_bytes, std::size_t{1} << 30);
}

TEST_P(DeviceContract, memory_of_both_kinds_is_aligned_whatever_its_size) {
  std::vector<Buffer> buffers;
  for (const std::size_t bytes : {1, 4, 100, 257, 70001}) {
    for (const MemoryKind kind : {MemoryKind::device, MemoryKind::pinned}) {
      buffers.push_back(device().allocate(kind, bytes, "odd").value());
      EXPECT_EQ(buffers.back().bytes(), bytes);
      EXPECT_EQ(reinterpret_cast<std::uintptr_t>(buffers.back().as<void>()) % 256, 0u);
    }
  }
}

TEST_P(DeviceContract, more_memory_than_there_is_is_an_error_that_names_the_buffer) {
  const std::size_t bytes = std::size_t{1} << 50;
  const auto denied = device().allocate(MemoryKind::device, bytes, "kv_pool");
  ASSERT_FALSE(denied);
  EXPECT_FALSE(denied.error().call.empty());
  EXPECT_THAT(denied.error().message, HasSubstr("kv_pool"));
  EXPECT_THAT(denied.error().message, HasSubstr(std::to_string(bytes)));
  EXPECT_THAT(denied.error().device, HasSubstr(device().info().name));
  EXPECT_FALSE(denied.error().lost);

  const Buffer from = pinned(3);
  const Buffer there = on_device();
  ASSERT_TRUE(upload(stream(), there, from)) << "the device goes on";
  EXPECT_THAT(fetched(there), ElementsAre(3, 4, 5, 6));
}

// ---- Streams --------------------------------------------------------------------

TEST_P(DeviceContract, operations_of_a_stream_run_in_order) {
  const Buffer from = pinned(7);
  const Buffer first = on_device();
  const Buffer second = on_device();
  ASSERT_TRUE(upload(stream(), first, from));
  ASSERT_TRUE(stream().copy(second.as<void>(), first.as<void>(), kBytes, CopyDirection::within));
  const Buffer pair = pinned();
  const Buffer third = on_device();
  ASSERT_TRUE(stream().launch(copy_by_kernel(third, second, pair)));
  EXPECT_THAT(fetched(third), ElementsAre(7, 8, 9, 10));
}

TEST_P(DeviceContract, a_kernel_reads_and_writes_pinned_memory) {
  const Buffer from = pinned(20);
  const Buffer to = pinned(0);
  const Buffer pair = pinned();
  ASSERT_TRUE(stream().launch(copy_by_kernel(to, from, pair)));
  ASSERT_TRUE(stream().synchronize());
  EXPECT_THAT(numbers(to), ElementsAre(20, 21, 22, 23));
}

TEST_P(DeviceContract, the_arguments_of_a_kernel_are_copied_at_its_launch) {
  const Buffer from = pinned(1);
  const Buffer other = pinned(50);
  const Buffer to = pinned(0);
  const Buffer pair = pinned();
  KernelLaunch launch = copy_by_kernel(to, from, pair);
  ASSERT_TRUE(stream().launch(launch));
  launch = copy_by_kernel(to, other, pair);
  ASSERT_TRUE(stream().synchronize());
  EXPECT_THAT(numbers(to), ElementsAre(1, 2, 3, 4));
}

TEST_P(DeviceContract, an_event_waits_for_what_was_before_it_and_measures_time) {
  const Buffer from = pinned(1);
  const Buffer there = on_device();
  const Buffer back = pinned(0);
  const auto begin = device().create_event().value();
  const auto end = device().create_event().value();
  ASSERT_TRUE(stream().record(*begin));
  ASSERT_TRUE(upload(stream(), there, from));
  ASSERT_TRUE(download(stream(), back, there));
  ASSERT_TRUE(stream().record(*end));
  ASSERT_TRUE(end->synchronize());
  EXPECT_THAT(numbers(back), ElementsAre(1, 2, 3, 4));

  const auto us = end->microseconds_since(*begin);
  ASSERT_TRUE(us);
  EXPECT_GE(*us, 0.0);
  EXPECT_LT(*us, 1e7);
}

TEST_P(DeviceContract, an_event_is_recorded_again_and_again) {
  const Buffer there = on_device();
  const Buffer back = pinned(0);
  const auto event = device().create_event().value();
  for (std::uint32_t round = 0; round < 3; ++round) {
    const Buffer from = pinned(100 * round);
    ASSERT_TRUE(upload(stream(), there, from));
    ASSERT_TRUE(download(stream(), back, there));
    ASSERT_TRUE(stream().record(*event));
    ASSERT_TRUE(event->synchronize());
    EXPECT_EQ(numbers(back)[0], 100 * round);
  }
}

TEST_P(DeviceContract, a_stream_waits_for_an_event_of_another) {
  const auto second = device().create_stream().value();
  const auto uploaded = device().create_event().value();
  const Buffer from = pinned(40);
  const Buffer there = on_device();
  const Buffer back = pinned(0);
  ASSERT_TRUE(upload(stream(), there, from));
  ASSERT_TRUE(stream().record(*uploaded));
  ASSERT_TRUE(second->wait(*uploaded));
  ASSERT_TRUE(download(*second, back, there));
  ASSERT_TRUE(second->synchronize());
  EXPECT_THAT(numbers(back), ElementsAre(40, 41, 42, 43));
}

TEST_P(DeviceContract, a_launch_that_no_device_can_do_is_an_error_that_names_the_kernel) {
  const Buffer from = pinned(1);
  const Buffer to = pinned(0);
  const Buffer pair = pinned();
  KernelLaunch launch = copy_by_kernel(to, from, pair);
  launch.shape.grid.z = 70000;
  const Status refused = stream().launch(launch);
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().message, HasSubstr("copy_blocks"));
  EXPECT_THAT(refused.error().message, HasSubstr("70000"));
  EXPECT_FALSE(refused.error().lost);

  launch.shape.grid.z = 1;
  launch.shape.shared_bytes = 300'000;
  const Status too_much = stream().launch(launch);
  ASSERT_FALSE(too_much);
  EXPECT_THAT(too_much.error().message, HasSubstr("copy_blocks"));
  EXPECT_THAT(too_much.error().message, HasSubstr("300000"));
  EXPECT_FALSE(too_much.error().lost);

  launch.shape.shared_bytes = 64 * 1024;  // more than without asking
  ASSERT_TRUE(stream().launch(launch)) << "the stream goes on";
  ASSERT_TRUE(stream().synchronize());
  EXPECT_THAT(numbers(to), ElementsAre(1, 2, 3, 4));
}

// ---- Graphs ---------------------------------------------------------------------

TEST_P(DeviceContract, a_graph_runs_at_each_launch_and_reads_its_copies_anew) {
  const Buffer from = pinned(1);
  const Buffer first = on_device();
  const Buffer second = on_device();
  const Buffer pair = pinned();
  const Buffer back = pinned(0);
  const KernelLaunch kernel = copy_by_kernel(second, first, pair);

  ASSERT_TRUE(stream().begin_capture());
  EXPECT_TRUE(upload(stream(), first, from));
  EXPECT_TRUE(stream().launch(kernel));
  EXPECT_TRUE(download(stream(), back, second));
  const auto graph = stream().end_capture();
  ASSERT_TRUE(graph) << graph.error().message;
  ASSERT_TRUE(stream().synchronize());
  EXPECT_THAT(numbers(back), ElementsAre(0, 1, 2, 3)) << "capturing runs nothing";

  for (const std::uint32_t start : {10u, 20u, 30u}) {
    set(from, start);
    ASSERT_TRUE(stream().launch(**graph));
    ASSERT_TRUE(stream().synchronize());
    EXPECT_THAT(numbers(back), ElementsAre(start, start + 1, start + 2, start + 3));
  }
}

TEST_P(DeviceContract, graphs_and_plain_operations_share_a_stream_in_order) {
  const Buffer from = pinned(1);
  const Buffer there = on_device();
  const Buffer other = on_device();
  ASSERT_TRUE(stream().begin_capture());
  EXPECT_TRUE(stream().copy(other.as<void>(), there.as<void>(), kBytes, CopyDirection::within));
  const auto graph = stream().end_capture();
  ASSERT_TRUE(graph) << graph.error().message;

  ASSERT_TRUE(upload(stream(), there, from));
  ASSERT_TRUE(stream().launch(**graph));
  EXPECT_THAT(fetched(other), ElementsAre(1, 2, 3, 4));
}

TEST_P(DeviceContract, a_call_that_fails_in_a_capture_leaves_the_stream_usable) {
  const Buffer from = pinned(1);
  const Buffer to = pinned(0);
  const Buffer pair = pinned();
  KernelLaunch launch = copy_by_kernel(to, from, pair);
  launch.shape.grid.z = 70000;
  ASSERT_TRUE(stream().begin_capture());
  EXPECT_FALSE(stream().launch(launch));
  static_cast<void>(stream().end_capture());  // whether that fails is the device's choice

  const Buffer there = on_device();
  ASSERT_TRUE(upload(stream(), there, from));
  EXPECT_THAT(fetched(there), ElementsAre(1, 2, 3, 4));
}

}  // namespace
}  // namespace forge::gpu
