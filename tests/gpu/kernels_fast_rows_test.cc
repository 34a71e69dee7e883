// The small kernels of fast numerics: rows in 16 bits and the squares of their groups, heads that
// are normed, turned and rounded. Each output has the bits of its definition.
#include "forge/model/rotary_table.h"
#include "forge/numerics/tensor_product.h"
#include "forge/numerics/vector_ops.h"
#include "forge/sim/sim_kernels.h"
#include "forge/simt/checker.h"
#include "gpu/kv_world.h"
#include "gpu/simulated_memory.h"

namespace forge::gpu {
namespace {

using numerics::HalfType;
using numerics::KvType;

constexpr std::uint16_t kUnwrittenHalf = 0x7b7b;
constexpr float kUnwritten = -777.0f;

/// What is expected of x in 16 bits.
std::uint16_t half_bits(float x, HalfType type) {
  return type == HalfType::bf16 ? numerics::half_of<numerics::BF16>(x).bits
                                : numerics::half_of<numerics::F16>(x).bits;
}

struct RowsCase {
  int size = 0;
  HalfType type = HalfType::bf16;
  bool of_logits = false;
  bool has_weight = true;
  bool has_squares = true;
  float range = 3.0f;  ///< of the numbers
};
std::ostream& operator<<(std::ostream& out, const RowsCase& c) {
  return out << "size " << c.size << (c.type == HalfType::bf16 ? " bf16" : " f16")
             << (c.of_logits ? ", rows with logits" : "") << (c.has_weight ? "" : ", no weight")
             << (c.has_squares ? "" : ", no squares") << " range " << c.range;
}

class ScaleRows : public KernelTest {
 protected:
  static constexpr std::size_t kGroup = numerics::kSquaresGroup;

  /// h and squares of the rows that are there, in the memory of as many as a launch may have.
  struct Expected {
    std::vector<std::uint16_t> h;
    std::vector<float> squares;
  };
  static void scale(const float* x, const float* weight, const RowsCase& c, std::size_t row,
                    Expected& to) {
    const auto size = static_cast<std::size_t>(c.size);
    for (std::size_t k = 0; k < size; ++k) {
      to.h[row * size + k] = half_bits(c.has_weight ? x[k] * weight[k] : x[k], c.type);
    }
    for (std::size_t g = 0; g < size / kGroup; ++g) {
      to.squares[row * (size / kGroup) + g] = numerics::group_of_squares(x + g * kGroup);
    }
  }

  void expect(const RowsCase& c) const {
    SCOPED_TRACE(testing::Message() << c);
    Random random(static_cast<std::uint64_t>(c.size));
    constexpr std::size_t kRows = 6;
    constexpr std::size_t kRowsMax = 8;  // of a graph's bucket
    const auto size = static_cast<std::size_t>(c.size);
    const std::vector<float> x = random.reals(kRows * size, c.range);
    const std::vector<float> weight = random.reals(size);
    const std::vector<LogitInput> logits{{.row = 4}, {.row = 0}, {.row = 5}};
    const Expected before{std::vector(kRowsMax * size, kUnwrittenHalf),
                          std::vector(kRowsMax * size / kGroup, kUnwritten)};
    Expected after = before;
    for (std::size_t i = 0; i < (c.of_logits ? logits.size() : kRows); ++i) {
      const std::size_t row = c.of_logits ? logits[i].row : i;
      scale(&x[row * size], weight.data(), c, i, after);
    }
    const auto rig = this->rig();
    const std::vector<PassCounts> counts{{.rows = kRows, .logit_rows = 3}};
    const ScaleRowsArgs args{
        .counts = rig->input("counts", counts),
        .logits = c.of_logits ? rig->input("logits", logits) : nullptr,
        .x = rig->input("x", x),
        .weight = c.has_weight ? rig->input("weight", weight) : nullptr,
        .h = rig->output("h", before.h, after.h),
        .squares = c.has_squares ? rig->output("squares", before.squares, after.squares) : nullptr,
        .size = c.size,
        .type = c.type};
    rig->expect(launch_of(args, args.shape(kRowsMax)));
  }
};
FORGE_KERNEL_TEST_TARGETS(ScaleRows);

TEST_P(ScaleRows, OfEverySize) {
  for (const int size : {8, 40, 256, 1024, 1024 + 8}) {
    for (const HalfType type : {HalfType::bf16, HalfType::f16}) {
      expect({.size = size, .type = type});
      expect({.size = size, .type = type, .of_logits = true});
    }
  }
}

TEST_P(ScaleRows, WithoutAWeightOrSquares) {
  for (const HalfType type : {HalfType::bf16, HalfType::f16}) {
    expect({.size = 40, .type = type, .has_weight = false});
    expect({.size = 40, .type = type, .has_squares = false});
    expect({.size = 1032, .type = type, .has_weight = false, .has_squares = false});
  }
}

TEST_P(ScaleRows, WhatIsBeyondTheTypeBecomesItsLargestNumber) {
  for (const HalfType type : {HalfType::bf16, HalfType::f16}) {
    expect({.size = 264, .type = type, .has_weight = false, .range = 2e5f});
    expect({.size = 264, .type = type, .range = 3e38f});  // their squares are infinite
  }
}

enum class Norms : std::uint8_t { none, of_each_head, of_all_heads };

struct HeadsCase {
  KvShape shape;
  Norms norms = Norms::none;
  model::RopeConfig rope;
  std::uint64_t seed = 1;
};
std::ostream& operator<<(std::ostream& out, const HeadsCase& c) {
  return out << c.shape << " norms " << static_cast<int>(c.norms) << " turning " << c.rope.size
             << (c.rope.pairing == model::RopePairing::adjacent ? " adjacent" : "") << " seed "
             << c.seed;
}

class PrepareHeads : public KernelTest {
 protected:
  static constexpr float kEps = 1e-5f;

  /// A row as canonical numerics leave it, in floats: rms_norm, then RoPE.
  class Canonical {
   public:
    Canonical(const HeadsCase& c, Random& random)
        : case_(c),
          rotary_(c.rope.size > 0 ? c.rope : model::RopeConfig{.size = 2}),
          query_(random.reals(width_of(c.shape.heads()))),
          key_(random.reals(width_of(c.shape.kv_heads))) {
      rotary_.ensure(kPositions);
    }

    void prepare(float* heads, std::uint32_t position) const {
      prepare(heads, case_.shape.heads(), query_, position);
      prepare(heads + case_.shape.heads() * case_.shape.head_size, case_.shape.kv_heads, key_,
              position);
    }

    std::vector<float> angles() const {
      if (case_.rope.size == 0) return {};
      return {rotary_.cos(0), rotary_.cos(kPositions)};
    }
    HeadNorms norms(KernelRig& rig) const {
      if (case_.norms == Norms::none) return {};
      return {.query = rig.input("query_norm", query_),
              .key = rig.input("key_norm", key_),
              .of_all_heads = case_.norms == Norms::of_all_heads,
              .eps = kEps};
    }

   private:
    static constexpr std::uint32_t kPositions = 300;

    std::size_t width_of(int heads) const {
      const int norms = case_.norms == Norms::of_all_heads ? heads : 1;
      return static_cast<std::size_t>(norms * case_.shape.head_size);
    }

    /// `count` heads of queries or of keys.
    void prepare(float* heads, int count, const std::vector<float>& weight,
                 std::uint32_t position) const {
      const int D = case_.shape.head_size;
      if (case_.norms == Norms::of_all_heads) {
        numerics::rms_norm(heads, weight.data(), count * D, kEps, heads);
      }
      for (int head = 0; head < count; ++head) {
        float* const x = heads + head * D;
        if (case_.norms == Norms::of_each_head) {
          numerics::rms_norm(x, weight.data(), D, kEps, x);
        }
        if (case_.rope.size > 0) rotate(x, position);
      }
    }
    void rotate(float* head, std::uint32_t position) const {
      const bool adjacent = case_.rope.pairing == model::RopePairing::adjacent;
      const auto turn = adjacent ? numerics::rotate_adjacent_pairs : numerics::rotate_pairs;
      turn(head, rotary_.cos(position), rotary_.sin(position), case_.rope.size / 2);
    }

    HeadsCase case_;
    model::RotaryTable rotary_;
    std::vector<float> query_;
    std::vector<float> key_;
  };

  /// Where the heads of one row go: queries to q [H][D], keys and values to the pool.
  static void put(const float* heads, const RowInput& row, KvWorld& world, std::uint16_t* q) {
    const KvShape& shape = world.shape();
    const int D = shape.head_size;
    for (int i = 0; i < shape.heads() * D; ++i) {
      q[i] = half_bits(heads[i], numerics::half_type(shape.type));
    }
    const float* const keys = heads + shape.heads() * D;
    const float* const values = keys + shape.kv_heads * D;
    for (int head = 0; head < shape.kv_heads; ++head) {
      world.store(row.table, static_cast<int>(row.position), head, keys + head * D,
                  values + head * D);
    }
  }

  /// Rows at random positions of a few sequences.
  void expect(const HeadsCase& c) const {
    SCOPED_TRACE(testing::Message() << c);
    Random random(c.seed);
    const std::vector<int> lengths{random.between(1, 60), random.between(3, 300), 5};
    KvWorld world(c.shape, lengths, random);
    const std::vector<std::byte> pool_before = world.bytes();
    const Canonical canonical(c, random);
    std::vector<RowInput> rows = world.rows_of({1, 0, 2, 1}, random);
    const std::size_t rows_max = rows.size() + 2;
    const auto width = static_cast<std::size_t>(c.shape.width());
    const auto q_width = static_cast<std::size_t>(c.shape.heads() * c.shape.head_size);
    const std::vector<float> qkv = random.reals(rows_max * width, 2.0f);
    const std::vector<std::uint16_t> q_before(rows_max * q_width, kUnwrittenHalf);
    std::vector<std::uint16_t> q_after = q_before;
    for (std::size_t row = 0; row < rows.size(); ++row) {
      const auto first = qkv.begin() + static_cast<std::ptrdiff_t>(row * width);
      std::vector<float> heads(first, first + static_cast<std::ptrdiff_t>(width));
      canonical.prepare(heads.data(), rows[row].position);
      put(heads.data(), rows[row], world, &q_after[row * q_width]);
    }

    const auto rig = this->rig(c.seed);
    const auto count = static_cast<std::uint32_t>(rows.size());
    rows.resize(rows_max, {.position = 4'000'000'000u, .table = 4'000'000'000u});
    std::byte* pool = rig->output("kv_pool", pool_before, world.bytes());
    const std::uint32_t* tables = rig->input("tables", world.tables());
    const PrepareHeadsArgs args{
        .counts = rig->input("counts", std::vector<PassCounts>{{.rows = count}}),
        .rows = rig->input("rows", rows),
        .rotary = rig->input("rotary", canonical.angles()),
        .rotary_size = c.rope.size,
        .adjacent = c.rope.pairing == model::RopePairing::adjacent,
        .qkv = rig->output("qkv", qkv, qkv),
        .q = rig->output("q", q_before, q_after),
        .kv = world.layer(pool, tables),
        .norms = canonical.norms(*rig)};
    rig->expect(launch_of(args, args.shape(static_cast<int>(rows_max))));
  }
};
FORGE_KERNEL_TEST_TARGETS(PrepareHeads);

constexpr Norms kNorms[] = {Norms::none, Norms::of_each_head, Norms::of_all_heads};

TEST_P(PrepareHeads, HeadsOfEverySizeAndNorm) {
  for (const KvType type : {KvType::bf16, KvType::f16}) {
    for (const Norms norms : kNorms) {
      for (const int D : {16, 64, 80, 128}) {
        expect({{1, 2, D, 16, type}, norms, {.size = D}});
      }
    }
  }
}

TEST_P(PrepareHeads, NeighboursTurnTogether) {
  for (const Norms norms : kNorms) {
    expect({{2, 2, 80, 16, KvType::bf16},
            norms,
            {.size = 80, .pairing = model::RopePairing::adjacent}});
  }
}

TEST_P(PrepareHeads, TheFirstComponentsOfAHeadTurnOrNone) {
  for (const auto pairing : {model::RopePairing::halves, model::RopePairing::adjacent}) {
    for (const int turning : {0, 2, 32, 78}) {
      expect(
          {{2, 1, 80, 5, KvType::f16}, Norms::of_each_head, {.size = turning, .pairing = pairing}});
    }
  }
}

TEST_P(PrepareHeads, GroupsAndBlocksOfEverySize) {
  for (const Norms norms : kNorms) {
    expect({{1, 1, 16, 1, KvType::bf16}, norms, {.size = 16}, 2});
    expect({{3, 1, 16, 7, KvType::f16}, norms, {.size = 16}, 3});
    expect({{2, 5, 32, 300, KvType::bf16}, norms, {.size = 32}, 4});
    expect({{1, 3, 128, 32, KvType::f16}, norms, {.size = 64}, 5});
  }
}

TEST_P(PrepareHeads, RandomShapes) {
  for (std::uint64_t seed = 100; seed < 106; ++seed) {
    Random random(seed);
    const int D = random.between(1, 128);
    const KvShape shape{random.between(1, 4), random.between(1, 5), D, random.between(1, 40),
                        random.one_of({KvType::bf16, KvType::f16})};
    const auto pairing = random.one_of({model::RopePairing::halves, model::RopePairing::adjacent});
    const Norms norms = random.one_of({Norms::none, Norms::of_each_head, Norms::of_all_heads});
    expect({shape, norms, {.size = 2 * random.between(0, D / 2), .pairing = pairing}, seed});
  }
}

/// Launches that overlap, as a model makes them: each reads what the one before has written, and
/// what an earlier one has, for which all threads in between must have waited, without work or not.
TEST(FastRows, WaitForTheLaunchesBefore) {
  constexpr std::size_t kWidth = 3 * 16;
  constexpr int kRowsMax = 3;
  Random random(1);
  KvWorld world({1, 1, 16, 16, KvType::bf16}, {20}, random);
  SimulatedMemory memory;
  const PassCounts* counts = memory.array("counts", std::vector<PassCounts>{{.rows = 2}});
  const float* weight = memory.array("weight", random.reals(kWidth));
  float* qkv = memory.array("qkv", random.reals(kRowsMax * kWidth));
  const RmsNormArgs norm{.counts = counts,
                         .logits = nullptr,
                         .x = qkv,
                         .weight = weight,
                         .y = qkv,
                         .size = kWidth,
                         .eps = 1e-5f};
  const ScaleRowsArgs scale{
      .counts = counts,
      .logits = nullptr,
      .x = qkv,
      .weight = weight,
      .h = memory.array("h", std::vector<std::uint16_t>(kRowsMax * kWidth)),
      .squares = memory.array("squares", std::vector<float>(kRowsMax * kWidth / 8)),
      .size = kWidth,
      .type = HalfType::bf16};
  const PrepareHeadsArgs prepare{
      .counts = counts,
      .rows = memory.array("rows", std::vector<RowInput>{{.position = 3}, {.position = 19}}),
      .rotary = memory.array("rotary", random.reals(20 * 16)),
      .rotary_size = 16,
      .adjacent = false,
      .qkv = qkv,
      .q = memory.array("q", std::vector<std::uint16_t>(kRowsMax * 16)),
      .kv = world.layer(memory.array("kv_pool", world.bytes()),
                        memory.array("tables", world.tables())),
      .norms = {.query = weight, .key = weight, .eps = 1e-5f}};
  const KernelLaunch scaling = launch_of(scale, scale.shape(kRowsMax));
  const KernelLaunch preparing = launch_of(prepare, prepare.shape(kRowsMax));

  simt::LaunchChain chain;
  simt::Machine machine;
  bool overlaps = false;
  for (const KernelLaunch& launch :
       {launch_of(norm, norm.shape(kRowsMax)), scaling, preparing, scaling, preparing}) {
    chain.begin(std::string(name(launch.kernel)), overlaps);
    simt::Checker checker(memory.map(), &chain);
    const auto done = machine.run(sim::kernel_code(launch.kernel), launch.shape, launch.args.data(),
                                  {.observer = &checker});
    ASSERT_TRUE(done) << to_string(done.error());
    checker.end_launch();
    overlaps = true;
  }
}

}  // namespace
}  // namespace forge::gpu
