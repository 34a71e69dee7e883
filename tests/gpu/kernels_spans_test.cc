// Attention of fast numerics, each path with the bits of span_attention_reference
// (numerics/span_attention.h): rows alone and rows in tiles, all spans merged in the kernel or by
// merge_spans. So a row also has the same bits in all of them.
#include <algorithm>

#include "forge/numerics/span_attention.h"
#include "gpu/span_pass.h"
#include "gpu/step_of.h"

namespace forge::gpu {
namespace {

using numerics::HalfType;
using numerics::KvType;

class SpanAttention : public KernelTest {
 protected:
  const numerics::StepModel& step() const { return step_of(GetParam()); }

  /// Each sequence decodes its last position. The launch is for more rows than there are.
  void expect_decode(const KvShape& shape, const std::vector<int>& lengths,
                     const SpanKind& kind = {}) const {
    SCOPED_TRACE(testing::Message()
                 << shape << " lengths " << testing::PrintToString(lengths) << " " << kind);
    Random random(lengths.size() + static_cast<std::size_t>(lengths[0]));
    KvWorld world(shape, lengths, random);
    world.fill(random);
    std::vector<RowInput> rows;
    for (std::uint32_t i = 0; i < lengths.size(); ++i) {
      rows.push_back({.position = static_cast<std::uint32_t>(lengths[i] - 1), .table = i});
    }
    std::reverse(rows.begin(), rows.end());
    rows.push_back({.position = 0, .table = 0});  // beyond the count
    const SpanPass pass(world, kind, rows, random);
    const auto count = static_cast<std::uint32_t>(lengths.size());
    const PassCounts counts{.rows = count, .decode_rows = count};
    std::vector<bool> written(count, true);
    written.push_back(false);
    const int rows_max = static_cast<int>(count) + 2;

    const auto together = rig(count);
    const AttendSpansArgs merged{.in = pass.input(*together, step(), counts, written)};
    together->expect(launch_of(merged, merged.shape(rows_max)));

    const auto split = rig(count);
    const int spans_max = ceil_div(*std::ranges::max_element(lengths), numerics::kSpan) + 1;
    const std::vector<float> after =
        pass.partial(step(), static_cast<int>(count), rows_max, spans_max);
    float* partial =
        split->output("partial", std::vector<float>(after.size(), SpanPass::kUnwritten), after);
    const SpanInput input = pass.input(*split, step(), counts, written);
    const AttendSpansArgs spans{
        .in = input, .partial = partial, .spans_max = spans_max, .stages = kSpanStages};
    const MergeSpansArgs merge{.in = input,
                               .row_count = &input.counts->decode_rows,
                               .partial = partial,
                               .spans_max = spans_max};
    KernelLaunch last = launch_of(merge, merge.shape(rows_max));
    last.overlaps = true;
    split->expect({launch_of(spans, spans.shape(rows_max)), last});
  }

  /// Runs rows [first, length) of each sequence, in tiles of up to `tile_rows`: merged, and with
  /// the row that decodes in spans, each by a block of its own.
  void expect_prompt(const KvShape& shape, const std::vector<std::pair<int, int>>& slices,
                     int tile_rows, const SpanKind& kind = {}) const {
    SCOPED_TRACE(testing::Message() << shape << " slices " << testing::PrintToString(slices)
                                    << " tiles of " << tile_rows << " " << kind);
    Random random(slices.size() + static_cast<std::size_t>(slices[0].second));
    const TiledRows tiled(slices, tile_rows);
    KvWorld world(shape, tiled.lengths, random);
    world.fill(random);
    const SpanPass pass(world, kind, tiled.rows, random);
    const int tiles_max = static_cast<int>(tiled.tiles.size()) + 2;

    const auto together = rig(tiled.tiles.size());
    std::vector<bool> written(tiled.rows.size(), true);
    written[0] = false;
    const AttendSpansArgs merged{
        .in = pass.input(*together, step(), tiled.counts(), written),
        .tiles = {together->input("tiles", tiled.tiles_and_one()), tile_rows}};
    together->expect(launch_of(merged, merged.shape(tiles_max)));

    const auto split = rig(tiled.tiles.size());
    written[0] = true;
    const int rows = static_cast<int>(tiled.rows.size());
    const int spans_max = ceil_div(*std::ranges::max_element(tiled.lengths), numerics::kSpan) + 1;
    const std::vector<float> after = pass.partial(step(), rows, rows, spans_max);
    AttendSpansArgs spans{
        .in = pass.input(*split, step(), tiled.counts(), written),
        .partial =
            split->output("partial", std::vector<float>(after.size(), SpanPass::kUnwritten), after),
        .spans_max = spans_max,
        .stages = kSpanStages};
    const MergeSpansArgs merge{.in = spans.in,
                               .row_count = &spans.in.counts->rows,
                               .partial = spans.partial,
                               .spans_max = spans_max};
    const KernelLaunch decodes = launch_of(spans, spans.shape(1));
    spans.tiles = {split->input("tiles", tiled.tiles_and_one()), tile_rows};
    split->expect({decodes, launch_of(spans, spans.shape(tiles_max)),
                   launch_of(merge, merge.shape(rows + 1))});
  }
};
FORGE_KERNEL_TEST_TARGETS(SpanAttention);

constexpr KvType kHalves[] = {KvType::bf16, KvType::f16};

TEST_P(SpanAttention, DecodesContextsAroundTheEdgesOfTilesAndSpans) {
  expect_decode({1, 2, 16, 16, KvType::bf16},
                {1, 2, 15, 16, 17, 63, 64, 65, 255, 256, 257, 321, 513, 600, 769});
}

TEST_P(SpanAttention, DecodesHeadsOfEverySize) {
  for (const KvType type : kHalves) {
    for (const int D : {16, 48, 64, 80, 128}) expect_decode({1, 3, D, 16, type}, {530, 9});
  }
  expect_decode({2, 2, 256, 16, KvType::bf16}, {270});
}

TEST_P(SpanAttention, DecodesGroupsOfEverySize) {
  for (const int G : {1, 3, 4, 8, 16, 20}) expect_decode({2, G, 16, 5, KvType::f16}, {270, 3});
}

TEST_P(SpanAttention, DecodesOverBlocksOfEverySize) {
  for (const int S : {1, 5, 16, 256, 1000}) expect_decode({2, 2, 32, S, KvType::bf16}, {600, 3});
}

TEST_P(SpanAttention, PromptsOfEveryTile) {
  for (const int rows : {1, 2, 3, 5, 8, 21, 30}) {
    expect_prompt({1, 2, 16, 16, KvType::bf16}, {{0, 21}, {5, 9}}, rows);
  }
}

/// Some rows of a tile see the next tile of keys, or the next span, some do not.
TEST_P(SpanAttention, PromptTilesAcrossTheEdgesOfTilesAndSpans) {
  expect_prompt({1, 1, 16, 16, KvType::bf16}, {{60, 67}, {250, 262}}, 8);
  expect_prompt({1, 3, 32, 5, KvType::f16}, {{253, 258}, {508, 516}, {255, 257}}, 8);
  expect_prompt({2, 2, 16, 1, KvType::bf16}, {{765, 773}}, 4);
}

TEST_P(SpanAttention, PromptsWithGroupsAndHeadsOfEverySize) {
  for (const int G : {1, 3, 4, 8, 20}) {
    expect_prompt({1, G, 16, 16, KvType::bf16}, {{61, 69}, {0, 1}}, 8);
  }
  for (const int D : {16, 64, 80, 128, 256}) {
    expect_prompt({1, 2, D, 16, KvType::f16}, {{260, 267}, {3, 5}}, 8);
  }
}

/// That begin within a tile, with one, in a later span, and with a row's own key.
TEST_P(SpanAttention, DecodesInASlidingWindow) {
  for (const int window : {1, 31, 64, 200, 256, 300, 5000}) {
    expect_decode({1, 2, 16, 16, KvType::bf16}, {1, 64, 257, 512, 600, 769}, {.window = window});
  }
}

/// The rows of a tile see different first keys, and different first spans.
TEST_P(SpanAttention, PromptsInASlidingWindow) {
  for (const int window : {1, 2, 7, 63, 64, 200, 256, 300}) {
    const SpanKind kind{.window = window};
    expect_prompt({1, 3, 16, 16, KvType::f16}, {{0, 12}, {250, 262}, {508, 521}}, 8, kind);
  }
}

TEST_P(SpanAttention, CapsOfScores) {
  for (const float cap : {0.5f, 50.0f}) {
    const SpanKind kind{.window = 200, .score_cap = cap};
    expect_decode({1, 3, 32, 16, KvType::bf16}, {1, 31, 257, 600}, kind);
    expect_prompt({1, 2, 16, 5, KvType::f16}, {{0, 9}, {508, 521}}, 8, kind);
  }
}

/// After one span, after several, and after those that a window leaves.
TEST_P(SpanAttention, SinksOfHeads) {
  for (const int window : {0, 1, 128, 300}) {
    const SpanKind kind{.window = window, .sinks = true};
    expect_decode({2, 5, 16, 16, KvType::bf16}, {1, 257, 513}, kind);
    expect_prompt({2, 3, 16, 16, KvType::bf16}, {{0, 9}, {508, 517}}, 8, kind);
  }
}

TEST_P(SpanAttention, ResultsOfEitherType) {
  for (const KvType type : kHalves) {
    for (const HalfType out : {HalfType::bf16, HalfType::f16}) {
      expect_decode({1, 2, 32, 16, type}, {300, 9}, {.out = out});
      expect_prompt({1, 2, 32, 16, type}, {{60, 67}}, 8, {.out = out});
    }
  }
}

TEST_P(SpanAttention, RandomShapes) {
  for (std::uint64_t seed = 0; seed < 8; ++seed) {
    SCOPED_TRACE(seed);
    Random random(300 + seed);
    const KvShape shape{random.between(1, 2), random.between(1, 6), 16 * random.between(1, 6),
                        random.between(1, 40), random.one_of({KvType::bf16, KvType::f16})};
    std::vector<int> lengths(static_cast<std::size_t>(random.between(1, 3)));
    for (int& length : lengths) length = random.between(1, 400);
    const SpanKind kind{.window = random.between(0, 1) == 0 ? 0 : random.between(1, 300),
                        .score_cap = random.one_of({0.0f, 0.3f, 5.0f}),
                        .sinks = random.between(0, 1) == 1,
                        .out = random.one_of({HalfType::bf16, HalfType::f16})};
    expect_decode(shape, lengths, kind);
    const int first = random.between(0, 300);
    expect_prompt(shape, {{first, first + random.between(1, 12)}}, random.between(1, 8), kind);
  }
}

}  // namespace
}  // namespace forge::gpu
