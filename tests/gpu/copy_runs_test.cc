// A plan's block copies are cut into runs that may be done in any order, and into no more of them
// than that needs.
#include "copy_runs.h"

#include <gtest/gtest.h>

#include <random>
#include <string>
#include <vector>

namespace forge::gpu {
namespace {

constexpr std::uint32_t kBlocks = 8;

BlockCopy within(std::uint32_t from, std::uint32_t to) {
  return {CopyKind::within, BlockId(from), BlockId(to)};
}
BlockCopy out(std::uint32_t from, std::uint32_t to) {
  return {CopyKind::swap_out, BlockId(from), BlockId(to)};
}
BlockCopy in(std::uint32_t from, std::uint32_t to) {
  return {CopyKind::swap_in, BlockId(from), BlockId(to)};
}

/// The lengths of the runs.
std::vector<std::uint32_t> cut(const std::vector<BlockCopy>& copies) {
  CopyRuns runs(kBlocks, kBlocks, copies.size());
  std::vector<BlockPair> pairs;
  std::vector<std::uint32_t> lengths;
  for (const CopyRun& run : runs.cut(copies, pairs)) lengths.push_back(run.count);
  return lengths;
}
using Lengths = std::vector<std::uint32_t>;

TEST(CopyRuns, independent_copies_of_a_kind_are_one_run) {
  EXPECT_EQ(cut({within(0, 4), within(1, 5), within(0, 6)}), Lengths{3});
  EXPECT_EQ(cut({out(0, 0), out(1, 1), out(1, 2)}), Lengths{3});
  EXPECT_EQ(cut({in(0, 0), in(1, 1)}), Lengths{2});
  EXPECT_EQ(cut({}), Lengths{});
}

TEST(CopyRuns, a_copy_of_what_was_written_begins_a_run) {
  EXPECT_EQ(cut({within(0, 4), within(1, 5), within(4, 6)}), (Lengths{2, 1}));
}

TEST(CopyRuns, a_copy_to_where_was_read_begins_a_run) {
  EXPECT_EQ(cut({within(0, 4), within(1, 0)}), (Lengths{1, 1}));
}

TEST(CopyRuns, a_second_copy_to_the_same_block_begins_a_run) {
  EXPECT_EQ(cut({within(0, 4), within(1, 4)}), (Lengths{1, 1}));
  EXPECT_EQ(cut({out(0, 4), out(1, 4)}), (Lengths{1, 1}));
  EXPECT_EQ(cut({in(0, 4), in(1, 4)}), (Lengths{1, 1}));
}

TEST(CopyRuns, another_kind_begins_a_run) {
  EXPECT_EQ(cut({out(3, 0), out(4, 1), in(2, 3), within(3, 5)}), (Lengths{2, 1, 1}));
}

TEST(CopyRuns, blocks_of_the_host_and_of_the_device_are_not_mistaken_for_each_other) {
  EXPECT_EQ(cut({out(0, 1), out(1, 0)}), Lengths{2});
  EXPECT_EQ(cut({in(0, 1), in(1, 0)}), Lengths{2});
}

TEST(CopyRuns, what_a_run_before_has_touched_is_free_again) {
  EXPECT_EQ(cut({within(0, 4), within(4, 5), within(1, 4), within(2, 6)}), (Lengths{1, 1, 2}))
      << "4 was read by the second run";
  CopyRuns runs(kBlocks, kBlocks, 4);
  std::vector<BlockPair> pairs;
  const std::vector<BlockCopy> copies = {within(0, 4), within(1, 5)};
  EXPECT_EQ(runs.cut(copies, pairs).size(), 1U);
  EXPECT_EQ(runs.cut(copies, pairs).size(), 1U) << "nor does the step before matter";
}

/// What lies in the blocks of both pools.
struct Pools {
  std::vector<int> device;
  std::vector<int> host;

  std::vector<int>& source(CopyKind kind) { return kind == CopyKind::swap_in ? host : device; }
  std::vector<int>& target(CopyKind kind) { return kind == CopyKind::swap_out ? host : device; }
};

TEST(CopyRuns, runs_done_backwards_leave_what_the_list_in_its_order_leaves) {
  std::mt19937 random(7);
  const auto draw = [&](std::uint32_t n) { return static_cast<std::uint32_t>(random() % n); };
  for (int round = 0; round < 2000; ++round) {
    std::vector<BlockCopy> copies(draw(12));
    for (BlockCopy& copy : copies) {
      const CopyKind kinds[] = {CopyKind::within, CopyKind::swap_out, CopyKind::swap_in};
      copy = {kinds[draw(8) == 0 ? draw(3) : round % 3], BlockId(draw(kBlocks)),
              BlockId(draw(kBlocks))};
    }
    Pools in_order{{0, 1, 2, 3, 4, 5, 6, 7}, {10, 11, 12, 13, 14, 15, 16, 17}};
    Pools by_runs = in_order;
    for (const BlockCopy& c : copies) {
      in_order.target(c.kind)[c.to.value] = in_order.source(c.kind)[c.from.value];
    }
    CopyRuns runs(kBlocks, kBlocks, copies.size());
    std::vector<BlockPair> pairs;
    for (const CopyRun& run : runs.cut(copies, pairs)) {
      for (std::uint32_t i = run.count; i > 0; --i) {
        const BlockPair& pair = pairs[run.first + i - 1];
        by_runs.target(run.kind)[pair.to] = by_runs.source(run.kind)[pair.from];
      }
    }
    ASSERT_EQ(by_runs.device, in_order.device) << "round " << round;
    ASSERT_EQ(by_runs.host, in_order.host) << "round " << round;
  }
}

}  // namespace
}  // namespace forge::gpu
