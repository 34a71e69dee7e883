// The log of one warp: what its lanes saw at the time, and where they met.
#include <gtest/gtest.h>

#include <cstring>

#include "forge/simt/warp_log.h"

namespace forge::simt {
namespace {

constexpr Site kRead{"kernel.cuh", 10};
constexpr Site kWrite{"kernel.cuh", 20};
constexpr Site kMeeting{"kernel.cuh", 30};

/// Global memory, and accesses to it.
struct Memory {
  alignas(32) std::array<float, 64> floats{};

  Access read(int thread, std::size_t index) const {
    const auto* const data = reinterpret_cast<const std::byte*>(&floats[index]);
    return {.bytes = 4,
            .alignment = 4,
            .thread = thread,
            .data = data,
            .address = reinterpret_cast<std::uintptr_t>(data),
            .site = kRead};
  }
  Access write(int thread, std::size_t index) const {
    Access access = read(thread, index);
    access.kind = AccessKind::write;
    access.site = kWrite;
    return access;
  }
};

float value_of(const WarpEvent& event, std::size_t lane) {
  float value;
  std::memcpy(&value, event.lane[lane].value.data(), sizeof value);
  return value;
}

TEST(WarpLog, has_the_values_that_each_lane_saw_and_wrote) {
  Memory memory;
  for (std::size_t i = 0; i < 64; ++i) memory.floats[i] = static_cast<float>(i);
  WarpLogger logger(0, 0);
  auto block = logger.begin_block({}, 0);
  for (int lane = 0; lane < kWarpSize; ++lane) {
    const auto i = static_cast<std::size_t>(lane);
    block->access(memory.read(lane, i));
    block->access(memory.write(lane, i));
    memory.floats[i] = -1.0F - static_cast<float>(lane);  // after the report, as kernels do
  }
  logger.end_block(0, std::move(block));

  const auto& events = logger.log().events;
  ASSERT_EQ(events.size(), 2u);
  EXPECT_EQ(events[0].access, AccessKind::read);
  EXPECT_EQ(events[1].access, AccessKind::write);
  EXPECT_EQ(events[0].lanes, 0xffffffffu);
  for (std::size_t lane = 0; lane < kWarpSize; ++lane) {
    EXPECT_EQ(value_of(events[0], lane), static_cast<float>(lane)) << "before it was overwritten";
    EXPECT_EQ(value_of(events[1], lane), -1.0F - static_cast<float>(lane));
    EXPECT_EQ(events[0].lane[lane].address, reinterpret_cast<std::uintptr_t>(&memory.floats[lane]));
  }
}

TEST(WarpLog, keeps_requests_and_meetings_in_order) {
  Memory memory;
  WarpLogger logger(0, 1);
  auto block = logger.begin_block({}, 0);
  const auto whole_warp_reads = [&](std::size_t index) {
    for (int lane = 0; lane < kWarpSize; ++lane) block->access(memory.read(32 + lane, index));
  };
  whole_warp_reads(1);
  block->warp_barrier(0, kMeeting);  // the other warp's
  block->warp_barrier(1, kMeeting);
  block->access(memory.read(32, 2));  // one lane
  block->block_barrier(kMeeting);
  logger.end_block(0, std::move(block));

  const auto& events = logger.log().events;
  ASSERT_EQ(events.size(), 4u);
  EXPECT_EQ(events[0].kind, WarpEvent::Kind::request);
  EXPECT_EQ(events[1].kind, WarpEvent::Kind::warp_meeting);
  EXPECT_EQ(events[2].lanes, 1u);
  EXPECT_EQ(events[3].kind, WarpEvent::Kind::block_meeting);
  EXPECT_EQ(events[3].site, kMeeting);
}

TEST(WarpLog, leaves_out_other_warps_and_other_blocks) {
  Memory memory;
  WarpLogger logger(1, 0);
  for (long long number = 0; number < 3; ++number) {
    auto block = logger.begin_block({}, number);
    block->shared_array("scores", 0, 1024);
    block->access(memory.read(static_cast<int>(number), 0));
    block->access(memory.read(40, 0));
    logger.end_block(number, std::move(block));
  }
  const auto& events = logger.log().events;
  ASSERT_EQ(events.size(), 1u);
  EXPECT_EQ(events[0].lanes, 2u) << "lane 1, in block 1";
  ASSERT_EQ(logger.log().shared.size(), 1u);
  EXPECT_EQ(logger.log().shared[0].name, "scores");
}

TEST(WarpLog, takes_structs_apart_with_their_values) {
  struct Write {
    std::uint32_t table, index, block;
  };
  const std::array<Write, 2> writes{{{1, 2, 3}, {4, 5, 6}}};
  WarpLogger logger(0, 0);
  auto block = logger.begin_block({}, 0);
  for (int lane = 0; lane < 2; ++lane) {
    const auto* const data =
        reinterpret_cast<const std::byte*>(&writes[static_cast<std::size_t>(lane)]);
    block->access({.bytes = sizeof(Write),
                   .alignment = alignof(Write),
                   .thread = lane,
                   .data = data,
                   .address = reinterpret_cast<std::uintptr_t>(data),
                   .site = kRead});
  }
  logger.end_block(0, std::move(block));
  const auto& events = logger.log().events;
  ASSERT_EQ(events.size(), 3u);
  for (std::size_t piece = 0; piece < 3; ++piece) {
    for (std::size_t lane = 0; lane < 2; ++lane) {
      std::uint32_t word = 0;
      std::memcpy(&word, events[piece].lane[lane].value.data(), sizeof word);
      EXPECT_EQ(word, 1 + piece + 3 * lane);
    }
  }
}

}  // namespace
}  // namespace forge::simt
