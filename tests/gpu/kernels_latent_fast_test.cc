// Multi-head latent attention in fast numerics: each kernel has the bits of its definition, over
// pools that the CPU lays out (model/kv_pool.h).
#include <algorithm>

#include "forge/numerics/span_attention.h"
#include "forge/numerics/tensor_product.h"
#include "gpu/latent_world.h"
#include "gpu/span_pass.h"
#include "gpu/step_of.h"

namespace forge::gpu {
namespace {

using numerics::HalfType;
using numerics::KvType;

constexpr KvType kHalves[] = {KvType::bf16, KvType::f16};

std::uint16_t half_bits(HalfType type, float x) {
  return type == HalfType::f16 ? numerics::half_of<numerics::F16>(x).bits
                               : numerics::half_of<numerics::BF16>(x).bits;
}

std::vector<std::uint16_t> halves_of(HalfType type, const std::vector<float>& numbers) {
  std::vector<std::uint16_t> halves;
  for (const float x : numbers) halves.push_back(half_bits(type, x));
  return halves;
}

// ---- prepare_latents ----------------------------------------------------------------------------

class PrepareLatents : public KernelTest {
 protected:
  void expect(const LatentShape& shape, int nope_size, Turn turn, HalfType plain_type) const {
    SCOPED_TRACE(testing::Message()
                 << shape << " N " << nope_size << " turn " << static_cast<int>(turn));
    const std::vector<int> lengths{9, 1, 30};
    Random random(static_cast<std::uint64_t>(shape.latent_size + nope_size));
    LatentWorld world(shape, lengths, random);
    const LatentRows rows(shape, nope_size, turn, lengths, random);
    const int launched = rows.count() + 1;
    const int H = shape.heads;
    const std::vector<std::byte> pool_before = world.bytes();
    rows.store(world);
    std::vector<std::uint16_t> plain(numbers_in(launched, H, nope_size), 0x7777);
    std::vector<std::uint16_t> absorbed(numbers_in(launched, H, shape.row_size()), 0x7777);
    const std::vector<std::uint16_t> plain_before = plain;
    const std::vector<std::uint16_t> absorbed_before = absorbed;
    for (int i = 0; i < rows.count() * H; ++i) {
      const float* const query = &rows.queries[numbers_in(i, nope_size + shape.rope_size)];
      std::ranges::copy(halves_of(plain_type, {query, query + nope_size}),
                        plain.begin() + i * nope_size);
      std::ranges::copy(halves_of(numerics::half_type(shape.type), rows.turned_query(i / H, i % H)),
                        absorbed.begin() + i * shape.row_size() + shape.latent_size);
    }

    const auto rig = this->rig(random.word());
    const PassCounts counts{.rows = static_cast<std::uint32_t>(rows.count())};
    const PrepareLatentsArgs args{
        .counts = rig->input("counts", std::vector{counts}),
        .rows = rig->input("rows", rows.rows),
        .rotary = turn == Turn::not_at_all ? nullptr : rig->input("rotary", rows.rotary),
        .norm = rig->input("norm", rows.norm),
        .products = rig->input("products", rows.products),
        .queries = rig->input("queries", rows.queries),
        .plain = rig->output("plain", plain_before, plain),
        .plain_type = plain_type,
        .absorbed = rig->output("absorbed", absorbed_before, absorbed),
        .latents = world.layer(*rig, rig->output("pool", pool_before, world.bytes())),
        .heads = H,
        .nope_size = nope_size,
        .eps = LatentRows::kEps,
        .adjacent = turn == Turn::adjacent};
    rig->expect(launch_of(args, args.shape(launched)));
  }
};
FORGE_KERNEL_TEST_TARGETS(PrepareLatents);

TEST_P(PrepareLatents, SizesOfEveryTailInBothPairingsAndUnturned) {
  for (const Turn turn : {Turn::not_at_all, Turn::halves, Turn::adjacent}) {
    for (const KvType type : kHalves) {
      expect({1, 8, 8, 16, type}, 8, turn, HalfType::bf16);
      expect({3, 40, 8, 5, type}, 24, turn, HalfType::f16);
    }
    expect({4, 512, 64, 16, KvType::bf16}, 128, turn, HalfType::bf16);
  }
}

// ---- project_heads_wide -------------------------------------------------------------------------

class ProjectHeadsWide : public KernelTest {
 protected:
  struct Case {
    int rows;
    int heads;
    int inputs;
    int outputs;
    int gap = 0;        ///< numbers after the outputs of a head, which stay as they are
    int rows_more = 9;  ///< that the launch covers
    HalfType y_type = HalfType::bf16;
  };

  template <class Half>
  void expect(const Case& c) const {
    SCOPED_TRACE(testing::Message() << "rows " << c.rows << " H " << c.heads << " K " << c.inputs
                                    << " N " << c.outputs << " gap " << c.gap);
    constexpr bool kIsF16 = std::is_same_v<Half, numerics::F16>;
    constexpr HalfType kType = kIsF16 ? HalfType::f16 : HalfType::bf16;
    Random random(numbers_in(c.rows + 1, c.heads, c.inputs + 10 * c.outputs));
    const int padded = ceil_div(c.outputs, linear::kPanelOutputs) * linear::kPanelOutputs;
    const auto halves = [&](std::size_t count, float most) {
      std::vector<Half> numbers;
      for (const float x : random.reals(count, most)) {
        numbers.push_back(numerics::half_of<Half>(x));
      }
      return numbers;
    };
    const std::vector<Half> x = halves(numbers_in(c.rows, c.heads, c.inputs), 1.0f);
    const std::vector<Half> weights = halves(numbers_in(c.heads, padded, c.inputs), 1.0f);
    const int stride = c.outputs + c.gap;
    std::vector<std::uint16_t> y(numbers_in(c.rows + 1, c.heads, stride), 0x7777);
    const std::vector<std::uint16_t> before = y;
    const auto K = static_cast<std::size_t>(c.inputs);
    for (int i = 0; i < c.rows * c.heads; ++i) {
      const std::span row(&x[numbers_in(i, c.inputs)], K);
      for (int n = 0; n < c.outputs; ++n) {
        const std::span of_output(&weights[numbers_in(i % c.heads * padded + n, c.inputs)], K);
        y[numbers_in(i, stride) + static_cast<std::size_t>(n)] = half_bits(
            c.y_type, numerics::tensor_product<Half>(step_of(GetParam()), of_output, row));
      }
    }
    const auto rig = this->rig(random.word());
    const std::vector<std::uint32_t> row_count{static_cast<std::uint32_t>(c.rows)};
    ProjectHeadsWideArgs args{.row_count = rig->input("row_count", row_count),
                              .rows_max = c.rows + c.rows_more,
                              .x = rig->input("x", x),
                              .weights = rig->input("weights", weights),
                              .matrix_bytes = numbers_in(padded, c.inputs) * 2,
                              .heads = c.heads,
                              .inputs = c.inputs,
                              .outputs = c.outputs,
                              .type = kType,
                              .y = rig->output("y", before, y),
                              .y_stride = stride,
                              .y_type = c.y_type};
    for (const WideKind kind : {WideKind::large, WideKind::small, WideKind::slim}) {
      args.kind = kind;
      rig->expect(launch_of(args, args.shape()));
    }
  }
};
FORGE_KERNEL_TEST_TARGETS(ProjectHeadsWide);

TEST_P(ProjectHeadsWide, RowsAndHeadsOfAnyNumber) {
  for (const int rows : {1, 7, 8, 9, 16, 17, 64, 65, 130}) {
    for (const int heads : {1, 3}) expect<numerics::BF16>({rows, heads, 40, 40, 3});
  }
}

TEST_P(ProjectHeadsWide, InputsAndOutputsOfEveryTail) {
  for (const int inputs : {8, 16, 24, 504, 648}) {
    expect<numerics::F16>({.rows = 5, .heads = 2, .inputs = inputs, .outputs = 33});
  }
  for (const int outputs : {1, 2, 8, 31, 64, 65, 129}) {
    expect<numerics::BF16>({.rows = 5, .heads = 2, .inputs = 24, .outputs = outputs, .gap = 1});
  }
}

TEST_P(ProjectHeadsWide, ResultsOfEitherType) {
  for (const HalfType type : {HalfType::bf16, HalfType::f16}) {
    const Case c{.rows = 3, .heads = 2, .inputs = 128, .outputs = 48, .y_type = type};
    expect<numerics::BF16>(c);
    expect<numerics::F16>(c);
  }
}

TEST_P(ProjectHeadsWide, NoRows) {
  expect<numerics::BF16>({.rows = 0, .heads = 2, .inputs = 64, .outputs = 32});
}

// ---- attend_latent_spans ------------------------------------------------------------------------

class AttendLatentSpans : public KernelTest {
 protected:
  const numerics::StepModel& step() const { return step_of(GetParam()); }

  /// A row that decodes, and rows [first, end) of each sequence in tiles of up to `tile_rows`:
  /// merged in the kernel, and each span by a block of its own.
  void expect(const LatentShape& shape, const std::vector<std::pair<int, int>>& slices,
              int tile_rows, HalfType out_type = HalfType::bf16) const {
    SCOPED_TRACE(testing::Message() << shape << " slices " << testing::PrintToString(slices)
                                    << " tiles of " << tile_rows);
    Random random(slices.size() + static_cast<std::size_t>(slices[0].second));
    const TiledRows tiled(slices, tile_rows);
    LatentWorld world(shape, tiled.lengths, random);
    world.fill(random);
    const auto count = static_cast<int>(tiled.rows.size());
    const std::vector<float> q =
        random.reals(numbers_in(count, shape.heads, shape.row_size()), 1.0f);
    const int tiles_max = static_cast<int>(tiled.tiles.size()) + 2;
    const int spans_max = ceil_div(*std::ranges::max_element(tiled.lengths), numerics::kSpan) + 1;

    const std::vector<std::uint16_t> out = expected(world, tiled, q, out_type);
    const auto input = [&](KernelRig& rig) -> SpanInput {
      const LatentLayer layer = world.layer(rig, rig.input("pool", world.bytes()));
      return {.counts = rig.input("counts", std::vector{tiled.counts()}),
              .rows = rig.input("rows", tiled.rows),
              .q = rig.input("q", halves_of(numerics::half_type(shape.type), q)),
              .out = rig.output("out", std::vector<std::uint16_t>(out.size(), 0x7777), out),
              .out_type = out_type,
              .latent_size = shape.latent_size,
              .kv = keys_of(layer, shape.heads),
              .scale = kScale};
    };

    const auto together = rig(random.word());
    AttendLatentSpansArgs merged{.in = input(*together)};
    const KernelLaunch decodes = launch_of(merged, merged.shape(2));
    merged.tiles = {together->input("tiles", tiled.tiles_and_one()), tile_rows};
    together->expect({decodes, launch_of(merged, merged.shape(tiles_max))});

    const auto split = rig(random.word());
    const std::vector<float> after = partial_of(world, tiled, q, spans_max);
    const std::vector<float> before(after.size(), SpanPass::kUnwritten);
    AttendLatentSpansArgs spans{.in = input(*split),
                                .partial = split->output("partial", before, after),
                                .spans_max = spans_max};
    const MergeSpansArgs merge{.in = spans.in,
                               .row_count = &spans.in.counts->rows,
                               .partial = spans.partial,
                               .spans_max = spans_max};
    const KernelLaunch first = launch_of(spans, spans.shape(1));
    spans.tiles = {split->input("tiles", tiled.tiles_and_one()), tile_rows};
    split->expect({first, launch_of(spans, spans.shape(tiles_max)),
                   launch_of(merge, merge.shape(count + 1))});
  }

 private:
  static constexpr float kScale = 0.3f;

  std::vector<std::uint16_t> expected(const LatentWorld& world, const TiledRows& tiled,
                                      const std::vector<float>& q, HalfType out_type) const {
    const LatentShape& shape = world.shape();
    std::vector<std::uint16_t> out;
    std::vector<float> of_row(numbers_in(shape.heads, shape.latent_size));
    for (std::size_t row = 0; row < tiled.rows.size(); ++row) {
      const RowInput& input = tiled.rows[row];
      const float* const heads = &q[row * numbers_in(shape.heads, shape.row_size())];
      numerics::span_attention_reference(step(), {heads, shape.heads, kScale},
                                         world.view(input.table, input.position + 1),
                                         of_row.data());
      for (const float x : of_row) out.push_back(half_bits(out_type, x));
    }
    return out;
  }

  std::vector<float> partial_of(const LatentWorld& world, const TiledRows& tiled,
                                const std::vector<float>& q, int spans_max) const {
    const LatentShape& shape = world.shape();
    const int floats = shape.latent_size + 2;
    std::vector<float> partial(
        numbers_in(static_cast<int>(tiled.rows.size()) * shape.heads, spans_max, floats),
        SpanPass::kUnwritten);
    for (int i = 0; i < static_cast<int>(tiled.rows.size()) * shape.heads; ++i) {
      const RowInput& input = tiled.rows[static_cast<std::size_t>(i / shape.heads)];
      const int length = static_cast<int>(input.position) + 1;
      const numerics::PagedLatent latent =
          world.view(input.table, static_cast<std::uint32_t>(length));
      for (int span = 0; span * numerics::kSpan < length; ++span) {
        const numerics::AttentionSpan found = numerics::span_reference(
            step(), {&q[numbers_in(i, shape.row_size())], 1, kScale}, latent, span);
        const auto to =
            partial.begin() + static_cast<std::ptrdiff_t>(numbers_in(i * spans_max + span, floats));
        const auto end = std::ranges::copy(found.a, to).out;
        end[0] = found.m;
        end[1] = found.l;
      }
    }
    return partial;
  }
};
FORGE_KERNEL_TEST_TARGETS(AttendLatentSpans);

/// Three spans and a ragged last tile.
TEST_P(AttendLatentSpans, ContextsAroundTheEdgesOfTilesAndSpans) {
  for (const int length : {1, 2, 16, 63, 64, 65, 256, 257, 513, 600}) {
    expect({2, 24, 8, 16, KvType::bf16}, {{length - 1, length}}, 1);
  }
}

/// Blocks of 16 pairs and of 32, full and not, and several of a row.
TEST_P(AttendLatentSpans, HeadsOfEveryNumber) {
  for (const int heads : {1, 5, 16, 17, 32, 33, 70}) {
    expect({heads, 24, 8, 16, KvType::f16}, {{257, 258}}, 1);
  }
}

TEST_P(AttendLatentSpans, TilesOfEveryLength) {
  for (const int rows : {2, 7, 8, 9, 30}) {
    expect({4, 40, 8, 5, KvType::bf16}, {{250, 250 + rows}, {3, 5}}, rows);
  }
  expect({16, 24, 8, 16, KvType::bf16}, {{508, 521}}, 128);
}

/// Columns of a warp: some of them, all, and none.
TEST_P(AttendLatentSpans, SizesOfEveryTail) {
  for (const int latent_size : {8, 16, 24, 72, 120, 136, 264}) {
    expect({3, latent_size, latent_size % 16 == 0 ? 16 : 8, 16, KvType::bf16}, {{270, 273}}, 3);
  }
}

TEST_P(AttendLatentSpans, BlocksOfEverySize) {
  for (const int S : {1, 5, 64, 256, 1000}) {
    expect({2, 24, 8, S, KvType::f16}, {{280, 285}, {3, 4}}, 4);
  }
}

TEST_P(AttendLatentSpans, ResultsOfEitherType) {
  for (const KvType type : kHalves) {
    for (const HalfType out : {HalfType::bf16, HalfType::f16}) {
      expect({3, 24, 8, 16, type}, {{260, 262}}, 2, out);
    }
  }
}

TEST_P(AttendLatentSpans, LatentsOfThePublishedModels) {
  expect({16, 512, 64, 64, KvType::bf16}, {{266, 269}}, 3);
}

TEST_P(AttendLatentSpans, RandomShapes) {
  for (std::uint64_t seed = 0; seed < 6; ++seed) {
    SCOPED_TRACE(seed);
    Random random(700 + seed);
    const int latent_size = 8 * random.between(1, 12);
    const LatentShape shape{random.between(1, 40), latent_size,
                            (latent_size % 16 == 0 ? 16 : 8) + 16 * random.between(0, 2),
                            random.between(1, 40), random.one_of({KvType::bf16, KvType::f16})};
    const int first = random.between(0, 300);
    expect(shape, {{first, first + random.between(1, 6)}}, random.between(1, 8),
           random.one_of({HalfType::bf16, HalfType::f16}));
  }
}

}  // namespace
}  // namespace forge::gpu
