// rotate_and_store: queries turn in place, keys and values land where the CPU puts them.
#include <algorithm>

#include "forge/model/rotary_table.h"
#include "forge/numerics/vector_ops.h"
#include "gpu/kv_world.h"

namespace forge::gpu {
namespace {

class RotateAndStore : public KernelTest {
 protected:
  /// Rows at random positions of a few sequences.
  void expect(const KvShape& shape, std::uint64_t seed) const {
    SCOPED_TRACE(testing::Message() << shape << " seed " << seed);
    Random random(seed);
    const std::vector<int> lengths{random.between(1, 60), random.between(1, 300), 5};
    KvWorld world(shape, lengths, random);
    const std::vector<float> pool_before = world.floats();

    std::vector<RowInput> rows;
    for (const std::uint32_t sequence : {1u, 0u, 2u, 1u, 1u}) {
      const int position = random.between(0, lengths[sequence] - 1);
      rows.push_back({.position = static_cast<std::uint32_t>(position), .table = sequence});
    }
    const auto width = static_cast<std::size_t>(shape.width());
    const std::size_t rows_max = rows.size() + 3;
    const std::vector<float> before = random.reals(rows_max * width);
    std::vector<float> after = before;
    model::RotaryTable rotary(shape.config().rope());
    rotary.ensure(300);
    const auto D = static_cast<std::size_t>(shape.head_size);
    const int half = shape.head_size / 2;
    for (std::size_t row = 0; row < rows.size(); ++row) {
      const float* cos = rotary.cos(rows[row].position);
      const float* sin = rotary.sin(rows[row].position);
      float* heads = &after[row * width];
      for (int head = 0; head < shape.heads(); ++head) {
        numerics::rotate_pairs(heads + head * shape.head_size, cos, sin, half);
      }
      for (int head = 0; head < shape.kv_heads; ++head) {
        const float* source = heads + (shape.heads() + head) * shape.head_size;
        std::vector<float> key(source, source + D);
        numerics::rotate_pairs(key.data(), cos, sin, half);
        const float* value = source + shape.kv_heads * shape.head_size;
        world.store(rows[row].table, static_cast<int>(rows[row].position), head, key.data(), value);
      }
    }

    const auto rig = this->rig(seed);
    const auto count = static_cast<std::uint32_t>(rows.size());
    rows.resize(rows_max, {.position = 4'000'000'000u, .table = 4'000'000'000u});
    const std::vector<float> angles(rotary.cos(0), rotary.cos(300));
    float* pool = rig->output("kv_pool", pool_before, world.floats());
    const std::uint32_t* tables = rig->input("tables", world.tables());
    const RotateAndStoreArgs args{
        .counts = rig->input("counts", std::vector<PassCounts>{{.rows = count}}),
        .rows = rig->input("rows", rows),
        .rotary = rig->input("rotary", angles),
        .qkv = rig->output("qkv", before, after),
        .kv = world.layer(pool, tables)};
    rig->expect(launch_of(args, args.shape(static_cast<int>(rows_max))));
  }
};
FORGE_KERNEL_TEST_TARGETS(RotateAndStore);

TEST_P(RotateAndStore, HeadsOfEverySize) {
  for (const int D : {2, 4, 6, 30, 64, 66, 128, 256}) expect({1, 2, D, 16}, 1);
}

TEST_P(RotateAndStore, GroupsAndBlocksOfEverySize) {
  expect({1, 1, 16, 1}, 2);
  expect({3, 1, 16, 7}, 3);
  expect({2, 5, 8, 300}, 4);
  expect({1, 3, 2, 65536}, 5);
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
