// Products of rows and their experts; and all kernels of a mixture of experts together against
// run_experts (model/experts.h).
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
    linear::PanelKind kind = linear::PanelKind::f32;
    bool bias = false;
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
    PlanOnHost plan(choices, c.experts, ProjectExpertsArgs::kTileRows);
    const int pairs_per_row = c.rows_of_pairs ? 1 : c.per_row;
    const std::vector<float> x =
        random.reals(size_of(c.rows * c.per_row / pairs_per_row, c.inputs));
    const std::vector<float> bias = random.reals(size_of(c.experts, c.outputs));
    const std::vector<float> before = random.reals(size_of(c.rows * c.per_row, c.outputs));
    std::vector<float> after = before;
    linear::ProductScratch scratch;
    for (std::size_t pair = 0; pair < choices.size(); ++pair) {
      const std::size_t row = pair / size_of(pairs_per_row);
      const std::size_t expert = choices[pair].expert;
      float* const y = after.data() + pair * size_of(c.outputs);
      linear::multiply({x.data() + row * size_of(c.inputs), 1}, matrices[expert], y, scratch, pool);
      if (c.bias) numerics::add(y, bias.data() + expert * size_of(c.outputs), c.outputs);
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
        .matrix_bytes = matrices.front().bytes(),
        .y = rig->output("y", before, after),
        .inputs = c.inputs,
        .outputs = c.outputs,
        .pairs_per_row = pairs_per_row,
        .kind = c.kind,
        .bias = c.bias ? rig->input("bias", bias) : nullptr};
    const int rows_max = c.rows + kRowsBeyond;
    rig->expect(launch_of(args, args.shape(expert_tiles_max(rows_max, c.experts, c.per_row,
                                                            ProjectExpertsArgs::kTileRows))));
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
  for (const linear::PanelKind kind : {linear::PanelKind::f16, linear::PanelKind::bf16}) {
    for (const int inputs : {1, 15, 257}) {
      expect({.rows = 10, .inputs = inputs, .outputs = 33, .kind = kind});
    }
  }
}

TEST_P(ProjectExperts, BiasesOfEachExpert) {
  for (const int outputs : {1, 32, 33, 70}) {
    expect({.rows = 13, .inputs = 300, .outputs = outputs, .bias = true});
    expect({.rows = 5, .inputs = 40, .outputs = outputs, .rows_of_pairs = true, .bias = true});
  }
}

TEST_P(ProjectExperts, LongInputs) { expect({.rows = 9, .inputs = 9 * 256 + 17, .outputs = 32}); }

TEST_P(ProjectExperts, NoRowIsNoWork) { expect({.rows = 0, .inputs = 8, .outputs = 8}); }

// ---- All of them --------------------------------------------------------------------------------

class Experts : public KernelTest {
 protected:
  static model::PackedMlp mlp(int d, int F, linear::PanelKind kind, Random& random,
                              linear::ThreadPool& pool) {
    const std::vector<float> gate = random.reals(size_of(d, F), 0.3f);
    const std::vector<float> up = random.reals(size_of(d, F), 0.3f);
    const std::vector<float> down = random.reals(size_of(d, F), 0.3f);
    return {packed({&gate, &up}, d, kind, pool), packed({&down}, F, kind, pool)};
  }

  static constexpr int kRows = 21;
  static constexpr int kHidden = 72;
  static constexpr int kSize = 40;
  static constexpr int kShared = 52;
  static constexpr int kPerRow = 3;

  /// What the CPU reads and makes.
  struct OnCpu {
    model::PackedExperts experts;
    std::vector<float> x;
    std::vector<float> out;
  };
  static OnCpu run_on_cpu(linear::PanelKind kind);

  /// Kernels in their order, on memory of a rig.
  struct Queue {
    KernelRig& rig;
    linear::PanelKind kind;
    const PassCounts* counts;
    const float* x;
    std::vector<KernelLaunch> launches;

    template <class T>
    T* room(const char* name, int rows, int width) const {
      return rig.input(name, std::vector<T>(size_of(rows, width)));
    }
    float* project(const char* name, const linear::LinearWeights& w, const float* from, float* to,
                   linear::PanelKind of) {
      const ProjectArgs args{.row_count = &counts->rows,
                             .x = from,
                             .panels = rig.input(name, panels_of(w)),
                             .y = to,
                             .inputs = w.inputs(),
                             .outputs = w.outputs(),
                             .accumulate = false,
                             .kind = of};
      launches.push_back(launch_of(args, args.shape(kRows)));
      return to;
    }
    float* gate(const PassCounts* rows, const float* gate_up, float* to, int size, int most) {
      const GluArgs args{.counts = rows, .gate_up = gate_up, .gated = to, .size = size};
      launches.push_back(launch_of(args, args.shape(most)));
      return to;
    }
  };

  static const ExpertChoice* choose(const OnCpu& cpu, Queue& queue);
  static const float* run_chosen(const OnCpu& cpu, const ExpertChoice* choices, Queue& queue);
  static const float* run_shared(const OnCpu& cpu, Queue& queue);
  void expect(linear::PanelKind kind) const;
};
FORGE_KERNEL_TEST_TARGETS(Experts);

Experts::OnCpu Experts::run_on_cpu(linear::PanelKind kind) {
  const model::ExpertsConfig config{.experts = 12,
                                    .experts_per_token = kPerRow,
                                    .expert_size = kSize,
                                    .shared_size = kShared,
                                    .groups = 4,
                                    .groups_per_token = 2,
                                    .normalized = true,
                                    .routed_scale = 1.5f};
  Random random(1);
  linear::ThreadPool pool(1);
  const std::vector<float> router = random.reals(size_of(config.experts, kHidden));
  OnCpu cpu{.experts = {.config = config,
                        .router = packed({&router}, kHidden, linear::PanelKind::f32, pool)}};
  for (int e = 0; e < config.experts; ++e) {
    cpu.experts.experts.push_back(mlp(kHidden, kSize, kind, random, pool));
  }
  cpu.experts.shared = mlp(kHidden, kShared, kind, random, pool);
  cpu.x = random.reals(size_of(kRows, kHidden));
  cpu.out.resize(cpu.x.size());
  model::ExpertsScratch scratch;
  model::Workers workers(pool);
  model::run_experts(cpu.experts, {cpu.x.data(), kRows}, cpu.out.data(), scratch, workers);
  return cpu;
}

const ExpertChoice* Experts::choose(const OnCpu& cpu, Queue& queue) {
  const model::ExpertsConfig& config = cpu.experts.config;
  const ChooseExpertsArgs args{
      .counts = queue.counts,
      .products = queue.project("router", cpu.experts.router, queue.x,
                                queue.room<float>("products", kRows, config.experts),
                                linear::PanelKind::f32),
      .bias = nullptr,
      .choices = queue.room<ExpertChoice>("choices", kRows, kPerRow),
      .experts = config.experts,
      .experts_per_token = kPerRow,
      .groups = config.groups,
      .groups_per_token = config.groups_per_token,
      .group_best = config.group_best,
      .sigmoid = false,
      .normalized = config.normalized,
      .routed_scale = config.routed_scale};
  queue.launches.push_back(launch_of(args, args.shape(kRows)));
  return args.choices;
}

/// Returns what the chosen experts make, [rows][A][d].
const float* Experts::run_chosen(const OnCpu& cpu, const ExpertChoice* choices, Queue& queue) {
  const int experts = cpu.experts.config.experts;
  const int tiles_max = expert_tiles_max(kRows, experts, kPerRow, ProjectExpertsArgs::kTileRows);
  const PlanExpertsArgs plan{.counts = queue.counts,
                             .choices = choices,
                             .plan = {.pairs = queue.room<std::uint32_t>("pairs", kRows, kPerRow),
                                      .tiles = queue.room<ExpertTile>("tiles", tiles_max, 1),
                                      .tiles_count = queue.room<std::uint32_t>("tiles_count", 1, 1),
                                      .counts = queue.room<PassCounts>("pair_counts", 1, 1)},
                             .experts = experts,
                             .experts_per_token = kPerRow,
                             .tile_rows = ProjectExpertsArgs::kTileRows};
  queue.launches.push_back(launch_of(plan, plan.shape(kRows)));
  std::vector<std::byte> gate_up;
  std::vector<std::byte> down;
  for (const model::PackedMlp& expert : cpu.experts.experts) {
    std::ranges::copy(panels_of(expert.gate_up), std::back_inserter(gate_up));
    std::ranges::copy(panels_of(expert.down), std::back_inserter(down));
  }
  const ProjectExpertsArgs widen{
      .plan = plan.plan,
      .x = queue.x,
      .panels = queue.rig.input("gate_up", gate_up),
      .matrix_bytes = cpu.experts.experts.front().gate_up.bytes(),
      .y = queue.room<float>("gate_up of pairs", kRows * kPerRow, 2 * kSize),
      .inputs = kHidden,
      .outputs = 2 * kSize,
      .pairs_per_row = kPerRow,
      .kind = queue.kind};
  queue.launches.push_back(launch_of(widen, widen.shape(tiles_max)));
  const ProjectExpertsArgs narrow{
      .plan = plan.plan,
      .x = queue.gate(plan.plan.counts, widen.y,
                      queue.room<float>("gated of pairs", kRows * kPerRow, kSize), kSize,
                      kRows * kPerRow),
      .panels = queue.rig.input("down", down),
      .matrix_bytes = cpu.experts.experts.front().down.bytes(),
      .y = queue.room<float>("produced", kRows * kPerRow, kHidden),
      .inputs = kSize,
      .outputs = kHidden,
      .pairs_per_row = 1,
      .kind = queue.kind};
  queue.launches.push_back(launch_of(narrow, narrow.shape(tiles_max)));
  return narrow.y;
}

const float* Experts::run_shared(const OnCpu& cpu, Queue& queue) {
  const model::PackedMlp& shared = *cpu.experts.shared;
  const float* const gate_up =
      queue.project("shared gate_up", shared.gate_up, queue.x,
                    queue.room<float>("shared gate_up of rows", kRows, 2 * kShared), queue.kind);
  const float* const gated = queue.gate(
      queue.counts, gate_up, queue.room<float>("shared gated", kRows, kShared), kShared, kRows);
  return queue.project("shared down", shared.down, gated,
                       queue.room<float>("shared", kRows, kHidden), queue.kind);
}

void Experts::expect(linear::PanelKind kind) const {
  const OnCpu cpu = run_on_cpu(kind);
  const auto rig = this->rig();
  Queue queue{
      *rig, kind, rig->input("counts", std::vector{counts_of(kRows)}), rig->input("x", cpu.x), {}};
  const ExpertChoice* const choices = choose(cpu, queue);
  const float* const produced = run_chosen(cpu, choices, queue);
  const AddExpertsArgs add{.counts = queue.counts,
                           .choices = choices,
                           .produced = produced,
                           .shared = run_shared(cpu, queue),
                           .y = rig->output("y", cpu.out),
                           .size = kHidden,
                           .experts_per_token = kPerRow,
                           .accumulate = false,
                           .multiplier = 1};
  queue.launches.push_back(launch_of(add, add.shape(kRows)));
  rig->expect(queue.launches);
}

TEST_P(Experts, HaveTheBitsOfRunExperts) {
  for (const linear::PanelKind kind :
       {linear::PanelKind::f32, linear::PanelKind::f16, linear::PanelKind::bf16})
    expect(kind);
}

}  // namespace
}  // namespace forge::gpu
