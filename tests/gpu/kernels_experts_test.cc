// Products of rows and their experts, and their sums; and all kernels of a mixture of experts
// together against run_experts (model/experts.h).
#include <algorithm>

#include "forge/model/experts.h"
#include "forge/numerics/vector_ops.h"
#include "gpu/expert_choices.h"
#include "gpu/kernel_rig.h"
#include "gpu/packed_weights.h"

namespace forge::gpu {
namespace {

// ---- project_experts ----------------------------------------------------------------------------

class ProjectExperts : public KernelTest {
 protected:
  struct Case {
    int rows;
    int inputs;
    int outputs;
    int experts = 5;
    int per_row = 2;
    bool rows_of_pairs = false;  ///< x has a row for each pair
    WeightKind kind = WeightKind::f32;
  };

  void expect(const Case& c) const {
    SCOPED_TRACE(testing::Message() << "rows " << c.rows << " K " << c.inputs << " N " << c.outputs
                                    << " E " << c.experts << " A " << c.per_row);
    Random random(static_cast<std::uint64_t>(c.rows + 100 * c.inputs + 10'000 * c.outputs));
    linear::ThreadPool pool(1);
    std::vector<linear::LinearWeights> matrices;
    for (int expert = 0; expert < c.experts; ++expert) {
      const std::vector<float> weights = random.reals(size_of(c.outputs, c.inputs));
      matrices.push_back(packed({&weights}, c.inputs, c.kind, pool));
    }
    const std::vector<ExpertChoice> choices = random_choices(c.rows, c.experts, c.per_row, random);
    PlanOnHost plan(choices, c.experts);
    const int pairs_per_row = c.rows_of_pairs ? 1 : c.per_row;
    const std::vector<float> x =
        random.reals(size_of(c.rows * c.per_row / pairs_per_row, c.inputs));
    const std::vector<float> before = random.reals(size_of(c.rows * c.per_row, c.outputs));
    std::vector<float> after = before;
    linear::ProductScratch scratch;
    for (std::size_t pair = 0; pair < choices.size(); ++pair) {
      const std::size_t row = pair / size_of(pairs_per_row);
      linear::multiply({x.data() + row * size_of(c.inputs), 1}, matrices[choices[pair].expert],
                       after.data() + pair * size_of(c.outputs), scratch, pool);
    }
    const auto tiles = static_cast<std::uint32_t>(plan.tiles.size());
    plan.tiles.push_back({77, 77, 77});  // beyond the count
    const auto rig = this->rig(random.word());
    const ProjectExpertsArgs args{
        .plan = {.pairs = rig->input("pairs", plan.pairs),
                 .tiles = rig->input("tiles", plan.tiles),
                 .tiles_count = rig->input("tiles_count", std::vector{tiles}),
                 .counts = nullptr},
        .x = rig->input("x", x),
        .panels = rig->input("panels", panels_of(matrices)),
        .y = rig->output("y", before, after),
        .inputs = c.inputs,
        .outputs = c.outputs,
        .pairs_per_row = pairs_per_row,
        .kind = c.kind};
    const int rows_max = c.rows + kRowsBeyond;
    rig->expect(launch_of(args, args.shape(expert_tiles_max(rows_max, c.experts, c.per_row))));
  }
};
FORGE_KERNEL_TEST_TARGETS(ProjectExperts);

TEST_P(ProjectExperts, RowsOfEveryTile) {
  for (const int rows : {1, 2, 5, 9, 40}) {
    expect({.rows = rows, .inputs = 40, .outputs = 40});
    expect({.rows = rows, .inputs = 24, .outputs = 8, .experts = 1, .per_row = 1});
  }
}

TEST_P(ProjectExperts, InputsAndOutputsOfEveryTail) {
  for (const int inputs : {1, 9, 255, 257, 520}) {
    expect({.rows = 3, .inputs = inputs, .outputs = 33});
    expect({.rows = 3, .inputs = inputs, .outputs = 1, .rows_of_pairs = true});
  }
}

TEST_P(ProjectExperts, WeightsOf16Bits) {
  for (const WeightKind kind : {WeightKind::f16, WeightKind::bf16}) {
    for (const int inputs : {1, 15, 257}) {
      expect({.rows = 10, .inputs = inputs, .outputs = 33, .kind = kind});
    }
  }
}

TEST_P(ProjectExperts, LongInputs) { expect({.rows = 9, .inputs = 9 * 256 + 17, .outputs = 32}); }

TEST_P(ProjectExperts, NoRowIsNoWork) { expect({.rows = 0, .inputs = 8, .outputs = 8}); }

// ---- add_experts --------------------------------------------------------------------------------

class AddExperts : public KernelTest {
 protected:
  void expect(int rows, int size, int per_row, bool shared, bool accumulate) const {
    SCOPED_TRACE(testing::Message() << "rows " << rows << " d " << size << " A " << per_row
                                    << " shared " << shared << " accumulate " << accumulate);
    constexpr float kMultiplier = 0.7f;
    Random random(size_of(rows, size, per_row));
    const std::vector<ExpertChoice> choices = random_choices(rows, per_row + 3, per_row, random);
    const std::vector<float> produced = random.reals(size_of(rows, per_row, size));
    const std::vector<float> from_shared = random.reals(size_of(rows, size));
    const std::vector<float> before = random.reals(size_of(rows + 1, size));
    std::vector<float> after = before;
    for (int row = 0; row < rows; ++row) {
      std::vector<float> sum(size_of(size), 0.0f);
      for (int i = 0; i < per_row; ++i) {
        const std::size_t pair = size_of(row, per_row) + size_of(i);
        numerics::add_scaled(sum.data(), produced.data() + pair * size_of(size),
                             choices[pair].weight, size);
      }
      if (shared) numerics::add(sum.data(), from_shared.data() + size_of(row, size), size);
      float* y = after.data() + size_of(row, size);
      if (accumulate) {
        numerics::add_scaled(y, sum.data(), kMultiplier, size);
      } else {
        std::ranges::copy(sum, y);
      }
    }
    const auto rig = this->rig(random.word());
    const AddExpertsArgs args{.counts = rig->input("counts", std::vector{counts_of(rows)}),
                              .choices = rig->input("choices", choices),
                              .produced = rig->input("produced", produced),
                              .shared = shared ? rig->input("shared", from_shared) : nullptr,
                              .y = rig->output("y", before, after),
                              .size = size,
                              .experts_per_token = per_row,
                              .accumulate = accumulate,
                              .multiplier = kMultiplier};
    rig->expect(launch_of(args, args.shape(rows + kRowsBeyond)));
  }
};
FORGE_KERNEL_TEST_TARGETS(AddExperts);

TEST_P(AddExperts, OfAnyNumberWithAndWithoutSharedOnes) {
  for (const int size : {1, 31, 128, 129, 300}) {
    for (const int per_row : {1, 2, 8}) {
      expect(4, size, per_row, false, false);
      expect(4, size, per_row, true, true);
    }
  }
  expect(0, 8, 2, true, true);
}

// ---- All of them --------------------------------------------------------------------------------

class Experts : public KernelTest {
 protected:
  static model::PackedMlp mlp(int d, int F, WeightKind kind, Random& random,
                              linear::ThreadPool& pool) {
    const std::vector<float> gate = random.reals(size_of(d, F), 0.3f);
    const std::vector<float> up = random.reals(size_of(d, F), 0.3f);
    const std::vector<float> down = random.reals(size_of(d, F), 0.3f);
    return {packed({&gate, &up}, d, kind, pool), packed({&down}, F, kind, pool)};
  }

  void expect(WeightKind kind) const;
};
FORGE_KERNEL_TEST_TARGETS(Experts);

void Experts::expect(WeightKind kind) const {
  constexpr int kRows = 21;
  constexpr int d = 72;
  constexpr int F = 40;
  constexpr int kShared = 52;
  model::ExpertsConfig config{.experts = 12,
                              .experts_per_token = 3,
                              .expert_size = F,
                              .shared_size = kShared,
                              .groups = 4,
                              .groups_per_token = 2,
                              .normalized = true,
                              .routed_scale = 1.5f};
  const int A = config.experts_per_token;
  Random random(1);
  linear::ThreadPool pool(1);
  const std::vector<float> router = random.reals(size_of(config.experts, d));
  model::PackedExperts experts{.config = config,
                               .router = packed({&router}, d, WeightKind::f32, pool)};
  std::vector<std::byte> gate_up;
  std::vector<std::byte> down;
  for (int e = 0; e < config.experts; ++e) {
    const auto& added = experts.experts.emplace_back(mlp(d, F, kind, random, pool));
    std::ranges::copy(panels_of(added.gate_up), std::back_inserter(gate_up));
    std::ranges::copy(panels_of(added.down), std::back_inserter(down));
  }
  experts.shared = mlp(d, kShared, kind, random, pool);
  const std::vector<float> x = random.reals(size_of(kRows, d));
  std::vector<float> expected(x.size());
  model::ExpertsScratch scratch;
  model::Workers workers(pool);
  model::run_experts(experts, {x.data(), kRows}, expected.data(), scratch, workers);

  const auto rig = this->rig();
  const auto floats = [&](const char* name, int rows, int width) {
    return rig->input(name, std::vector<float>(size_of(rows, width)));
  };
  const PassCounts* counts = rig->input("counts", std::vector{counts_of(kRows)});
  const float* rows = rig->input("x", x);
  const ProjectArgs score{.row_count = &counts->rows,
                          .x = rows,
                          .panels = rig->input("router", panels_of(experts.router)),
                          .y = floats("products", kRows, config.experts),
                          .inputs = d,
                          .outputs = config.experts,
                          .accumulate = false};
  const ChooseExpertsArgs choose{
      .counts = counts,
      .products = score.y,
      .bias = nullptr,
      .choices = rig->input("choices", std::vector<ExpertChoice>(size_of(kRows, A))),
      .experts = config.experts,
      .experts_per_token = A,
      .groups = config.groups,
      .groups_per_token = config.groups_per_token,
      .group_best = config.group_best,
      .sigmoid = false,
      .normalized = config.normalized,
      .routed_scale = config.routed_scale};
  const int tiles_max = expert_tiles_max(kRows, config.experts, A);
  const PlanExpertsArgs plan{
      .counts = counts,
      .choices = choose.choices,
      .plan = {.pairs = rig->input("pairs", std::vector<std::uint32_t>(size_of(kRows, A))),
               .tiles = rig->input("tiles", std::vector<ExpertTile>(size_of(tiles_max))),
               .tiles_count = rig->input("tiles_count", std::vector<std::uint32_t>(1)),
               .counts = rig->input("pair_counts", std::vector<PassCounts>(1))},
      .experts = config.experts,
      .experts_per_token = A};
  const ProjectExpertsArgs widen{.plan = plan.plan,
                                 .x = rows,
                                 .panels = rig->input("gate_up", gate_up),
                                 .y = floats("gate_up of pairs", kRows * A, 2 * F),
                                 .inputs = d,
                                 .outputs = 2 * F,
                                 .pairs_per_row = A,
                                 .kind = kind};
  const SiluMultiplyArgs gate{.counts = plan.plan.counts,
                              .gate_up = widen.y,
                              .gated = floats("gated of pairs", kRows * A, F),
                              .size = F};
  const ProjectExpertsArgs narrow{.plan = plan.plan,
                                  .x = gate.gated,
                                  .panels = rig->input("down", down),
                                  .y = floats("produced", kRows * A, d),
                                  .inputs = F,
                                  .outputs = d,
                                  .pairs_per_row = 1,
                                  .kind = kind};
  const ProjectArgs widen_shared{
      .row_count = &counts->rows,
      .x = rows,
      .panels = rig->input("shared gate_up", panels_of(experts.shared->gate_up)),
      .y = floats("shared gate_up of rows", kRows, 2 * kShared),
      .inputs = d,
      .outputs = 2 * kShared,
      .accumulate = false,
      .kind = kind};
  const SiluMultiplyArgs gate_shared{.counts = counts,
                                     .gate_up = widen_shared.y,
                                     .gated = floats("shared gated", kRows, kShared),
                                     .size = kShared};
  const ProjectArgs narrow_shared{
      .row_count = &counts->rows,
      .x = gate_shared.gated,
      .panels = rig->input("shared down", panels_of(experts.shared->down)),
      .y = floats("shared", kRows, d),
      .inputs = kShared,
      .outputs = d,
      .accumulate = false,
      .kind = kind};
  const AddExpertsArgs add{.counts = counts,
                           .choices = choose.choices,
                           .produced = narrow.y,
                           .shared = narrow_shared.y,
                           .y = rig->output("y", expected),
                           .size = d,
                           .experts_per_token = A,
                           .accumulate = false,
                           .multiplier = 1};
  rig->expect({launch_of(score, score.shape(kRows)), launch_of(choose, choose.shape(kRows)),
               launch_of(plan, plan.shape()), launch_of(widen, widen.shape(tiles_max)),
               launch_of(gate, gate.shape(kRows * A)), launch_of(narrow, narrow.shape(tiles_max)),
               launch_of(widen_shared, widen_shared.shape(kRows)),
               launch_of(gate_shared, gate_shared.shape(kRows)),
               launch_of(narrow_shared, narrow_shared.shape(kRows)),
               launch_of(add, add.shape(kRows))});
}

TEST_P(Experts, HaveTheBitsOfRunExperts) {
  for (const WeightKind kind : {WeightKind::f32, WeightKind::f16, WeightKind::bf16}) expect(kind);
}

}  // namespace
}  // namespace forge::gpu
