// The three paths of attention, each with the bits of attend_reference (numerics/attention.h).
#include <algorithm>
#include <numeric>

#include "forge/numerics/attention.h"
#include "gpu/kv_world.h"

namespace forge::gpu {
namespace {

constexpr float kUnwritten = -777.0f;

/// What models differ in.
struct Kind {
  int window = 0;       ///< positions that a row sees; 0: all
  float score_cap = 0;  ///< 0: none
  bool sinks = false;
};
std::ostream& operator<<(std::ostream& out, const Kind& kind) {
  return out << "window " << kind.window << " cap " << kind.score_cap << " sinks " << kind.sinks;
}

/// A pass over the sequences of a world: rows, what they ask for, and what they must get.
struct Pass {
  Pass(const KvWorld& world_in, const Kind& kind_in, std::vector<RowInput> rows_in, Random& random)
      : world(world_in), kind(kind_in), rows(std::move(rows_in)) {
    const KvShape& shape = world.shape();
    qkv = random.reals(rows.size() * static_cast<std::size_t>(shape.width()), 2.0f);
    scale = numerics::rsqrt(static_cast<float>(shape.head_size));
    sinks = random.reals(static_cast<std::size_t>(shape.heads()), 3.0f);
    expected.resize(rows.size() * out_width());
    const int group_width = shape.group_size * shape.head_size;
    for (std::size_t row = 0; row < rows.size(); ++row) {
      const float* q = &qkv[row * static_cast<std::size_t>(shape.width())];
      float* out = &expected[row * out_width()];
      for (int head = 0; head < shape.kv_heads; ++head) {
        const int length = static_cast<int>(rows[row].position) + 1;
        numerics::PagedKV kv = world.view(rows[row].table, head, length);
        if (kind.window > 0) kv.first = std::max(0, length - kind.window);
        const float* of_group = sinks.data() + head * shape.group_size;
        numerics::attend_reference({.q = q + head * group_width,
                                    .heads = shape.group_size,
                                    .scale = scale,
                                    .score_cap = kind.score_cap,
                                    .sinks = kind.sinks ? of_group : nullptr},
                                   kv, out + head * group_width);
      }
    }
  }

  std::size_t out_width() const {
    return static_cast<std::size_t>(world.shape().heads() * world.shape().head_size);
  }

  /// The kernels' input, in which `written` says which rows are to be written.
  AttentionInput input(KernelRig& rig, const PassCounts& counts,
                       const std::vector<bool>& written) const {
    std::vector<float> after(expected.size(), kUnwritten);
    for (std::size_t i = 0; i < after.size(); ++i) {
      if (written[i / out_width()]) after[i] = expected[i];
    }
    std::byte* pool = rig.input("kv_pool", world.bytes());
    const std::uint32_t* tables = rig.input("tables", world.tables());
    return {.counts = rig.input("counts", std::vector{counts}),
            .rows = rig.input("rows", rows),
            .qkv = rig.input("qkv", qkv),
            .out = rig.output("out", std::vector<float>(after.size(), kUnwritten), after),
            .kv = world.layer(pool, tables),
            .scale = scale,
            .window = kind.window,
            .score_cap = kind.score_cap,
            .sinks = kind.sinks ? rig.input("sinks", sinks) : nullptr};
  }

  const KvWorld& world;
  Kind kind;
  std::vector<RowInput> rows;
  std::vector<float> qkv;
  float scale;
  std::vector<float> sinks;  ///< of each query head
  std::vector<float> expected;
};

class Attention : public KernelTest {
 protected:
  /// Each sequence decodes its last position. The launch is for more rows than there are.
  static Pass decodes(const KvWorld& world, const Kind& kind, const std::vector<int>& lengths,
                      Random& random) {
    std::vector<RowInput> rows;
    for (std::uint32_t i = 0; i < lengths.size(); ++i) {
      rows.push_back({.position = static_cast<std::uint32_t>(lengths[i] - 1), .table = i});
    }
    std::reverse(rows.begin(), rows.end());
    rows.push_back({.position = 0, .table = 0});  // beyond the count
    return {world, kind, rows, random};
  }

  void expect_decode(const KvShape& shape, const std::vector<int>& lengths,
                     const Kind& kind = {}) const {
    SCOPED_TRACE(testing::Message()
                 << shape << " lengths " << testing::PrintToString(lengths) << " " << kind);
    Random random(lengths.size() + static_cast<std::size_t>(lengths[0]));
    KvWorld world(shape, lengths, random);
    world.fill(random);
    const Pass pass = decodes(world, kind, lengths, random);
    const auto count = static_cast<std::uint32_t>(lengths.size());
    const PassCounts counts{.rows = count, .decode_rows = count};
    std::vector<bool> written(count, true);
    written.push_back(false);
    const int rows_max = static_cast<int>(count) + 2;

    const auto together = rig(count);
    const AttendDecodeArgs decode{pass.input(*together, counts, written)};
    together->expect(launch_of(decode, decode.shape(rows_max)));

    const auto split = rig(count);
    const int segments_max =
        ceil_div(*std::max_element(lengths.begin(), lengths.end()), numerics::kKeySegment) + 1;
    const std::size_t partial_size = static_cast<std::size_t>(rows_max * shape.heads()) *
                                     static_cast<std::size_t>(segments_max * (shape.head_size + 2));
    float* partial = split->input("partial", std::vector<float>(partial_size, kUnwritten));
    const AttentionInput input = pass.input(*split, counts, written);
    const AttendSplitArgs segments{input, partial, segments_max};
    const AttendMergeArgs merge{input, partial, segments_max};
    split->expect(
        {launch_of(segments, segments.shape(rows_max)), launch_of(merge, merge.shape(rows_max))});
  }

  /// Runs rows [first, length) of each sequence, in tiles of up to `tile_rows`.
  void expect_prompt(const KvShape& shape, const std::vector<std::pair<int, int>>& slices,
                     int tile_rows, const Kind& kind = {}) const {
    SCOPED_TRACE(testing::Message() << shape << " slices " << testing::PrintToString(slices)
                                    << " tiles of " << tile_rows << " " << kind);
    Random random(slices.size() + static_cast<std::size_t>(slices[0].second));
    std::vector<int> lengths;
    for (const auto& [first, length] : slices) lengths.push_back(length);
    KvWorld world(shape, lengths, random);
    world.fill(random);

    std::vector<RowInput> rows{{.position = 0, .table = 0}};  // a decode, which is not in a tile
    std::vector<PromptTile> tiles;
    for (std::uint32_t i = 0; i < slices.size(); ++i) {
      const auto& [first, length] = slices[i];
      for (int position = first; position < length; ++position) {
        if ((position - first) % tile_rows == 0) {
          tiles.push_back({.first = static_cast<std::uint32_t>(rows.size()), .count = 0});
        }
        ++tiles.back().count;
        rows.push_back({.position = static_cast<std::uint32_t>(position), .table = i});
      }
    }
    const Pass pass(world, kind, rows, random);
    std::vector<bool> written(rows.size(), true);
    written[0] = false;
    const PassCounts counts{.rows = static_cast<std::uint32_t>(rows.size()),
                            .decode_rows = 1,
                            .prompt_tiles = static_cast<std::uint32_t>(tiles.size())};
    tiles.push_back({.first = 4'000'000'000u, .count = 8});  // beyond the count
    const auto rig = this->rig(tiles.size());
    const AttendPromptArgs args{pass.input(*rig, counts, written), rig->input("tiles", tiles)};
    rig->expect(launch_of(args, args.shape(static_cast<int>(tiles.size()) + 1)));
  }
};
FORGE_KERNEL_TEST_TARGETS(Attention);

TEST_P(Attention, DecodesContextsAroundTheEdgesOfSegments) {
  expect_decode({1, 2, 16, 16}, {1, 2, 31, 32, 33, 255, 256, 257, 511, 513, 769});
}

TEST_P(Attention, DecodesHeadsOfEverySize) {
  for (const int D : {1, 2, 6, 8, 14, 32, 33, 64, 80, 127, 128, 130, 256}) {
    expect_decode({1, 3, D, 16}, {300, 9});
  }
}

TEST_P(Attention, DecodesGroupsOfEverySize) {
  for (const int G : {1, 2, 3, 4, 5, 7, 8, 9}) expect_decode({2, G, 8, 4}, {40});
}

TEST_P(Attention, DecodesOverBlocksOfEverySize) {
  for (const int S : {1, 2, 5, 31, 256, 257, 1000}) expect_decode({1, 2, 4, S}, {600, 3});
  expect_decode({1, 1, 2, 65536}, {300});
}

TEST_P(Attention, PromptsOfEveryTile) {
  for (const int rows : {1, 2, 3, 4, 5, 8}) expect_prompt({1, 2, 16, 16}, {{0, 21}, {5, 9}}, rows);
}

TEST_P(Attention, PromptTilesAcrossTheEdgeOfASegment) {
  expect_prompt({1, 1, 16, 16}, {{250, 262}}, 8);  // some rows see the second segment, some do not
  expect_prompt({1, 1, 16, 5}, {{253, 258}, {508, 516}, {255, 257}}, 8);
  expect_prompt({2, 2, 8, 16}, {{765, 773}}, 4);
}

TEST_P(Attention, PromptsWithHeadsOfEverySize) {
  for (const int D : {1, 2, 10, 32, 33, 64, 80, 128, 255, 256}) {
    expect_prompt({1, 2, D, 16}, {{260, 267}, {3, 5}}, 8);
  }
}

TEST_P(Attention, DecodesInASlidingWindow) {
  for (const int window : {1, 2, 31, 255, 256, 257, 300, 600, 5000}) {
    expect_decode({1, 2, 16, 16}, {1, 31, 255, 256, 257, 511, 512, 513, 769}, {.window = window});
  }
  for (const int D : {34, 64, 128, 256})
    expect_decode({2, 5, D, 7}, {300, 9, 700}, {.window = 259});
}

TEST_P(Attention, PromptsInASlidingWindow) {
  for (const int window : {1, 2, 5, 8, 9, 255, 256, 257, 300}) {
    expect_prompt({1, 2, 16, 16}, {{0, 21}, {250, 262}, {508, 521}}, 8, {.window = window});
    expect_prompt({1, 1, 8, 5}, {{253, 258}, {765, 773}}, 5, {.window = window});
  }
  for (const int D : {10, 64, 128, 256})
    expect_prompt({1, 2, D, 16}, {{511, 520}}, 8, {.window = 254});
}

TEST_P(Attention, CapsOfScores) {
  for (const float cap : {0.5f, 50.0f}) {
    for (const int window : {0, 200}) {
      const Kind kind{.window = window, .score_cap = cap};
      expect_decode({1, 3, 34, 16}, {1, 31, 255, 256, 257, 513, 700}, kind);
      expect_prompt({1, 2, 16, 5}, {{0, 9}, {250, 262}, {508, 521}}, 8, kind);
    }
  }
}

/// After one segment, after several, and after those that a window leaves.
TEST_P(Attention, SinksOfHeads) {
  for (const int window : {0, 1, 128, 256, 300}) {
    for (const float cap : {0.0f, 2.0f}) {
      const Kind kind{.window = window, .score_cap = cap, .sinks = true};
      expect_decode({2, 5, 16, 16}, {1, 31, 256, 257, 513, 769}, kind);
      expect_prompt({2, 2, 16, 16}, {{0, 21}, {250, 262}, {508, 521}}, 8, kind);
    }
  }
}

TEST_P(Attention, SinksOfHeadsOfEverySize) {
  for (const int D : {1, 6, 33, 64, 80, 128, 130, 256}) {
    expect_decode({1, 5, D, 16}, {300, 9}, {.sinks = true});
    expect_prompt({1, 2, D, 16}, {{260, 267}, {3, 5}}, 8, {.sinks = true});
  }
}

/// Sizes of heads whose rows are aligned, so that eight components are read at once, and others.
TEST_P(Attention, OverKvOf16Bits) {
  for (const numerics::KvType type : {numerics::KvType::bf16, numerics::KvType::f16}) {
    for (const int D : {1, 6, 8, 33, 64, 80, 256}) {
      expect_decode({1, 3, D, 16, type}, {300, 9});
      expect_prompt({1, 2, D, 16, type}, {{260, 267}, {3, 5}}, 8);
    }
    for (const int S : {1, 5, 257, 1000}) expect_decode({2, 2, 8, S, type}, {600, 3});
    const Kind kind{.window = 200, .score_cap = 2.0f, .sinks = true};
    expect_decode({2, 5, 16, 16, type}, {1, 31, 256, 257, 513, 769}, kind);
    expect_prompt({2, 2, 12, 5, type}, {{0, 21}, {250, 262}, {508, 521}}, 8, kind);
  }
}

TEST_P(Attention, RandomShapes) {
  for (std::uint64_t seed = 0; seed < 8; ++seed) {
    SCOPED_TRACE(seed);
    Random random(200 + seed);
    const KvShape shape{
        random.between(1, 3), random.between(1, 6), 2 * random.between(1, 50),
        random.between(1, 40),
        random.one_of({numerics::KvType::f32, numerics::KvType::bf16, numerics::KvType::f16})};
    std::vector<int> lengths(static_cast<std::size_t>(random.between(1, 4)));
    for (int& length : lengths) length = random.between(1, 400);
    const Kind kind{.window = random.between(0, 1) == 0 ? 0 : random.between(1, 300),
                    .score_cap = random.one_of({0.0f, 0.3f, 5.0f}),
                    .sinks = random.between(0, 1) == 1};
    expect_decode(shape, lengths, kind);
    const int first = random.between(0, 300);
    expect_prompt(shape, {{first, first + random.between(1, 12)}}, random.between(1, 8), kind);
  }
}

}  // namespace
}  // namespace forge::gpu
