// rotate_and_store: queries turn in place, keys and values land where the CPU puts them.
#include <algorithm>

#include "forge/model/rotary_table.h"
#include "forge/numerics/vector_ops.h"
#include "gpu/kv_world.h"

namespace forge::gpu {
namespace {

class RotateAndStore : public KernelTest {
 protected:
  /// Turns one head as the CPU does.
  static void rotate(float* head, const model::RotaryTable& rotary, std::uint32_t position,
                     const model::RopeConfig& rope) {
    const auto turn = rope.pairing == model::RopePairing::adjacent ? numerics::rotate_adjacent_pairs
                                                                   : numerics::rotate_pairs;
    turn(head, rotary.cos(position), rotary.sin(position), rope.size / 2);
  }

  void expect(const KvShape& shape, std::uint64_t seed) const {
    expect(shape, {.size = shape.head_size}, seed);
  }

  /// Rows at random positions of a few sequences.
  void expect(const KvShape& shape, const model::RopeConfig& rope, std::uint64_t seed) const {
    SCOPED_TRACE(testing::Message() << shape << " of which turn " << rope.size << " seed " << seed);
    Random random(seed);
    const std::vector<int> lengths{random.between(1, 60), random.between(3, 300), 5};
    KvWorld world(shape, lengths, random);
    const std::vector<std::byte> pool_before = world.bytes();

    std::vector<RowInput> rows = world.rows_of({1, 0, 2, 1, 1}, random);
    const auto width = static_cast<std::size_t>(shape.width());
    const std::size_t rows_max = rows.size() + 3;
    const std::vector<float> before = random.reals(rows_max * width);
    std::vector<float> after = before;
    model::RotaryTable rotary(rope);
    rotary.ensure(300);
    const auto D = static_cast<std::size_t>(shape.head_size);
    for (std::size_t row = 0; row < rows.size(); ++row) {
      const std::uint32_t position = rows[row].position;
      float* heads = &after[row * width];
      for (int head = 0; head < shape.heads(); ++head) {
        rotate(heads + head * shape.head_size, rotary, position, rope);
      }
      for (int head = 0; head < shape.kv_heads; ++head) {
        const float* source = heads + (shape.heads() + head) * shape.head_size;
        std::vector<float> key(source, source + D);
        rotate(key.data(), rotary, position, rope);
        const float* value = source + shape.kv_heads * shape.head_size;
        world.store(rows[row].table, static_cast<int>(position), head, key.data(), value);
      }
    }

    const auto rig = this->rig(seed);
    const auto count = static_cast<std::uint32_t>(rows.size());
    rows.resize(rows_max, {.position = 4'000'000'000u, .table = 4'000'000'000u});
    const std::vector<float> angles(rotary.cos(0), rotary.cos(300));
    std::byte* pool = rig->output("kv_pool", pool_before, world.bytes());
    const std::uint32_t* tables = rig->input("tables", world.tables());
    const RotateAndStoreArgs args{
        .counts = rig->input("counts", std::vector<PassCounts>{{.rows = count}}),
        .rows = rig->input("rows", rows),
        .rotary = rig->input("rotary", angles),
        .rotary_size = rope.size,
        .adjacent = rope.pairing == model::RopePairing::adjacent,
        .qkv = rig->output("qkv", before, after),
        .kv = world.layer(pool, tables)};
    rig->expect(launch_of(args, args.shape(static_cast<int>(rows_max))));
  }
};
FORGE_KERNEL_TEST_TARGETS(RotateAndStore);

TEST_P(RotateAndStore, HeadsOfEverySize) {
  for (const int D : {2, 4, 6, 30, 64, 66, 128, 256}) expect({1, 2, D, 16}, 1);
}

TEST_P(RotateAndStore, NeighboursTurnTogether) {
  for (const int D : {2, 6, 64, 66, 128}) {
    expect({1, 2, D, 16}, {.size = D, .pairing = model::RopePairing::adjacent}, 6);
  }
}

TEST_P(RotateAndStore, TheFirstComponentsOfAHeadTurn) {
  for (const auto pairing : {model::RopePairing::halves, model::RopePairing::adjacent}) {
    expect({1, 2, 64, 16}, {.size = 32, .pairing = pairing}, 7);
    expect({2, 1, 80, 5}, {.size = 78, .pairing = pairing}, 8);
    expect({1, 3, 33, 3}, {.size = 2, .pairing = pairing}, 9);
    expect({1, 1, 255, 16}, {.size = 254, .pairing = pairing}, 12);
  }
}

TEST_P(RotateAndStore, GroupsAndBlocksOfEverySize) {
  expect({1, 1, 16, 1}, 2);
  expect({3, 1, 16, 7}, 3);
  expect({2, 5, 8, 300}, 4);
  expect({1, 3, 2, 65536}, 5);
}

TEST_P(RotateAndStore, RoundsToTheTypeOfThePool) {
  for (const numerics::KvType type : {numerics::KvType::bf16, numerics::KvType::f16}) {
    for (const int D : {2, 6, 33, 64, 128}) expect({2, 1, D, 16, type}, {.size = D / 2 * 2}, 1);
    expect({1, 2, 66, 7, type}, {.size = 32, .pairing = model::RopePairing::adjacent}, 8);
    expect({3, 1, 5, 1, type}, {.size = 2}, 3);
  }
}

TEST_P(RotateAndStore, RandomShapes) {
  for (std::uint64_t seed = 0; seed < 6; ++seed) {
    Random random(100 + seed);
    const int kv_heads = random.between(1, 4);
    const int group_size = random.between(1, 5);
    const int D = 2 * random.between(1, 40);
    expect({kv_heads, group_size, D, random.between(1, 40)}, 100 + seed);
  }
}

}  // namespace
}  // namespace forge::gpu
