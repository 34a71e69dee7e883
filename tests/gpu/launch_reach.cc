#include "gpu/launch_reach.h"

#include <algorithm>
#include <vector>

namespace forge::testing {
namespace {

constexpr const char* kind_name(gpu::WideKind kind) {
  switch (kind) {
    case gpu::WideKind::large:
      return " large";
    case gpu::WideKind::small:
      return " small";
    case gpu::WideKind::slim:
      return " slim";
  }
  return "";
}

template <class Args>
std::string name_of(const gpu::KernelLaunch& launch, const Args& args) {
  std::string name(gpu::name(launch.kernel));
  if constexpr (requires { args.kind == gpu::WideKind::large; }) name += kind_name(args.kind);
  return name;
}

}  // namespace

LaunchReach::Ring LaunchReach::ring_of(const gpu::ProjectNarrowArgs& args) {
  return {args.stages(args.product.is_gated()), args.kStageInputs};
}
LaunchReach::Ring LaunchReach::ring_of(const gpu::ProjectWideArgs& args) {
  return {args.block().stages, args.kStageInputs};
}
/// Two rounds take turns.
LaunchReach::Ring LaunchReach::ring_of(const gpu::ProjectCodesFewArgs& args) {
  return {2, args.round_groups() * linear::codes::kGroup};
}
LaunchReach::Ring LaunchReach::ring_of(const gpu::ProjectCodesNarrowArgs& args) {
  return {args.stages(), args.kStageGroups * linear::codes::kGroup};
}
LaunchReach::Ring LaunchReach::ring_of(const gpu::ProjectCodesWideArgs& args) {
  return {args.kStages, args.kStageGroups * linear::codes::kGroup};
}

void LaunchReach::note(const gpu::KernelLaunch& launch) {
  gpu::visit_args(launch, [&](const auto& args) { note_arguments(name_of(launch, args), args); });
}

template <class Args>
void LaunchReach::note_arguments(const std::string& name, const Args& args) {
  KernelReach& reach = kernels_[name];
  if constexpr (requires { ring_of(args), args.product; }) {
    reach.rows.insert(*args.product.row_count);
    note_inputs(reach, ring_of(args), args.product.inputs);
  } else if constexpr (requires { ring_of(args); }) {
    reach.rows.insert(*args.codes.product.row_count);
    note_inputs(reach, ring_of(args), args.codes.product.inputs);
  } else if constexpr (requires { ring_of(args.of(0)), args.product.plan; }) {
    const gpu::ExpertPlan& plan = args.product.plan;
    for (std::uint32_t i = 0; i < *plan.tiles_count; ++i) reach.rows.insert(plan.tiles[i].count);
    note_inputs(reach, ring_of(args.of(0)), args.product.inputs);
  } else if constexpr (requires { ring_of(args.of(0)); }) {
    reach.rows.insert(*args.row_count);
    note_inputs(reach, ring_of(args.of(0)), args.inputs);
  } else if constexpr (requires { args.in.window, args.tiles.of; }) {
    note_attention(reach, args);
  } else if constexpr (std::is_same_v<Args, gpu::PlanExpertsArgs>) {
    note_plan(args);
  }
}

void LaunchReach::note_inputs(KernelReach& reach, const Ring& ring, int inputs) {
  if (inputs > 2 * ring.stages * ring.stage_inputs && inputs % ring.stage_inputs != 0) {
    reach.turns_twice_with_tail = true;
  }
}

template <class Args>
void LaunchReach::note_attention(KernelReach& reach, const Args& args) {
  if (args.tiles.of == nullptr) {
    for (std::uint32_t row = 0; row < args.in.counts->decode_rows; ++row) {
      reach.rows.insert(1);
      note_row(reach, args.in, row);
    }
    return;
  }
  for (std::uint32_t i = 0; i < args.in.counts->prompt_tiles; ++i) {
    const gpu::PromptTile& tile = args.tiles.of[i];
    reach.rows.insert(tile.count);
    for (std::uint32_t row = 0; row < tile.count; ++row) {
      note_row(reach, args.in, tile.first + row);
    }
  }
}

void LaunchReach::note_row(KernelReach& reach, const gpu::SpanInput& in, std::uint32_t row) {
  const int length = static_cast<int>(in.rows[row].position) + 1;
  const int first = in.first_seen(length);
  if (first % numerics::kSpanTile != 0) reach.begins_inside_tile = true;
  if (length % numerics::kSpanTile == 0) return;
  const int spans = (length - 1) / numerics::kSpan - first / numerics::kSpan + 1;
  reach.spans_with_ragged_last = std::max(reach.spans_with_ragged_last, spans);
}

void LaunchReach::note_plan(const gpu::PlanExpertsArgs& args) {
  std::vector<std::uint32_t> rows(static_cast<std::size_t>(args.experts));
  const std::uint32_t pairs =
      args.counts->rows * static_cast<std::uint32_t>(args.experts_per_token);
  for (std::uint32_t pair = 0; pair < pairs; ++pair) ++rows[args.choices[pair].expert];
  expert_rows_.insert(rows.begin(), rows.end());
}

}  // namespace forge::testing
