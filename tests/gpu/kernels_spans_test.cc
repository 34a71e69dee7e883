// Attention of fast numerics, each path with the bits of span_attention_reference
// (numerics/span_attention.h): rows alone, all spans merged in the kernel or by merge_spans, and
// rows in tiles. So a row also has the same bits in all of them.
#include <algorithm>

#include "forge/numerics/span_attention.h"
#include "forge/numerics/tensor_product.h"
#include "gpu/kv_world.h"
#include "gpu/step_of.h"

namespace forge::gpu {
namespace {

using numerics::HalfType;
using numerics::KvType;

constexpr float kUnwritten = -777.0f;
constexpr std::uint16_t kUnwrittenHalf = 0x7777;

std::uint16_t half_bits(HalfType type, float x) {
  return type == HalfType::f16 ? numerics::half_of<numerics::F16>(x).bits
                               : numerics::half_of<numerics::BF16>(x).bits;
}

/// What models differ in.
struct Kind {
  int window = 0;       ///< positions that a row sees; 0: all
  float score_cap = 0;  ///< 0: none
  bool sinks = false;
  HalfType out = HalfType::bf16;
};
std::ostream& operator<<(std::ostream& out, const Kind& kind) {
  return out << "window " << kind.window << " cap " << kind.score_cap << " sinks " << kind.sinks
             << " out f16 " << (kind.out == HalfType::f16);
}

/// A pass over the sequences of a world: rows, what they ask for, and what they must get.
class SpanPass {
 public:
  SpanPass(const KvWorld& world, const Kind& kind, std::vector<RowInput> rows, Random& random)
      : world_(world), kind_(kind), rows_(std::move(rows)) {
    const KvShape& shape = world.shape();
    q_ = random.reals(rows_.size() * out_width(), 4.0f);
    scale_ = numerics::rsqrt(static_cast<float>(shape.head_size));
    sinks_ = random.reals(static_cast<std::size_t>(shape.heads()), 3.0f);
  }

  std::size_t out_width() const {
    return static_cast<std::size_t>(world_.shape().heads() * world_.shape().head_size);
  }

  /// The input of attend_spans and merge_spans, in which `written` says which rows are to be
  /// written.
  SpanInput input(KernelRig& rig, const numerics::StepModel& step, const PassCounts& counts,
                  const std::vector<bool>& written) const {
    std::vector<std::uint16_t> q;
    for (const float x : q_) q.push_back(half_bits(half_type(world_.shape().type), x));
    std::byte* pool = rig.input("kv_pool", world_.bytes());
    const std::uint32_t* tables = rig.input("tables", world_.tables());
    const std::vector<std::uint16_t> after = expected(step, written);
    const std::vector<std::uint16_t> before(after.size(), kUnwrittenHalf);
    return {.counts = rig.input("counts", std::vector{counts}),
            .rows = rig.input("rows", rows_),
            .q = rig.input("q", q),
            .out = rig.output("out", before, after),
            .out_type = kind_.out,
            .kv = world_.layer(pool, tables),
            .scale = scale_,
            .window = kind_.window,
            .score_cap = kind_.score_cap,
            .sinks = kind_.sinks ? rig.input("sinks", sinks_) : nullptr};
  }

  /// What attend_spans leaves of the spans of the first `count` rows, of room for `rows_max`.
  std::vector<float> partial(const numerics::StepModel& step, int count, int rows_max,
                             int spans_max) const {
    const KvShape& shape = world_.shape();
    const auto span_floats = static_cast<std::size_t>(shape.head_size + 2);
    std::vector<float> partial(
        static_cast<std::size_t>(rows_max * shape.heads() * spans_max) * span_floats, kUnwritten);
    for (int row = 0; row < count; ++row) {
      for (int head = 0; head < shape.heads(); ++head) {
        const numerics::PagedKV kv = view(row, head / shape.group_size);
        for (int span = kv.first / numerics::kSpan; span * numerics::kSpan < kv.length; ++span) {
          const numerics::AttentionSpan found =
              numerics::span_reference(step, group(row, head, 1), kv, span);
          const int index = (row * shape.heads() + head) * spans_max + span;
          const auto to = partial.begin() + index * static_cast<std::ptrdiff_t>(span_floats);
          const auto end = std::ranges::copy(found.a, to).out;
          end[0] = found.m;
          end[1] = found.l;
        }
      }
    }
    return partial;
  }

 private:
  numerics::PagedKV view(int row, int kv_head) const {
    const RowInput& input = rows_[static_cast<std::size_t>(row)];
    const int length = static_cast<int>(input.position) + 1;
    numerics::PagedKV kv = world_.view(input.table, kv_head, length);
    if (kind_.window > 0) kv.first = std::max(0, length - kind_.window);
    return kv;
  }
  numerics::QueryGroup group(int row, int head, int heads) const {
    const auto head_size = static_cast<std::size_t>(world_.shape().head_size);
    const std::size_t at = static_cast<std::size_t>(row) * out_width();
    return {.q = &q_[at + static_cast<std::size_t>(head) * head_size],
            .heads = heads,
            .scale = scale_,
            .score_cap = kind_.score_cap,
            .sinks = kind_.sinks ? &sinks_[static_cast<std::size_t>(head)] : nullptr};
  }
  std::vector<std::uint16_t> expected(const numerics::StepModel& step,
                                      const std::vector<bool>& written) const {
    const KvShape& shape = world_.shape();
    std::vector<std::uint16_t> out;
    std::vector<float> of_group(static_cast<std::size_t>(shape.group_size * shape.head_size));
    for (int row = 0; row < static_cast<int>(rows_.size()); ++row) {
      if (!written[static_cast<std::size_t>(row)]) {
        out.insert(out.end(), out_width(), kUnwrittenHalf);
        continue;
      }
      for (int head = 0; head < shape.kv_heads; ++head) {
        numerics::span_attention_reference(step,
                                           group(row, head * shape.group_size, shape.group_size),
                                           view(row, head), of_group.data());
        for (const float x : of_group) out.push_back(half_bits(kind_.out, x));
      }
    }
    return out;
  }

  const KvWorld& world_;
  Kind kind_;
  std::vector<RowInput> rows_;
  std::vector<float> q_;
  float scale_;
  std::vector<float> sinks_;  ///< of each query head
};

class SpanAttention : public KernelTest {
 protected:
  const numerics::StepModel& step() const { return step_of(GetParam()); }

  /// Each sequence decodes its last position. The launch is for more rows than there are.
  void expect_decode(const KvShape& shape, const std::vector<int>& lengths,
                     const Kind& kind = {}) const {
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
    float* partial = split->output("partial", std::vector<float>(after.size(), kUnwritten), after);
    const SpanInput input = pass.input(*split, step(), counts, written);
    const AttendSpansArgs spans{.in = input, .partial = partial, .spans_max = spans_max};
    const MergeSpansArgs merge{.in = input, .partial = partial, .spans_max = spans_max};
    KernelLaunch last = launch_of(merge, merge.shape(rows_max));
    last.overlaps = true;
    split->expect({launch_of(spans, spans.shape(rows_max)), last});
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
    const SpanPass pass(world, kind, rows, random);
    std::vector<bool> written(rows.size(), true);
    written[0] = false;
    const PassCounts counts{.rows = static_cast<std::uint32_t>(rows.size()),
                            .decode_rows = 1,
                            .prompt_tiles = static_cast<std::uint32_t>(tiles.size())};
    tiles.push_back({.first = 4'000'000'000u, .count = 8});  // beyond the count
    const auto rig = this->rig(tiles.size());
    const AttendSpansArgs args{.in = pass.input(*rig, step(), counts, written),
                               .tiles = rig->input("tiles", tiles)};
    rig->expect(launch_of(args, args.shape(static_cast<int>(tiles.size()) + 1)));
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
  for (const int rows : {1, 2, 3, 5, 8}) {
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
    const Kind kind{.window = window};
    expect_prompt({1, 3, 16, 16, KvType::f16}, {{0, 12}, {250, 262}, {508, 521}}, 8, kind);
  }
}

TEST_P(SpanAttention, CapsOfScores) {
  for (const float cap : {0.5f, 50.0f}) {
    const Kind kind{.window = 200, .score_cap = cap};
    expect_decode({1, 3, 32, 16, KvType::bf16}, {1, 31, 257, 600}, kind);
    expect_prompt({1, 2, 16, 5, KvType::f16}, {{0, 9}, {508, 521}}, 8, kind);
  }
}

/// After one span, after several, and after those that a window leaves.
TEST_P(SpanAttention, SinksOfHeads) {
  for (const int window : {0, 1, 128, 300}) {
    const Kind kind{.window = window, .sinks = true};
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
    const Kind kind{.window = random.between(0, 1) == 0 ? 0 : random.between(1, 300),
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
