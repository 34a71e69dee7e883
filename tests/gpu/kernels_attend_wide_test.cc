// attend_wide, with the bits of span_attention_reference (numerics/span_attention.h), over tiles of
// few rows and of many. What a case reaches of the kernel is counted, and tests say what they need.
#include <algorithm>

#include "forge/numerics/span_attention.h"
#include "gpu/span_pass.h"
#include "gpu/step_of.h"

namespace forge::gpu {
namespace {

using numerics::HalfType;
using numerics::KvType;

/// What the warps of launches come upon.
struct Reach {
  int spans = 0;     ///< of a block, the most
  int ragged = 0;    ///< blocks whose last tile of keys is not full
  int inside = 0;    ///< blocks whose first key is not the first of a tile
  int whole = 0;     ///< tiles that all rows of a warp see whole
  int parts = 0;     ///< tiles that some see in part, or not
  int left_out = 0;  ///< tiles of a block that no row of a warp sees
  int idle = 0;      ///< warps without a pair
};

/// Positions [first, end) that a row sees.
struct Seen {
  int first;
  int end;
};

/// Counts a warp's tiles, of those from `first` to `end`.
void count_warp(const std::vector<Seen>& rows, const Seen& block, Reach& reach) {
  for (int tile = block.first / numerics::kSpanTile; tile * numerics::kSpanTile < block.end;
       ++tile) {
    const int start = tile * numerics::kSpanTile;
    const int end = start + numerics::kSpanTile;
    const bool is_seen = rows.front().first < end && rows.back().end > start;
    const bool is_whole = rows.back().first <= start && rows.front().end >= end;
    ++(is_whole ? reach.whole : is_seen ? reach.parts : reach.left_out);
  }
}

/// `pairs` of a block, which share `args.column_warps()` warps each 16.
void count_block(const AttendWideArgs& args, const std::vector<Seen>& pairs, Reach& reach) {
  const Seen block{pairs.front().first, pairs.back().end};
  const int spans = ceil_div(block.end, numerics::kSpan) - block.first / numerics::kSpan;
  reach.spans = std::max(reach.spans, spans);
  reach.ragged += block.end % numerics::kSpanTile != 0 ? 1 : 0;
  reach.inside += block.first % numerics::kSpanTile != 0 ? 1 : 0;
  const auto count = static_cast<int>(pairs.size());
  for (int first = 0; first < args.pairs(); first += kSpanPairs) {
    if (first >= count) {
      ++reach.idle;
      continue;
    }
    count_warp({pairs.begin() + first, pairs.begin() + std::min(first + kSpanPairs, count)}, block,
               reach);
  }
}

class AttendWide : public KernelTest {
 protected:
  const numerics::StepModel& step() const { return step_of(GetParam()); }

  /// Runs rows [first, end) of each sequence, in tiles of up to `tile_rows`. The launch is for more
  /// tiles than there are.
  Reach expect(const KvShape& shape, const std::vector<std::pair<int, int>>& slices, int tile_rows,
               const SpanKind& kind = {}) const {
    SCOPED_TRACE(testing::Message() << shape << " slices " << testing::PrintToString(slices)
                                    << " tiles of " << tile_rows << " " << kind);
    Random random(slices.size() + static_cast<std::size_t>(slices[0].second));
    const TiledRows tiled(slices, tile_rows);
    KvWorld world(shape, tiled.lengths, random);
    world.fill(random);
    const SpanPass pass(world, kind, tiled.rows, random);
    std::vector<bool> written(tiled.rows.size(), true);
    written[0] = false;
    const auto rig = this->rig(tiled.tiles.size());
    const AttendWideArgs args{.in = pass.input(*rig, step(), tiled.counts(), written),
                              .tiles = {rig->input("tiles", tiled.tiles_and_one()), tile_rows}};
    rig->expect(launch_of(args, args.shape(static_cast<int>(tiled.tiles.size()) + 2)));
    return reach_of(args, tiled);
  }

 private:
  static Reach reach_of(const AttendWideArgs& args, const TiledRows& tiled) {
    Reach reach;
    for (const PromptTile& tile : tiled.tiles) {
      std::vector<Seen> pairs;
      for (std::uint32_t row = tile.first; row < tile.first + tile.count; ++row) {
        const int length = static_cast<int>(tiled.rows[row].position) + 1;
        pairs.insert(pairs.end(), static_cast<std::size_t>(args.in.kv.group_size),
                     {args.in.first_seen(length), length});
      }
      const auto of_block = static_cast<std::size_t>(args.pairs());
      for (std::size_t first = 0; first < pairs.size(); first += of_block) {
        const std::size_t last = std::min(first + of_block, pairs.size());
        count_block(args, {&pairs[first], &pairs[0] + last}, reach);
      }
    }
    return reach;
  }
};
FORGE_KERNEL_TEST_TARGETS(AttendWide);

constexpr KvType kHalves[] = {KvType::bf16, KvType::f16};

/// Three spans and a ragged last tile; all tiles of a warp's keys but the last are seen whole.
TEST_P(AttendWide, TilesOfEveryLength) {
  for (const int rows : {1, 7, 8, 9, 64, 65, 128}) {
    const Reach reach = expect({1, 1, 16, 16, KvType::bf16}, {{519, 519 + rows}}, rows);
    EXPECT_EQ(reach.spans, 3);
    EXPECT_GT(reach.whole, 0);
    EXPECT_GT(reach.parts, 0);
    EXPECT_EQ(reach.ragged, (519 + rows) % numerics::kSpanTile != 0 ? 1 : 0);
    EXPECT_EQ(reach.idle, 8 - ceil_div(rows, kSpanPairs));
    EXPECT_EQ(reach.left_out > 0, rows > 57) << "past 576, which the first warps do not see";
  }
}

/// Of a chunk, of which the last tile is short; beside another sequence.
TEST_P(AttendWide, SeveralTiles) {
  const Reach reach = expect({2, 2, 16, 5, KvType::f16}, {{30, 180}, {250, 262}, {3, 4}}, 64);
  EXPECT_EQ(reach.spans, 2);
  EXPECT_GT(reach.whole, 0);
  EXPECT_GT(reach.left_out, 0);
  EXPECT_GT(reach.idle, 0);
}

TEST_P(AttendWide, GroupsOfEverySize) {
  for (const int G : {1, 2, 4, 7, 8, 20}) {
    const Reach reach = expect({1, G, 16, 16, KvType::bf16}, {{500, 533}}, 33);
    EXPECT_EQ(reach.spans, 3);
    EXPECT_GT(reach.ragged, 0);
  }
}

/// Of all ways to share columns: among one warp and two, whole and with a rest.
TEST_P(AttendWide, HeadsOfEverySize) {
  for (const int D : {16, 48, 64, 80, 112, 128, 144, 192, 240, 256}) {
    const Reach reach = expect({1, 3, D, 16, KvType::bf16}, {{510, 536}}, 26);
    EXPECT_EQ(reach.spans, 3);
    EXPECT_EQ(reach.ragged, D > 128 ? 2 : 1) << "blocks";
  }
  for (const int D : {64, 128, 256}) expect({2, 8, D, 16, KvType::f16}, {{250, 261}}, 11);
}

TEST_P(AttendWide, BlocksOfKvOfEverySize) {
  for (const int S : {1, 5, 16, 256, 1000}) {
    EXPECT_EQ(expect({2, 2, 32, S, KvType::bf16}, {{560, 600}, {3, 7}}, 40).spans, 3);
  }
}

/// That begin within a tile, with one, in a later span, and with a row's own key. Warps leave out
/// the tiles before the first window of their rows, and those after their last row.
TEST_P(AttendWide, SlidingWindows) {
  for (const int window : {1, 2, 31, 64, 65, 200, 256, 300, 5000}) {
    const Reach reach =
        expect({1, 2, 16, 16, KvType::f16}, {{505, 640}, {0, 12}}, 128, {.window = window});
    if (window == 5000) continue;
    EXPECT_GT(reach.inside, 0);
    EXPECT_GT(reach.left_out, 0);
    EXPECT_EQ(reach.whole > 0, window > 64 + 7) << "eight rows of a warp, and a tile";
  }
}

TEST_P(AttendWide, CapsOfScores) {
  for (const float cap : {0.5F, 50.0F}) {
    expect({1, 3, 32, 16, KvType::bf16}, {{508, 541}, {0, 9}}, 64,
           {.window = 200, .score_cap = cap});
  }
}

/// After one span, after several, and after those that a window leaves.
TEST_P(AttendWide, SinksOfHeads) {
  for (const int window : {0, 1, 128, 300}) {
    expect({2, 5, 16, 16, KvType::bf16}, {{508, 541}, {0, 9}}, 64,
           {.window = window, .sinks = true});
    expect({1, 2, 192, 16, KvType::bf16}, {{508, 521}}, 64, {.window = window, .sinks = true});
  }
}

TEST_P(AttendWide, ResultsOfEitherType) {
  for (const KvType type : kHalves) {
    for (const HalfType out : {HalfType::bf16, HalfType::f16}) {
      expect({1, 2, 32, 16, type}, {{240, 270}}, 30, {.out = out});
    }
  }
}

TEST_P(AttendWide, RandomShapes) {
  for (std::uint64_t seed = 0; seed < 8; ++seed) {
    SCOPED_TRACE(seed);
    Random random(500 + seed);
    const KvShape shape{random.between(1, 2), random.between(1, 9), 16 * random.between(1, 16),
                        random.between(1, 40), random.one_of({KvType::bf16, KvType::f16})};
    const SpanKind kind{.window = random.between(0, 1) == 0 ? 0 : random.between(1, 300),
                        .score_cap = random.one_of({0.0F, 0.3F, 5.0F}),
                        .sinks = random.between(0, 1) == 1,
                        .out = random.one_of({HalfType::bf16, HalfType::f16})};
    const int first = random.between(0, 300);
    expect(shape, {{first, first + random.between(1, 40)}, {0, 3}}, random.between(1, 128), kind);
  }
}

}  // namespace
}  // namespace forge::gpu
