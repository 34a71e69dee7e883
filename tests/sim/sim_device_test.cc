// SimDevice as the executor sees it: memory, lazy streams, events, graphs, and what it refuses.
#include "forge/sim/sim_device.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <numeric>

#include "forge/sim/kernel_time.h"

namespace forge::sim {
namespace {

using gpu::CopyDirection;
using gpu::MemoryKind;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

SimOptions h200() { return {.device = find_device("h200").value()}; }

/// A device with a stream and buffers of four numbers, on the device and on the host.
class SimDeviceTest : public ::testing::Test {
 protected:
  static constexpr std::size_t kBytes = 4 * sizeof(std::uint32_t);
  using Numbers = std::vector<std::uint32_t>;

  gpu::Buffer on_device(std::size_t bytes = kBytes, const char* name = "numbers") {
    return device_.allocate(MemoryKind::device, bytes, name).value();
  }
  gpu::Buffer pinned(std::size_t bytes = kBytes, const char* name = "pinned") {
    return device_.allocate(MemoryKind::pinned, bytes, name).value();
  }
  static Numbers numbers(const gpu::Buffer& buffer) {
    const auto* const first = buffer.as<std::uint32_t>();
    return {first, first + buffer.bytes() / sizeof(std::uint32_t)};
  }
  static void set(const gpu::Buffer& buffer, std::uint32_t first) {
    std::iota(buffer.as<std::uint32_t>(), buffer.as<std::uint32_t>() + 4, first);
  }

  static gpu::Status upload(gpu::Stream& stream, const gpu::Buffer& to, const gpu::Buffer& from) {
    return stream.copy(to.as<void>(), from.as<void>(), kBytes, CopyDirection::to_device);
  }
  static gpu::Status download(gpu::Stream& stream, const gpu::Buffer& to, const gpu::Buffer& from) {
    return stream.copy(to.as<void>(), from.as<void>(), kBytes, CopyDirection::to_host);
  }

  SimDevice device_{h200()};
  std::unique_ptr<gpu::Stream> stream_ = device_.create_stream().value();
};

void expect_error(const gpu::Status& status, const std::string& part) {
  ASSERT_FALSE(status) << "succeeded, expected an error with: " << part;
  EXPECT_THAT(to_string(status.error()), HasSubstr(part));
}

// ---- Memory ---------------------------------------------------------------------

TEST_F(SimDeviceTest, memory_is_aligned_full_of_nan_and_known_by_name) {
  const gpu::Buffer pool = on_device(1000, "kv_pool");
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(pool.as<void>()) % 256, 0u);
  EXPECT_TRUE(std::isnan(pool.as<float>()[0]) && std::isnan(pool.as<float>()[249]));
  const auto address = reinterpret_cast<std::uintptr_t>(pool.as<void>());
  ASSERT_NE(device_.memory().find(address + 996, 4), nullptr);
  EXPECT_EQ(device_.memory().find(address + 996, 4)->name, "kv_pool");
  EXPECT_EQ(device_.memory().find(address + 997, 4), nullptr);
}

TEST_F(SimDeviceTest, memory_is_counted_while_it_lives) {
  {
    const gpu::Buffer a = on_device(100);
    const gpu::Buffer b = pinned(50);
    EXPECT_EQ(device_.statistics().bytes_allocated, 150u);
  }
  EXPECT_EQ(device_.statistics().bytes_allocated, 0u);
  EXPECT_EQ(device_.statistics().bytes_allocated_max, 150u);
}

TEST_F(SimDeviceTest, more_memory_than_the_device_is_given_is_an_error_that_names_the_buffer) {
  SimDevice device({.device = find_device("l4").value(), .memory_bytes = 1000});
  const auto first = device.allocate(MemoryKind::device, 600, "weights");
  ASSERT_TRUE(first);
  EXPECT_EQ(device.free_bytes().value(), 400U);
  const auto denied = device.allocate(MemoryKind::device, 401, "kv_pool");
  ASSERT_FALSE(denied);
  EXPECT_THAT(
      to_string(denied.error()),
      HasSubstr("allocate: out of memory: kv_pool (401 bytes), 400 of 1000 bytes are free"));
  EXPECT_FALSE(denied.error().lost);
}

TEST_F(SimDeviceTest, the_memory_of_the_device_that_is_described_is_no_limit) {
  DeviceDescription small = find_device("l4").value();
  small.memory_bytes = 1 << 20;
  SimDevice device({.device = small});
  EXPECT_TRUE(device.allocate(MemoryKind::device, 1 << 21, "kv_pool"));
  EXPECT_EQ(device.free_bytes().value(), std::nullopt) << "the host's";
}

// ---- Streams --------------------------------------------------------------------

TEST_F(SimDeviceTest, a_result_is_poison_until_somebody_waits) {
  const gpu::Buffer host = pinned();
  const gpu::Buffer there = on_device();
  const gpu::Buffer back = pinned();
  set(host, 7);
  set(back, 0);
  ASSERT_TRUE(upload(*stream_, there, host));
  ASSERT_TRUE(download(*stream_, back, there));
  EXPECT_THAT(numbers(back), Each(0xffffffffu));
  EXPECT_THAT(numbers(there), Each(0xffffffffu)) << "nothing has run";
  ASSERT_TRUE(stream_->synchronize());
  EXPECT_THAT(numbers(back), ElementsAre(7, 8, 9, 10));
  EXPECT_EQ(device_.statistics().copies, 2u);
  EXPECT_EQ(device_.statistics().bytes_copied, 2 * kBytes);
}

TEST_F(SimDeviceTest, host_memory_that_changes_before_the_wait_is_read_changed) {
  const gpu::Buffer host = pinned();
  const gpu::Buffer there = on_device();
  set(host, 1);
  ASSERT_TRUE(upload(*stream_, there, host));
  set(host, 5);
  ASSERT_TRUE(stream_->synchronize());
  EXPECT_THAT(numbers(there), ElementsAre(5, 6, 7, 8)) << "a copy reads when it runs";
}

TEST_F(SimDeviceTest, an_event_is_waited_for_and_nothing_after_it) {
  const gpu::Buffer host = pinned();
  const gpu::Buffer before = on_device();
  const gpu::Buffer after = on_device();
  set(host, 1);
  const auto event = device_.create_event().value();
  ASSERT_TRUE(upload(*stream_, before, host));
  ASSERT_TRUE(stream_->record(*event));
  ASSERT_TRUE(upload(*stream_, after, host));
  ASSERT_TRUE(event->synchronize());
  EXPECT_THAT(numbers(before), ElementsAre(1, 2, 3, 4));
  EXPECT_THAT(numbers(after), Each(0xffffffffu));
}

TEST_F(SimDeviceTest, an_event_makes_one_stream_wait_for_another) {
  const gpu::Buffer host = pinned();
  const gpu::Buffer there = on_device();
  const gpu::Buffer back = pinned();
  set(host, 3);
  const auto second = device_.create_stream().value();
  const auto uploaded = device_.create_event().value();
  ASSERT_TRUE(second->wait(*uploaded)) << "not recorded: nothing to wait for";
  ASSERT_TRUE(upload(*stream_, there, host));
  ASSERT_TRUE(stream_->record(*uploaded));
  ASSERT_TRUE(second->wait(*uploaded));
  ASSERT_TRUE(download(*second, back, there));
  ASSERT_TRUE(second->synchronize());
  EXPECT_THAT(numbers(back), ElementsAre(3, 4, 5, 6));
}

TEST_F(SimDeviceTest, without_an_event_nobody_waits_for_the_other_stream) {
  const gpu::Buffer host = pinned();
  const gpu::Buffer there = on_device();
  const gpu::Buffer back = pinned();
  set(host, 3);
  const auto second = device_.create_stream().value();
  ASSERT_TRUE(upload(*stream_, there, host));
  ASSERT_TRUE(download(*second, back, there));
  ASSERT_TRUE(second->synchronize());
  EXPECT_THAT(numbers(back), Each(0xffffffffu));
}

TEST_F(SimDeviceTest, events_measure_the_device_clock) {
  const gpu::Buffer host = pinned(1 << 20);
  const gpu::Buffer there = on_device(1 << 20);
  const auto begin = device_.create_event().value();
  const auto end = device_.create_event().value();
  ASSERT_TRUE(stream_->record(*begin));
  ASSERT_TRUE(stream_->copy(there.as<void>(), host.as<void>(), 1 << 20, CopyDirection::to_device));
  ASSERT_TRUE(stream_->record(*end));
  EXPECT_FALSE(end->microseconds_since(*begin)) << "not done yet";
  ASSERT_TRUE(end->synchronize());
  const double us = end->microseconds_since(*begin).value();
  EXPECT_EQ(us, copy_us(h200().device, 1 << 20));
  EXPECT_GT(us, 0);
  EXPECT_EQ(device_.statistics().device_us, us);
}

TEST_F(SimDeviceTest, memory_that_is_freed_waits_for_what_is_queued) {
  const gpu::Buffer host = pinned();
  const gpu::Buffer there = on_device();
  set(host, 1);
  { const gpu::Buffer gone = on_device(); }
  ASSERT_TRUE(upload(*stream_, there, host));
  { const gpu::Buffer gone = on_device(); }
  EXPECT_THAT(numbers(there), ElementsAre(1, 2, 3, 4));
}

// ---- What copies may touch ------------------------------------------------------

TEST_F(SimDeviceTest, both_sides_of_a_copy_are_checked) {
  const gpu::Buffer there = on_device(16, "there");
  const gpu::Buffer also = on_device(16, "also");
  const gpu::Buffer host = pinned(16, "host");
  std::array<std::byte, 64> plain{};
  const auto copy = [&](std::byte* to, const std::byte* from, std::size_t bytes,
                        CopyDirection direction) {
    const auto done = stream_->copy(to, from, bytes, direction);
    return done ? "taken" : done.error().message;
  };
  std::byte* const d = there.as<std::byte>();
  std::byte* const d2 = also.as<std::byte>();
  std::byte* const h = host.as<std::byte>();

  EXPECT_EQ(copy(d, plain.data(), 16, CopyDirection::to_device), "taken");
  EXPECT_EQ(copy(d + 8, h + 8, 8, CopyDirection::to_device), "taken");
  EXPECT_EQ(copy(plain.data(), d, 16, CopyDirection::to_host), "taken");
  EXPECT_EQ(copy(d2, d, 16, CopyDirection::within), "taken");

  EXPECT_EQ(copy(d, plain.data(), 17, CopyDirection::to_device),
            "to_device, 17 bytes: the destination leaves there (16 bytes) at byte 0");
  EXPECT_EQ(copy(d + 4, plain.data(), 16, CopyDirection::to_device),
            "to_device, 16 bytes: the destination leaves there (16 bytes) at byte 4");
  EXPECT_EQ(copy(d, h + 8, 16, CopyDirection::to_device),
            "to_device, 16 bytes: the source leaves host (16 bytes)");
  EXPECT_EQ(copy(plain.data(), d, 16, CopyDirection::to_device),
            "to_device, 16 bytes: the destination is not device memory");
  EXPECT_EQ(copy(d2, d, 16, CopyDirection::to_device),
            "to_device, 16 bytes: the source is device memory, there (16 bytes)");
  EXPECT_EQ(copy(h, h, 16, CopyDirection::within),
            "within, 16 bytes: the destination is not device memory");
  EXPECT_EQ(copy(h, d, 0, CopyDirection::to_host), "to_host, 0 bytes: copies nothing");
  EXPECT_TRUE(stream_->synchronize()) << "a refused copy has no effect";
}

// ---- Graphs ---------------------------------------------------------------------

TEST_F(SimDeviceTest, a_graph_runs_when_launched_and_reads_the_host_anew_each_time) {
  const gpu::Buffer host = pinned();
  const gpu::Buffer there = on_device();
  const gpu::Buffer back = pinned();
  set(host, 1);
  ASSERT_TRUE(stream_->begin_capture());
  ASSERT_TRUE(upload(*stream_, there, host));
  ASSERT_TRUE(download(*stream_, back, there));
  const auto graph = stream_->end_capture().value();
  ASSERT_TRUE(stream_->synchronize());
  EXPECT_THAT(numbers(there), Each(0xffffffffu)) << "a capture runs nothing";

  for (const std::uint32_t first : {10u, 20u}) {
    set(host, first);
    ASSERT_TRUE(stream_->launch(*graph));
    EXPECT_THAT(numbers(back), Each(0xffffffffu));
    ASSERT_TRUE(stream_->synchronize());
    EXPECT_THAT(numbers(back), ElementsAre(first, first + 1, first + 2, first + 3));
  }
}

TEST_F(SimDeviceTest, a_capture_allows_copies_and_kernels_alone) {
  const auto event = device_.create_event().value();
  const auto other = device_.create_stream().value();
  ASSERT_TRUE(stream_->begin_capture());
  expect_error(stream_->synchronize(), "synchronize: stream: not in a capture");
  expect_error(event->synchronize(), "synchronize: event: not in a capture");
  expect_error(other->synchronize(), "synchronize: stream: not in a capture");
  expect_error(other->begin_capture(), "capture: begin: not in a capture");
  expect_error(stream_->record(*event), "event: record: not in a capture");
  expect_error(stream_->wait(*event), "event: wait: not in a capture");
  EXPECT_FALSE(device_.allocate(MemoryKind::device, 4, "late"));
  EXPECT_FALSE(device_.create_event());
  const auto graph = stream_->end_capture();
  ASSERT_FALSE(graph);
  EXPECT_THAT(graph.error().message, HasSubstr("broken by synchronize: stream"));
  EXPECT_TRUE(stream_->synchronize()) << "the capture is over";
  EXPECT_FALSE(stream_->end_capture()) << "none has begun";
}

TEST_F(SimDeviceTest, a_graph_whose_memory_is_gone_is_refused) {
  const gpu::Buffer host = pinned();
  std::unique_ptr<gpu::Graph> graph;
  {
    const gpu::Buffer there = on_device();
    ASSERT_TRUE(stream_->begin_capture());
    ASSERT_TRUE(upload(*stream_, there, host));
    graph = stream_->end_capture().value();
  }
  expect_error(stream_->launch(*graph), "graph launch: to_device, 16 bytes: the destination");
}

TEST_F(SimDeviceTest, a_launch_that_no_device_takes_is_refused) {
  const auto launch = [&](simt::Index3 grid, int threads) {
    return stream_->launch({.kernel = gpu::KernelId::embed, .shape = {grid, threads}});
  };
  expect_error(launch({0, 1, 1}, 32), "embed: no device launches a grid of 0 x 1 x 1");
  expect_error(launch({1, 65536, 1}, 32), "1 x 65536 x 1");
  expect_error(launch({1, 1, 1}, 48), "blocks of 48 threads");
  expect_error(launch({1, 1, 1}, 2048), "blocks of 2048 threads");
}

// ---- Guard zones and lifetimes --------------------------------------------------

/// As a kernel writes that goes too far, unseen by AddressSanitizer.
__attribute__((no_sanitize("address"))) void overwrite(std::byte* address) {
  *const_cast<volatile std::byte*>(address) = std::byte{1};
}
__attribute__((no_sanitize("address"))) void restore(std::byte* address, std::byte value) {
  *const_cast<volatile std::byte*>(address) = value;
}

using SimDeviceDeathTest = SimDeviceTest;

TEST_F(SimDeviceDeathTest, an_overwritten_guard_zone_aborts_when_the_memory_is_freed) {
  const auto overrun = [this](std::ptrdiff_t byte) {
    const gpu::Buffer pool = on_device(100, "kv_pool");
    overwrite(pool.as<std::byte>() + byte);
  };
  EXPECT_DEATH(overrun(100), "kv_pool .100 bytes.: byte 100 was overwritten");
  EXPECT_DEATH(overrun(-1), "kv_pool .100 bytes.: byte -1 was overwritten");
}

TEST_F(SimDeviceDeathTest, a_device_that_goes_before_its_memory_aborts) {
  const auto leak = [] {
    auto device = std::make_unique<SimDevice>(h200());
    const auto buffer = device->allocate(MemoryKind::device, 4, "leaked").value();
    device.reset();
  };
  EXPECT_DEATH(leak(), "4 bytes of device and pinned memory outlive their device");
  const auto leak_stream = [] {
    auto device = std::make_unique<SimDevice>(h200());
    const auto stream = device->create_stream().value();
    device.reset();
  };
  EXPECT_DEATH(leak_stream(), "1 streams, events or graphs outlive their device");
}

TEST(SimDeviceChecked, an_overwritten_guard_zone_is_an_error_at_the_next_synchronize) {
  SimOptions options = h200();
  options.mode = SimMode::checked;
  SimDevice device(options);
  const auto stream = device.create_stream().value();
  const gpu::Buffer pool = device.allocate(MemoryKind::device, 100, "kv_pool").value();
  std::byte* const beyond = pool.as<std::byte>() + 103;
  ASSERT_TRUE(stream->synchronize());
  overwrite(beyond);
  const auto done = stream->synchronize();
  ASSERT_FALSE(done);
  EXPECT_TRUE(done.error().lost);
  EXPECT_THAT(done.error().message, HasSubstr("kv_pool (100 bytes): byte 103 was overwritten"));
  restore(beyond, std::byte{0xa5});
}

}  // namespace
}  // namespace forge::sim
