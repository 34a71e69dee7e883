#include "gpu/fast_launches.h"

#include "forge/numerics/tensor_product.h"

namespace forge::gpu {
namespace {

using numerics::HalfType;

/// More than two turns of the ring of a product, and a tail.
constexpr int turns_and_tail(int stages, int stage_inputs) {
  return 2 * stages * stage_inputs + 24;
}
constexpr int kNarrowInputs =
    turns_and_tail(ProjectNarrowArgs::stages(false), ProjectNarrowArgs::kStageInputs);
constexpr int wide_inputs(WideKind kind) {
  return turns_and_tail(block_of(kind).stages, ProjectWideArgs::kStageInputs);
}
constexpr int kFullInputs = 2 * ProjectWideArgs::kStageInputs;

}  // namespace

FastLaunches::FastLaunches(SimulatedMemory& memory) : memory_(memory) {}

std::uint16_t* FastLaunches::halves(const char* name, int count) {
  std::vector<std::uint16_t> numbers;
  for (const float x : random_.reals(static_cast<std::size_t>(count))) {
    numbers.push_back(numerics::half_of<numerics::BF16>(x).bits);
  }
  return memory_.array(name, numbers);
}

const PassCounts* FastLaunches::one_row() {
  return memory_.array("counts", std::vector<PassCounts>{{.rows = 1, .decode_rows = 1}});
}

// ---- Rows ---------------------------------------------------------------------------------------

OverlappingLaunch FastLaunches::scale_rows() {
  constexpr std::size_t kSize = 40;
  const ScaleRowsArgs args{.counts = one_row(),
                           .logits = nullptr,
                           .x = memory_.array("x", random_.reals(kSize)),
                           .weight = memory_.array("weight", random_.reals(kSize)),
                           .h = halves("h", kSize),
                           .squares = memory_.array("squares", std::vector<float>(kSize / 8)),
                           .size = kSize,
                           .type = HalfType::bf16};
  return overlapping(args, args.shape(2), args.x);
}

OverlappingLaunch FastLaunches::code_rows() {
  constexpr std::size_t kSize = 40;
  const CodeRowsArgs args{.row_count = memory_.array("row_count", std::vector<std::uint32_t>{1}),
                          .x = memory_.array("x", random_.reals(kSize)),
                          .coded = memory_.array("coded", std::vector<RowGroup>(2)),
                          .inputs = kSize};
  return overlapping(args, args.shape(2), args.x);
}

// ---- Products -----------------------------------------------------------------------------------

TensorProduct FastLaunches::product(const ProductSize& size) {
  const int padded = ceil_div(size.outputs, linear::kPanelOutputs) * linear::kPanelOutputs;
  const auto results = static_cast<std::size_t>(size.rows_max * size.outputs);
  const std::vector<sampling::BestToken> candidates(results);  // more than there are
  return {.row_count = memory_.array("row_count", std::vector<std::uint32_t>{size.rows}),
          .rows_max = size.rows_max,
          .x = halves("x", static_cast<int>(size.rows) * size.inputs),
          .weights = halves("weights", padded * size.inputs),
          .inputs = size.inputs,
          .outputs = size.outputs,
          .type = HalfType::bf16,
          .y = memory_.array("y", std::vector<float>(results)),
          .candidates = memory_.array("candidates", candidates)};
}

/// Three tiles of outputs for blocks of two warps, and a block that has none.
OverlappingLaunch FastLaunches::project_narrow() {
  const ProjectNarrowArgs args{
      product({.rows = 5, .rows_max = 20, .inputs = kNarrowInputs, .outputs = 24})};
  simt::LaunchShape shape = args.shape();
  ++shape.grid.y;
  return overlapping(args, shape, args.product.x);
}

OverlappingLaunch FastLaunches::project_narrow_short() {
  const ProjectNarrowArgs args{product({.rows = 1, .rows_max = 1, .inputs = 40, .outputs = 8})};
  return overlapping(args, args.shape(), args.product.x);
}

OverlappingLaunch FastLaunches::project_narrow_full() {
  const ProjectNarrowArgs args{product(
      {.rows = 16, .rows_max = 16, .inputs = 2 * ProjectNarrowArgs::kStageInputs, .outputs = 16})};
  return overlapping(args, args.shape(), args.product.x);
}

OverlappingLaunch FastLaunches::wide(WideKind kind) {
  const std::uint32_t rows = kind == WideKind::large ? 70 : 64;  // of the last block none
  const ProjectWideArgs args{
      product({.rows = rows, .rows_max = 200, .inputs = wide_inputs(kind), .outputs = 40}), kind};
  return overlapping(args, args.shape(), args.product.x);
}

OverlappingLaunch FastLaunches::wide_full(WideKind kind) {
  const WideBlock b = block_of(kind);
  const ProjectWideArgs args{product({.rows = static_cast<std::uint32_t>(b.rows),
                                      .rows_max = b.rows,
                                      .inputs = kFullInputs,
                                      .outputs = b.outputs}),
                             kind};
  return overlapping(args, args.shape(), args.product.x);
}

OverlappingLaunch FastLaunches::project_wide() { return wide(WideKind::large); }
OverlappingLaunch FastLaunches::project_wide_small() { return wide(WideKind::small); }
OverlappingLaunch FastLaunches::project_wide_slim() { return wide(WideKind::slim); }
OverlappingLaunch FastLaunches::project_wide_full() { return wide_full(WideKind::large); }
OverlappingLaunch FastLaunches::project_wide_small_full() { return wide_full(WideKind::small); }
OverlappingLaunch FastLaunches::project_wide_slim_full() { return wide_full(WideKind::slim); }

OverlappingLaunch FastLaunches::finish_product() {
  const std::vector<float> sums = random_.reals(5 * 40);
  FinishProductArgs args{product({.rows = 5, .rows_max = 20, .inputs = 72, .outputs = 40}),
                         memory_.array("sums", sums)};
  args.product.norm = {.squares = memory_.array("squares", std::vector<float>(5 * 9, 1.0f)),
                       .eps = 1e-5f};
  return overlapping(args, args.shape(), args.sums);
}

CodeProduct FastLaunches::codes(const ProductSize& size, linear::PanelKind kind) {
  TensorProduct of_halves = product({size.rows, size.rows_max, 8, size.outputs});
  const auto panels = static_cast<std::size_t>(ceil_div(size.outputs, linear::kPanelOutputs));
  const std::size_t bytes = panels * linear::codes::panel_bytes(kind, size.inputs);
  const std::size_t groups =
      size.rows * static_cast<std::size_t>(linear::codes::group_count(size.inputs));
  of_halves.x = memory_.array("coded", std::vector<RowGroup>(groups));
  of_halves.weights = memory_.array("panels", std::vector<std::uint32_t>(bytes / 4));
  of_halves.inputs = size.inputs;
  return {of_halves, kind};
}

/// Two panels, and a block that has none. So have the other kernels for few rows.
OverlappingLaunch FastLaunches::project_codes_few() {
  ProjectCodesFewArgs args{codes({.rows = 3, .rows_max = 8, .inputs = 32, .outputs = 40})};
  const int inputs = turns_and_tail(2, args.round_groups() * 32);
  args.codes = codes({.rows = 3, .rows_max = 8, .inputs = inputs, .outputs = 40});
  simt::LaunchShape shape = args.shape();
  ++shape.grid.y;
  return overlapping(args, shape, args.codes.product.x);
}

OverlappingLaunch FastLaunches::project_codes_narrow() {
  ProjectCodesNarrowArgs args{codes({.rows = 5, .rows_max = 20, .inputs = 32, .outputs = 40})};
  args.codes = codes({.rows = 5,
                      .rows_max = 20,
                      .inputs = turns_and_tail(args.stages(), args.kStageGroups * 32),
                      .outputs = 40});
  simt::LaunchShape shape = args.shape();
  ++shape.grid.y;
  return overlapping(args, shape, args.codes.product.x);
}

OverlappingLaunch FastLaunches::project_codes_wide() {
  using Args = ProjectCodesWideArgs;
  const Args args{codes({.rows = 40,
                         .rows_max = 200,
                         .inputs = turns_and_tail(Args::kStages, Args::kStageGroups * 32),
                         .outputs = 24})};
  return overlapping(args, args.shape(), args.codes.product.x);
}

OverlappingLaunch FastLaunches::project_codes_narrow_full() {
  const ProjectCodesNarrowArgs args{
      codes({.rows = 16, .rows_max = 16, .inputs = 512, .outputs = 32}, linear::PanelKind::q4_k)};
  return overlapping(args, args.shape(), args.codes.product.x);
}

OverlappingLaunch FastLaunches::project_codes_wide_full() {
  const ProjectCodesWideArgs args{
      codes({.rows = 64, .rows_max = 64, .inputs = 512, .outputs = 64}, linear::PanelKind::q8_0)};
  return overlapping(args, args.shape(), args.codes.product.x);
}

// ---- Experts ------------------------------------------------------------------------------------

OverlappingLaunch FastLaunches::choose_experts() {
  constexpr int kExperts = 40;
  const ChooseExpertsArgs args{.counts = one_row(),
                               .products = memory_.array("products", random_.reals(kExperts)),
                               .bias = nullptr,
                               .choices = memory_.array("choices", std::vector<ExpertChoice>(2)),
                               .experts = kExperts,
                               .experts_per_token = 2,
                               .groups = 1,
                               .groups_per_token = 1,
                               .group_best = 1,
                               .sigmoid = false,
                               .normalized = true,
                               .routed_scale = 1};
  return overlapping(args, args.shape(2), args.products);
}

OverlappingLaunch FastLaunches::plan_experts() {
  const std::vector<ExpertChoice> choices{{3, 1}, {40, 1}};
  const PlanExpertsArgs args{
      .counts = one_row(),
      .choices = memory_.array("choices", choices),
      .plan = {.pairs = memory_.array("pairs", std::vector<std::uint32_t>(2)),
               .tiles = memory_.array("tiles", std::vector<ExpertTile>(2)),
               .tiles_count = memory_.array("tiles_count", std::vector<std::uint32_t>(1)),
               .counts = memory_.array("pair_counts", std::vector<PassCounts>(1))},
      .experts = 64,
      .experts_per_token = 2,
      .tile_rows = ProjectExpertsNarrowArgs::kTileRows};
  return overlapping(args, args.shape(20), args.choices);
}

ExpertProduct FastLaunches::expert_product(const ProductSize& size) {
  constexpr int kExperts = 2;
  const TensorProduct one = product(size);
  const int padded = ceil_div(size.outputs, linear::kPanelOutputs) * linear::kPanelOutputs;
  std::vector<std::uint32_t> pairs;
  for (std::uint32_t pair = size.rows; pair-- > 0;) pairs.push_back(pair);
  return {.plan = {.pairs = memory_.array("pairs", pairs),
                   .tiles = memory_.array("tiles", std::vector<ExpertTile>{{1, 0, size.rows}}),
                   .tiles_count = memory_.array("tiles_count", std::vector<std::uint32_t>{1}),
                   .counts = nullptr},
          .rows_max = size.rows_max,
          .tiles_max = 2,
          .x = one.x,
          .pairs_per_row = 1,
          .inputs = size.inputs,
          .outputs = size.outputs,
          .type = one.type,
          .weights = halves("weights", kExperts * padded * size.inputs),
          .matrix_bytes = static_cast<std::uint64_t>(padded * size.inputs) * 2,
          .y = one.y};
}

OverlappingLaunch FastLaunches::project_experts_narrow() {
  const ProjectExpertsNarrowArgs args{
      expert_product({.rows = 5, .rows_max = 20, .inputs = kNarrowInputs, .outputs = 24})};
  return overlapping(args, args.shape(), args.product.plan.tiles_count);
}

OverlappingLaunch FastLaunches::project_experts_narrow_full() {
  const ProjectExpertsNarrowArgs args{expert_product(
      {.rows = 16, .rows_max = 16, .inputs = 2 * ProjectNarrowArgs::kStageInputs, .outputs = 16})};
  return overlapping(args, args.shape(), args.product.x);
}

OverlappingLaunch FastLaunches::project_experts_wide() {
  const ProjectExpertsWideArgs args{expert_product(
      {.rows = 70, .rows_max = 200, .inputs = wide_inputs(WideKind::large), .outputs = 40})};
  return overlapping(args, args.shape(), args.product.x);
}

OverlappingLaunch FastLaunches::project_experts_wide_full() {
  const ProjectExpertsWideArgs args{
      expert_product({.rows = 128, .rows_max = 128, .inputs = kFullInputs, .outputs = 128})};
  return overlapping(args, args.shape(), args.product.x);
}

ExpertProduct FastLaunches::expert_codes(const ProductSize& size, linear::PanelKind kind) {
  ExpertProduct product = expert_product({size.rows, size.rows_max, 8, size.outputs});
  const auto panels = static_cast<std::size_t>(ceil_div(size.outputs, linear::kPanelOutputs));
  product.x = codes(size, kind).product.x;
  product.inputs = size.inputs;
  product.matrix_bytes = panels * linear::codes::panel_bytes(kind, size.inputs);
  product.weights =
      memory_.array("panels", std::vector<std::uint32_t>(2 * product.matrix_bytes / 4));
  return product;
}

/// Two panels, and a block that has none; a tile that is not there.
OverlappingLaunch FastLaunches::project_experts_codes_narrow() {
  ProjectExpertsCodesNarrowArgs args{.kind = linear::PanelKind::int8};
  constexpr int kStageInputs = ProjectCodesNarrowArgs::kStageGroups * 32;
  const int inputs = turns_and_tail(args.of(0).stages(), kStageInputs);
  args.product =
      expert_codes({.rows = 5, .rows_max = 20, .inputs = inputs, .outputs = 40}, args.kind);
  simt::LaunchShape shape = args.shape();
  ++shape.grid.y;
  return overlapping(args, shape, args.product.plan.tiles_count);
}

template <class Args>
OverlappingLaunch FastLaunches::of_expert_codes(const ProductSize& size, linear::PanelKind kind) {
  const Args args{expert_codes(size, kind), kind};
  return overlapping(args, args.shape(), args.product.x);
}

OverlappingLaunch FastLaunches::project_experts_codes_wide() {
  using Args = ProjectCodesWideArgs;
  return of_expert_codes<ProjectExpertsCodesWideArgs>(
      {40, 200, turns_and_tail(Args::kStages, Args::kStageGroups * 32), 24},
      linear::PanelKind::int8);
}

OverlappingLaunch FastLaunches::project_experts_codes_narrow_full() {
  return of_expert_codes<ProjectExpertsCodesNarrowArgs>({16, 16, 512, 32}, linear::PanelKind::q4_k);
}

OverlappingLaunch FastLaunches::project_experts_codes_wide_full() {
  return of_expert_codes<ProjectExpertsCodesWideArgs>({64, 64, 512, 64}, linear::PanelKind::q8_0);
}

OverlappingLaunch FastLaunches::add_experts() {
  constexpr std::size_t kSize = 40;
  const std::vector<ExpertChoice> choices{{3, 1}, {40, 1}};
  const AddExpertsArgs args{
      .counts = one_row(),
      .choices = memory_.array("choices", choices),
      .produced = memory_.array("produced", random_.reals(2 * kSize)),
      .shared = nullptr,
      .y = memory_.array("y", random_.reals(kSize)),
      .size = kSize,
      .experts_per_token = 2,
      .accumulate = true,
      .multiplier = 1,
      .next = {.h = halves("h", kSize),
               .weight = memory_.array("weight", random_.reals(kSize)),
               .squares = memory_.array("squares", std::vector<float>(kSize / 8))},
      .type = HalfType::bf16};
  return overlapping(args, args.shape(2), args.produced);
}

}  // namespace forge::gpu
