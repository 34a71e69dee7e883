// Multi-head latent attention: each kernel has the bits of the CPU's functions, over pools that the
// CPU lays out (model/kv_pool.h).
#include <algorithm>

#include "forge/numerics/latent_attention.h"
#include "gpu/latent_world.h"

namespace forge::gpu {
namespace {

class StoreLatent : public KernelTest {
 protected:
  void expect(const LatentShape& shape, int nope_size, Turn turn) const {
    SCOPED_TRACE(testing::Message()
                 << shape << " N " << nope_size << " turn " << static_cast<int>(turn));
    const std::vector<int> lengths{9, 1, 30};
    Random random(static_cast<std::uint64_t>(shape.latent_size + nope_size));
    LatentWorld world(shape, lengths, random);
    const LatentRows rows(shape, nope_size, turn, lengths, random);
    const int launched = rows.count() + 1;
    const std::vector<float> absorbed =
        random.reals(numbers_in(launched, shape.heads, shape.row_size()));
    const std::vector<std::byte> pool_before = world.bytes();
    rows.store(world);
    std::vector<float> turned = absorbed;
    for (int row = 0; row < rows.count(); ++row) {
      for (int head = 0; head < shape.heads; ++head) {
        std::ranges::copy(
            rows.turned_query(row, head),
            &turned[numbers_in(row * shape.heads + head, shape.row_size())] + shape.latent_size);
      }
    }

    const auto rig = this->rig(random.word());
    const PassCounts counts{.rows = static_cast<std::uint32_t>(rows.count())};
    const StoreLatentArgs args{
        .counts = rig->input("counts", std::vector{counts}),
        .rows = rig->input("rows", rows.rows),
        .rotary = turn == Turn::not_at_all ? nullptr : rig->input("rotary", rows.rotary),
        .norm = rig->input("norm", rows.norm),
        .products = rig->input("products", rows.products),
        .queries = rig->input("queries", rows.queries),
        .absorbed = rig->output("absorbed", absorbed, turned),
        .latents = world.layer(*rig, rig->output("pool", pool_before, world.bytes())),
        .heads = shape.heads,
        .nope_size = nope_size,
        .eps = LatentRows::kEps,
        .adjacent = turn == Turn::adjacent};
    rig->expect(launch_of(args, args.shape(launched)));
  }
};
FORGE_KERNEL_TEST_TARGETS(StoreLatent);

TEST_P(StoreLatent, SizesOfEveryTailInBothPairingsAndUnturned) {
  for (const Turn turn : {Turn::not_at_all, Turn::halves, Turn::adjacent}) {
    expect({.heads = 1, .latent_size = 1, .rope_size = 2}, 1, turn);
    expect({.heads = 3, .latent_size = 33, .rope_size = 6, .block_size = 5}, 7, turn);
    expect({.heads = 2, .latent_size = 600, .rope_size = 66, .block_size = 1}, 4, turn);
    expect({.heads = 4, .latent_size = 512, .rope_size = 64}, 128, turn);
  }
}

TEST_P(StoreLatent, RoundsToTheTypeOfThePool) {
  for (const auto type : {numerics::KvType::bf16, numerics::KvType::f16}) {
    for (const Turn turn : {Turn::not_at_all, Turn::halves, Turn::adjacent}) {
      expect({3, 33, 6, 5, type}, 7, turn);
      expect({2, 512, 64, 16, type}, 128, turn);
    }
  }
}

class AttendLatent : public KernelTest {
 protected:
  /// A pass of the last position of each sequence, in both ways.
  void expect(const LatentShape& shape, const std::vector<int>& lengths) const {
    SCOPED_TRACE(testing::Message() << shape << " lengths " << testing::PrintToString(lengths));
    constexpr float kScale = 0.3f;
    constexpr float kUnwritten = -777.0f;
    Random random(lengths.size() + numbers_in(lengths[0], shape.heads, shape.row_size()));
    LatentWorld world(shape, lengths, random);
    world.fill(random);
    const std::vector<RowInput> rows = last_positions(lengths);
    const auto count = static_cast<int>(rows.size());
    const int C = shape.latent_size;
    const std::vector<float> queries =
        random.reals(numbers_in(count, shape.heads, shape.row_size()), 1.0f);
    const std::vector<float> before(numbers_in(count, shape.heads, C), kUnwritten);
    std::vector<float> after = before;
    for (int i = 0; i + 1 < count; ++i) {
      const RowInput& row = rows[static_cast<std::size_t>(i)];
      const float* q = queries.data() + numbers_in(i, shape.heads, shape.row_size());
      numerics::attend_reference({q, shape.heads, kScale}, world.view(row.table, row.position + 1),
                                 after.data() + numbers_in(i, shape.heads, C));
    }
    const auto input = [&](KernelRig& rig) -> LatentAttentionInput {
      const PassCounts counts{.rows = static_cast<std::uint32_t>(count - 1)};
      return {.counts = rig.input("counts", std::vector{counts}),
              .rows = rig.input("rows", rows),
              .queries = rig.input("queries", queries),
              .out = rig.output("out", before, after),
              .latents = world.layer(rig, rig.input("pool", world.bytes())),
              .heads = shape.heads,
              .scale = kScale};
    };

    const auto together = rig(random.word());
    const AttendLatentArgs attend{input(*together)};
    together->expect(launch_of(attend, attend.shape(count + 1)));

    const auto split = rig(random.word());
    const int segments_max =
        ceil_div(*std::ranges::max_element(lengths), numerics::kKeySegment) + 1;
    const std::vector<float> partial(numbers_in(count + 1, shape.heads, segments_max * (C + 2)));
    const AttendLatentSplitArgs segments{input(*split), split->input("partial", partial),
                                         segments_max};
    const AttendLatentMergeArgs merge{segments.in, segments.partial, segments_max};
    split->expect(
        {launch_of(segments, segments.shape(count + 1)), launch_of(merge, merge.shape(count + 1))});
  }
};
FORGE_KERNEL_TEST_TARGETS(AttendLatent);

TEST_P(AttendLatent, ContextsAroundTheEdgesOfSegments) {
  expect({.heads = 2}, {1, 2, 31, 32, 33, 255, 256, 257, 511, 513, 769});
}

TEST_P(AttendLatent, HeadsOfEveryTile) {
  for (const int heads : {1, 2, 4, 5, 15, 16, 17, 33}) expect({.heads = heads}, {40, 300});
}

TEST_P(AttendLatent, SizesOfEveryTail) {
  for (const int latent_size : {1, 3, 31, 64, 65, 130, 257}) {
    expect({.heads = 3, .latent_size = latent_size, .rope_size = 2}, {260, 9});
  }
  for (const int rope_size : {2, 14, 16, 18, 60}) {
    expect({.heads = 5, .latent_size = 20, .rope_size = rope_size, .block_size = 7}, {33});
  }
}

TEST_P(AttendLatent, BlocksOfEverySize) {
  for (const int S : {1, 2, 5, 31, 256, 257, 1000}) expect({.heads = 2, .block_size = S}, {600, 3});
}

TEST_P(AttendLatent, LatentsOf16Bits) {
  for (const auto type : {numerics::KvType::bf16, numerics::KvType::f16}) {
    for (const int heads : {1, 3, 17}) expect({heads, 31, 6, 7, type}, {1, 40, 257, 513});
    expect({5, 128, 16, 16, type}, {300});
  }
}

TEST_P(AttendLatent, LatentsOfThePublishedModels) {
  expect({.heads = 16, .latent_size = 512, .rope_size = 64, .block_size = 64}, {270});
}

TEST_P(AttendLatent, TheLargestThatTheCpuTakes) {
  expect(
      {.heads = 2, .latent_size = numerics::kLatentSizeMax - 2, .rope_size = 2, .block_size = 16},
      {258});
}

}  // namespace
}  // namespace forge::gpu
