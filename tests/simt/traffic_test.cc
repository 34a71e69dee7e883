// Traffic of accesses that are made up: which requests lanes form, what they cost, what caches
// keep.
#include "forge/simt/traffic.h"

#include <gtest/gtest.h>

#include <deque>
#include <functional>
#include <random>
#include <set>

namespace forge::simt {
namespace {

constexpr Site kLoad{"kernel.cuh", 10};
constexpr Site kStore{"kernel.cuh", 20};
constexpr CacheSizes kLarge{.l1_bytes = 1 << 16, .l2_bytes = 1 << 20};
constexpr std::uintptr_t kBuffer = 0x10000;

using AddressOf = std::function<std::uintptr_t(int lane)>;

/// Blocks of 64 threads whose accesses a test writes down.
class Story {
 public:
  explicit Story(CacheSizes sizes = kLarge) : counter_(sizes) {}

  void begin() { block_ = counter_.begin_block({{1, 1, 1}, 64}, blocks_); }
  void end() { counter_.end_block(blocks_++, std::move(block_)); }

  void access(int thread, Access access) {
    access.thread = thread;
    if (access.alignment == 1) access.alignment = access.bytes;
    block_->access(access);
  }
  /// Each lane of warp 0 in turn, as fibers run.
  void warp(Access access, const AddressOf& address) {
    for (int lane = 0; lane < kWarpSize; ++lane) {
      access.address = address(lane);
      this->access(lane, access);
    }
  }
  BlockObserver& block() { return *block_; }
  Traffic result() const { return counter_.result(); }

 private:
  TrafficCounter counter_;
  std::unique_ptr<BlockObserver> block_;
  long long blocks_ = 0;
};

Access load(std::uint16_t bytes) { return {.bytes = bytes, .site = kLoad}; }
Access store(std::uint16_t bytes) {
  return {.kind = AccessKind::write, .bytes = bytes, .site = kStore};
}
Access shared_load(std::uint16_t bytes) {
  return {.space = Space::shared, .bytes = bytes, .site = kLoad};
}

/// What one access of a warp counts.
LineTraffic one_line(const Access& access, const AddressOf& address) {
  Story story;
  story.begin();
  story.warp(access, address);
  story.end();
  const Traffic traffic = story.result();
  EXPECT_EQ(traffic.lines.size(), 1u);
  return traffic.lines.at(0);
}

std::uint64_t bytes(int i) { return static_cast<std::uint64_t>(i); }

TEST(Requests, of_32_neighbouring_floats_take_4_sectors) {
  const LineTraffic line = one_line(load(4), [](int l) { return kBuffer + bytes(4 * l); });
  EXPECT_EQ(line.requests, 1u);
  EXPECT_EQ(line.sectors_per_request(), 4.0);
  EXPECT_EQ(line.bytes, 128u);
  EXPECT_EQ(line.used(), 1.0);
}

TEST(Requests, of_32_floats_a_row_apart_take_32_sectors) {
  const LineTraffic line = one_line(load(4), [](int l) { return kBuffer + bytes(4096 * l); });
  EXPECT_EQ(line.sectors_per_request(), 32.0);
  EXPECT_EQ(line.used(), 1.0 / 8) << "4 of 32 bytes";
}

TEST(Requests, of_vectors_of_16_bytes_take_16_sectors) {
  const LineTraffic line = one_line(load(16), [](int l) { return kBuffer + bytes(16 * l); });
  EXPECT_EQ(line.sectors_per_request(), 16.0);
}

TEST(Requests, that_do_not_start_at_a_sector_take_one_more) {
  const LineTraffic line = one_line(load(4), [](int l) { return kBuffer + 4 + bytes(4 * l); });
  EXPECT_EQ(line.sectors_per_request(), 5.0);
}

TEST(Requests, of_all_lanes_for_one_float_take_one_sector) {
  const LineTraffic line = one_line(load(4), [](int) { return kBuffer; });
  EXPECT_EQ(line.sectors_per_request(), 1.0);
  EXPECT_EQ(line.lanes_per_request(), 32.0);
  EXPECT_EQ(line.used(), 1.0 / 8);
}

TEST(Requests, of_structs_move_in_pieces_of_their_alignment) {
  Access access = load(12);
  access.alignment = 4;
  const LineTraffic line = one_line(access, [](int l) { return kBuffer + bytes(12 * l); });
  EXPECT_EQ(line.requests, 3u);
  EXPECT_EQ(line.sectors, 36u) << "each of the three reaches over all 12 sectors";
  EXPECT_EQ(line.bytes, 384u);

  access = load(32);
  access.alignment = 16;
  EXPECT_EQ(one_line(access, [](int l) { return kBuffer + bytes(32 * l); }).requests, 2u);
}

TEST(Requests, are_made_of_the_kth_access_of_each_lane) {
  Story story;
  story.begin();
  for (int lane = 0; lane < kWarpSize; ++lane) {
    for (int i = 0; i <= lane; ++i) {  // lane l goes round l + 1 times
      Access access = load(4);
      access.address = kBuffer + bytes(128 * i + 4 * lane);
      story.access(lane, access);
    }
  }
  story.end();
  const LineTraffic line = story.result().lines.at(0);
  EXPECT_EQ(line.requests, 32u);
  EXPECT_EQ(line.lanes, 32u * 33 / 2);
  EXPECT_EQ(line.sectors, 8u * (4 + 3 + 2 + 1)) << "turn i has the lanes from i on";
}

TEST(Requests, do_not_reach_over_a_meeting_point) {
  const auto requests = [](const std::function<void(BlockObserver&)>& meet) {
    Story story;
    story.begin();
    Access access = load(4);
    for (int lane = 0; lane < 16; ++lane) {
      access.address = kBuffer + bytes(4 * lane);
      story.access(lane, access);
    }
    meet(story.block());
    for (int lane = 16; lane < 32; ++lane) {
      access.address = kBuffer + bytes(4 * lane);
      story.access(lane, access);
    }
    story.end();
    return story.result().lines.at(0).requests;
  };
  EXPECT_EQ(requests([](BlockObserver&) {}), 1u);
  EXPECT_EQ(requests([](BlockObserver& block) { block.block_barrier(kStore); }), 2u);
  EXPECT_EQ(requests([](BlockObserver& block) { block.warp_barrier(0, kStore); }), 2u);
  EXPECT_EQ(requests([](BlockObserver& block) { block.warp_barrier(1, kStore); }), 1u)
      << "the other warp met";
}

TEST(Requests, of_two_warps_are_two) {
  Story story;
  story.begin();
  Access access = load(4);
  access.address = kBuffer;
  for (int thread = 0; thread < 64; ++thread) story.access(thread, access);
  story.end();
  EXPECT_EQ(story.result().lines.at(0).requests, 2u);
}

TEST(Requests, of_reads_and_writes_of_one_line_are_kept_apart) {
  Story story;
  story.begin();
  Access write = store(4);
  write.site = kLoad;
  story.warp(load(4), [](int l) { return kBuffer + bytes(4 * l); });
  story.warp(write, [](int l) { return kBuffer + bytes(4 * l); });
  story.end();
  const Traffic traffic = story.result();
  ASSERT_EQ(traffic.lines.size(), 2u);
  EXPECT_EQ(traffic.lines[0].kind, AccessKind::read);
  EXPECT_EQ(traffic.lines[1].kind, AccessKind::write);
}

TEST(SharedMemory, has_no_conflict_where_each_lane_has_its_bank) {
  const auto wavefronts = [](std::uint16_t size, const AddressOf& address) {
    const LineTraffic line = one_line(shared_load(size), address);
    EXPECT_EQ(line.sectors, 0u);
    return std::pair(line.wavefronts, line.wavefronts_least);
  };
  using Pair = std::pair<std::uint64_t, std::uint64_t>;
  EXPECT_EQ(wavefronts(4, [](int l) { return bytes(4 * l); }), Pair(1, 1));
  EXPECT_EQ(wavefronts(4, [](int) { return bytes(64); }), Pair(1, 1)) << "one word for all";
  EXPECT_EQ(wavefronts(4, [](int l) { return bytes(4 * 33 * l); }), Pair(1, 1)) << "padded rows";
  EXPECT_EQ(wavefronts(1, [](int l) { return bytes(l); }), Pair(1, 1));
  EXPECT_EQ(wavefronts(8, [](int l) { return bytes(8 * l); }), Pair(2, 2));
  EXPECT_EQ(wavefronts(16, [](int l) { return bytes(16 * l); }), Pair(4, 4));
  EXPECT_EQ(wavefronts(16, [](int) { return bytes(256); }), Pair(4, 4));
}

TEST(SharedMemory, serves_words_of_one_bank_one_after_the_other) {
  const auto wavefronts = [](std::uint16_t size, int stride) {
    const LineTraffic line =
        one_line(shared_load(size), [stride](int l) { return bytes(stride * l); });
    return line.wavefronts;
  };
  EXPECT_EQ(wavefronts(4, 4 * 2), 2u);
  EXPECT_EQ(wavefronts(4, 4 * 8), 8u);
  EXPECT_EQ(wavefronts(4, 4 * 32), 32u);
  EXPECT_EQ(wavefronts(16, 32), 8u) << "4 phases of 8 lanes, two words of a bank in each";
  EXPECT_EQ(wavefronts(16, 128), 32u);
}

TEST(Caches, an_l1_keeps_what_its_block_has_read) {
  Story story;
  story.begin();
  for (int i = 0; i < 3; ++i) story.warp(load(4), [](int l) { return kBuffer + bytes(4 * l); });
  story.end();
  const Traffic traffic = story.result();
  EXPECT_EQ(traffic.asked.read, 3u * 128);
  EXPECT_EQ(traffic.l1.read, 3u * 128);
  EXPECT_EQ(traffic.l2.read, 128u);
  EXPECT_EQ(traffic.memory.read, 128u);
  EXPECT_EQ(traffic.once.read, 128u);
}

TEST(Caches, blocks_share_an_l2_and_no_l1) {
  Story story;
  for (int block = 0; block < 3; ++block) {
    story.begin();
    story.warp(load(4), [](int l) { return kBuffer + bytes(4 * l); });
    story.end();
  }
  const Traffic traffic = story.result();
  EXPECT_EQ(traffic.l2.read, 3u * 128);
  EXPECT_EQ(traffic.memory.read, 128u);
  EXPECT_EQ(traffic.once_a_block.read, 3u * 128);
  EXPECT_EQ(traffic.once.read, 128u);
}

TEST(Caches, unused_bytes_of_sectors_move_too) {
  Story story;
  story.begin();
  story.warp(load(4), [](int l) { return kBuffer + bytes(4096 * l); });
  story.end();
  const Traffic traffic = story.result();
  EXPECT_EQ(traffic.asked.read, 128u);
  EXPECT_EQ(traffic.l1.read, 1024u);
  EXPECT_EQ(traffic.memory.read, 1024u);
  EXPECT_EQ(traffic.once.read, 128u);
}

TEST(Caches, stores_pass_l1_and_are_written_back_once) {
  Story story;
  story.begin();
  for (int i = 0; i < 3; ++i) story.warp(store(4), [](int l) { return kBuffer + bytes(4 * l); });
  story.end();
  const Traffic traffic = story.result();
  EXPECT_EQ(traffic.l2.written, 3u * 128);
  EXPECT_EQ(traffic.memory.written, 128u);
  EXPECT_EQ(traffic.memory.read, 0u);
  EXPECT_EQ(traffic.once.written, 128u);
}

TEST(Caches, the_rest_of_a_sector_that_was_written_in_part_is_fetched_when_it_is_read) {
  Story story;
  story.begin();
  Access access = store(4);
  access.address = kBuffer;
  story.access(0, access);
  story.block().block_barrier(kStore);
  access = load(4);
  access.address = kBuffer;
  story.access(0, access);  // what was written: no need for memory
  story.end();
  EXPECT_EQ(story.result().memory.read, 0u);
  story.begin();
  access.address = kBuffer + 4;
  story.access(0, access);
  story.end();
  EXPECT_EQ(story.result().memory.read, 32u);
}

TEST(Caches, the_least_recently_used_sector_goes) {
  Story story({.l1_bytes = 32, .l2_bytes = 2 * 32});
  story.begin();
  const auto read = [&](int sector) {
    Access access = load(4);
    access.address = kBuffer + bytes(32 * sector);
    story.access(0, access);
    story.block().warp_barrier(0, kLoad);
  };
  for (const int sector : {0, 1, 0, 2, 0, 1}) read(sector);  // misses 0, 1, 2 (1 goes), 1
  story.end();
  const Traffic traffic = story.result();
  EXPECT_EQ(traffic.l2.read, 6u * 32) << "an L1 of one sector never hits here";
  EXPECT_EQ(traffic.memory.read, 4u * 32);
}

TEST(Caches, what_l2_cannot_keep_is_written_back_when_it_goes) {
  Story story({.l1_bytes = 32, .l2_bytes = 2 * 32});
  story.begin();
  for (const int sector : {0, 1, 2, 0}) {
    Access access = store(4);
    access.address = kBuffer + bytes(32 * sector);
    story.access(0, access);
  }
  story.end();
  EXPECT_EQ(story.result().memory.written, 4u * 32) << "sector 0 twice";
}

TEST(Traffic, lists_lines_and_meetings_in_the_order_of_the_source) {
  Story story;
  for (int block = 0; block < 2; ++block) {
    story.begin();
    story.block().shared_array("scores", 0, 1024);
    story.block().shared_array("partial", 1024, 256);
    story.warp(store(4), [](int l) { return kBuffer + bytes(4 * l); });
    story.block().block_barrier({"kernel.cuh", 12});
    story.block().warp_barrier(0, {"kernel.cuh", 11});
    story.block().warp_barrier(1, {"kernel.cuh", 11});
    story.warp(load(4), [](int l) { return kBuffer + bytes(4 * l); });
    story.end();
  }
  const Traffic traffic = story.result();
  ASSERT_EQ(traffic.lines.size(), 2u);
  EXPECT_EQ(traffic.lines[0].site, kLoad);
  EXPECT_EQ(traffic.lines[1].site, kStore);
  ASSERT_EQ(traffic.meetings.size(), 2u);
  EXPECT_EQ(traffic.meetings[0].site.line, 11);
  EXPECT_EQ(traffic.meetings[0].count, 4u);
  EXPECT_FALSE(traffic.meetings[0].whole_block);
  EXPECT_EQ(traffic.meetings[1].count, 2u);
  EXPECT_TRUE(traffic.meetings[1].whole_block);
  EXPECT_EQ(traffic.shared_bytes(), 1280u);
}

/// The same counts, the slow way: one sector at a time, caches as lists.
struct Oracle {
  std::deque<std::uintptr_t> cache;  // most recently used first
  std::size_t sectors_max;
  std::uint64_t misses = 0;

  void read(std::uintptr_t sector) {
    const auto found = std::find(cache.begin(), cache.end(), sector);
    misses += found == cache.end() ? 1 : 0;
    if (found != cache.end()) cache.erase(found);
    cache.push_front(sector);
    if (cache.size() > sectors_max) cache.pop_back();
  }
};

TEST(Traffic, of_random_reads_is_that_of_an_oracle) {
  const unsigned seed = std::random_device()();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937 random(seed);
  Story story({.l1_bytes = 8 * 32, .l2_bytes = 32 * 32});
  Oracle l2{{}, 32};
  std::uint64_t sectors = 0;
  std::uint64_t l1_misses = 0;
  for (int block = 0; block < 4; ++block) {
    story.begin();
    Oracle l1{{}, 8};
    for (int turn = 0; turn < 50; ++turn) {
      std::set<std::uintptr_t> touched;
      story.warp(load(4), [&](int) {
        const std::uintptr_t address = kBuffer + 4 * (random() % 512);
        touched.insert(address / 32);
        return address;
      });
      story.block().warp_barrier(0, kStore);
      sectors += touched.size();
      for (const std::uintptr_t sector : touched) {
        const std::uint64_t before = l1.misses;
        l1.read(sector);
        if (l1.misses > before) l2.read(sector);
      }
    }
    l1_misses += l1.misses;
    story.end();
  }
  const Traffic traffic = story.result();
  EXPECT_EQ(traffic.lines.at(0).sectors, sectors);
  EXPECT_EQ(traffic.l2.read, l1_misses * 32);
  EXPECT_EQ(traffic.memory.read, l2.misses * 32);
}

}  // namespace
}  // namespace forge::simt
