// Faults injected into a SimDevice, call by call: what fails, what stays as it was.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <numeric>

#include "forge/sim/sim_device.h"

namespace forge::sim {
namespace {

using gpu::CopyDirection;
using gpu::MemoryKind;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using Kind = DeviceCall::Kind;

/// A device whose next call of a kind meets a fault, once.
class InjectedFaultTest : public ::testing::Test {
 protected:
  static constexpr std::size_t kBytes = 4 * sizeof(std::uint32_t);

  void fail_next(Kind kind, Fault fault = Fault::fails) {
    kind_ = kind;
    fault_ = fault;
  }
  gpu::Status upload() {
    return stream_->copy(there_.as<void>(), host_.as<void>(), kBytes, CopyDirection::to_device);
  }
  gpu::Status download() {
    return stream_->copy(back_.as<void>(), there_.as<void>(), kBytes, CopyDirection::to_host);
  }
  void set(std::uint32_t first) {
    std::iota(host_.as<std::uint32_t>(), host_.as<std::uint32_t>() + 4, first);
  }
  std::vector<std::uint32_t> numbers(const gpu::Buffer& buffer) {
    return {buffer.as<std::uint32_t>(), buffer.as<std::uint32_t>() + 4};
  }
  /// What came back of numbers from `first` on.
  std::vector<std::uint32_t> round_trip(std::uint32_t first) {
    set(first);
    EXPECT_TRUE(upload());
    EXPECT_TRUE(download());
    EXPECT_TRUE(stream_->synchronize());
    return numbers(back_);
  }

  Fault next_fault(const DeviceCall& call) {
    calls_.emplace_back(call.what);
    EXPECT_EQ(call.index + 1, calls_.size());
    if (call.kind != kind_) return Fault::none;
    return std::exchange(fault_, Fault::none);
  }

  std::vector<std::string> calls_;
  Kind kind_ = Kind::allocate;
  Fault fault_ = Fault::none;
  SimDevice device_{{.device = find_device("h200").value(),
                     .faults = [this](const DeviceCall& call) { return next_fault(call); }}};
  gpu::Buffer host_ = device_.allocate(MemoryKind::pinned, kBytes, "host").value();
  gpu::Buffer there_ = device_.allocate(MemoryKind::device, kBytes, "there").value();
  gpu::Buffer back_ = device_.allocate(MemoryKind::pinned, kBytes, "back").value();
  std::unique_ptr<gpu::Stream> stream_ = device_.create_stream().value();
};

TEST_F(InjectedFaultTest, every_call_is_seen_with_its_number_and_what_it_is_for) {
  const auto event = device_.create_event().value();
  ASSERT_TRUE(upload());
  ASSERT_TRUE(stream_->launch({.kernel = gpu::KernelId::embed}));
  ASSERT_TRUE(stream_->record(*event));
  ASSERT_TRUE(stream_->wait(*event));
  ASSERT_TRUE(stream_->begin_capture());
  ASSERT_TRUE(download());
  const auto graph = stream_->end_capture().value();
  ASSERT_TRUE(stream_->launch(*graph));
  EXPECT_THAT(calls_, ElementsAre("host", "there", "back", "stream", "event", "to_device", "embed",
                                  "record", "wait", "begin", "to_host", "end", "graph"));
  fail_next(Kind::synchronize, Fault::device_lost);
  EXPECT_FALSE(event->synchronize()) << "so that the kernel, which has no arguments, never runs";
}

TEST_F(InjectedFaultTest, a_call_that_fails_has_no_effect) {
  EXPECT_THAT(round_trip(1), ElementsAre(1, 2, 3, 4));
  set(50);
  fail_next(Kind::copy);
  const auto failed = upload();
  ASSERT_FALSE(failed);
  EXPECT_THAT(to_string(failed.error()), HasSubstr("copy: to_device: injected fault at call 7"));
  EXPECT_THAT(to_string(failed.error()), HasSubstr("NVIDIA H200"));
  EXPECT_FALSE(failed.error().lost);
  ASSERT_TRUE(download());
  ASSERT_TRUE(stream_->synchronize());
  EXPECT_THAT(numbers(back_), ElementsAre(1, 2, 3, 4)) << "nothing was uploaded";
  EXPECT_THAT(round_trip(60), ElementsAre(60, 61, 62, 63)) << "the device goes on";
}

TEST_F(InjectedFaultTest, a_synchronize_that_fails_leaves_everything_queued) {
  set(1);
  ASSERT_TRUE(upload());
  fail_next(Kind::synchronize);
  EXPECT_FALSE(stream_->synchronize());
  EXPECT_THAT(numbers(there_), Each(0xffffffffu));
  EXPECT_TRUE(stream_->synchronize());
  EXPECT_THAT(numbers(there_), ElementsAre(1, 2, 3, 4));
}

TEST_F(InjectedFaultTest, an_allocation_that_fails_takes_no_memory) {
  const auto before = device_.statistics().bytes_allocated;
  fail_next(Kind::allocate);
  const auto failed = device_.allocate(MemoryKind::device, 100, "kv_pool");
  ASSERT_FALSE(failed);
  EXPECT_THAT(failed.error().message, HasSubstr("kv_pool: injected fault"));
  EXPECT_EQ(device_.statistics().bytes_allocated, before);
}

TEST_F(InjectedFaultTest, a_lost_device_stays_lost_and_runs_nothing) {
  set(1);
  ASSERT_TRUE(upload());
  fail_next(Kind::copy, Fault::device_lost);
  const auto failed = download();
  ASSERT_FALSE(failed);
  EXPECT_TRUE(failed.error().lost);
  EXPECT_FALSE(upload());
  EXPECT_FALSE(device_.create_event());
  const auto waited = stream_->synchronize();
  ASSERT_FALSE(waited);
  EXPECT_TRUE(waited.error().lost);
  EXPECT_THAT(waited.error().message,
              HasSubstr("stream: the device is lost: to_host: injected fault at call 5"));
  EXPECT_THAT(numbers(there_), Each(0xffffffffu)) << "what was queued never ran";
}

TEST_F(InjectedFaultTest, a_late_copy_arrives_with_the_next_one) {
  EXPECT_THAT(round_trip(1), ElementsAre(1, 2, 3, 4));
  fail_next(Kind::copy, Fault::late);
  set(10);
  ASSERT_TRUE(upload()) << "being late means nothing to an upload";
  fail_next(Kind::copy, Fault::late);
  ASSERT_TRUE(download());
  ASSERT_TRUE(stream_->synchronize());
  EXPECT_THAT(numbers(back_), ElementsAre(1, 2, 3, 4)) << "the result of before";

  const gpu::Buffer other = device_.allocate(MemoryKind::pinned, kBytes, "other").value();
  set(20);
  ASSERT_TRUE(upload());
  ASSERT_TRUE(stream_->copy(other.as<void>(), there_.as<void>(), kBytes, CopyDirection::to_host));
  ASSERT_TRUE(stream_->synchronize());
  EXPECT_THAT(numbers(back_), ElementsAre(10, 11, 12, 13)) << "the late one";
  EXPECT_THAT(numbers(other), ElementsAre(20, 21, 22, 23));
}

TEST_F(InjectedFaultTest, a_late_copy_that_is_never_followed_does_not_reach_freed_memory) {
  fail_next(Kind::copy, Fault::late);
  ASSERT_TRUE(download());
  ASSERT_TRUE(stream_->synchronize());
  back_ = {};
  back_ = device_.allocate(MemoryKind::pinned, kBytes, "back").value();
  EXPECT_THAT(round_trip(5), ElementsAre(5, 6, 7, 8));
}

TEST_F(InjectedFaultTest, graphs_are_late_as_a_whole) {
  ASSERT_TRUE(stream_->begin_capture());
  ASSERT_TRUE(upload());
  ASSERT_TRUE(download());
  const auto graph = stream_->end_capture().value();
  set(1);
  ASSERT_TRUE(stream_->launch(*graph));
  ASSERT_TRUE(stream_->synchronize());
  set(5);
  fail_next(Kind::graph_launch, Fault::late);
  ASSERT_TRUE(stream_->launch(*graph));
  ASSERT_TRUE(stream_->synchronize());
  EXPECT_THAT(numbers(there_), ElementsAre(5, 6, 7, 8));
  EXPECT_THAT(numbers(back_), ElementsAre(1, 2, 3, 4));
}

TEST_F(InjectedFaultTest, a_call_that_fails_in_a_capture_ends_it_without_a_graph) {
  ASSERT_TRUE(stream_->begin_capture());
  fail_next(Kind::copy);
  EXPECT_FALSE(upload());
  EXPECT_TRUE(download());
  EXPECT_FALSE(stream_->end_capture());
  EXPECT_THAT(round_trip(3), ElementsAre(3, 4, 5, 6)) << "outside of a capture again";

  ASSERT_TRUE(stream_->begin_capture());
  fail_next(Kind::capture);
  EXPECT_FALSE(stream_->end_capture());
  EXPECT_THAT(round_trip(7), ElementsAre(7, 8, 9, 10)) << "here too";
}

}  // namespace
}  // namespace forge::sim
