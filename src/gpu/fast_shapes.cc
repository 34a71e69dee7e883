#include "fast_shapes.h"

#include <optional>
#include <utility>
#include <variant>

#include "forge/core/check.h"
#include "forge/gpu/kernels.h"
#include "forge/linear/panels.h"

namespace forge::gpu {
namespace {

/// A row of 16-bit numbers is whole pieces of 16 bytes.
constexpr int kRowMultiple = 8;
/// A head is whole steps of the tensor core.
constexpr int kHeadMultiple = 16;

tl::unexpected<std::string> refused(const std::string& property, const std::string& accepted) {
  return tl::unexpected(property + ", accepted with fast numerics: " + accepted);
}

/// Calls visit(section) for each section of each matrix.
template <class Visit>
void for_each_section(const model::PackedModel& layout, const Visit& visit) {
  for_each_matrix(layout, [&](const linear::LinearWeights& matrix) {
    for (const linear::Section& section : matrix.sections()) visit(section);
  });
}

std::string of_kind(linear::PanelKind kind) { return "weights of " + std::string(name_of(kind)); }

/// The kind of the first weights of 16 bits.
std::optional<linear::PanelKind> rows_kind(const model::PackedModel& layout) {
  std::optional<linear::PanelKind> rows;
  for_each_section(layout, [&](const linear::Section& section) {
    if (!rows && has_rows(section.kind)) rows = section.kind;
  });
  return rows;
}

/// Numbers of one type of 16 bits, and codes beside them or alone.
tl::expected<void, std::string> takes_weights(const model::PackedModel& layout) {
  const std::optional<linear::PanelKind> rows = rows_kind(layout);
  tl::expected<void, std::string> taken;
  for_each_section(layout, [&](const linear::Section& section) {
    if (!taken) return;
    const linear::PanelKind kind = section.kind;
    if (!has_codes(kind) && !has_rows(kind)) {
      taken = refused(of_kind(kind), "bf16, f16, codes");
    } else if (has_rows(kind) && kind != *rows) {
      taken = refused(of_kind(*rows) + " and of " + std::string(name_of(kind)),
                      "one type of 16 bits for all");
    }
  });
  return taken;
}

/// Gates and ups are one section, and of codes they go side by side through a block, a panel each.
/// part: "the MLP".
tl::expected<void, std::string> takes_gates(const model::PackedMlp& mlp, const std::string& part) {
  if (mlp.gate_up.sections().size() > 1) {
    return refused("gates and ups of different kinds, or orders of inputs", "the same for both");
  }
  const bool of_codes = has_codes(mlp.gate_up.sections().front().kind);
  if (!of_codes || mlp.size() % linear::kPanelOutputs == 0) return {};
  return refused("inner size of " + part + " " + std::to_string(mlp.size()),
                 "with codes a multiple of " + std::to_string(linear::kPanelOutputs));
}

/// Experts have all the same (gpu_model.cc).
tl::expected<void, std::string> takes_gates(const model::PackedModelLayer& layer) {
  if (const auto* const mlp = std::get_if<model::PackedMlp>(&layer.mlp)) {
    return takes_gates(*mlp, "the MLP");
  }
  const auto& experts = std::get<model::PackedExperts>(layer.mlp);
  auto taken = takes_gates(experts.experts.front(), "an expert");
  if (!taken || !experts.shared) return taken;
  return takes_gates(*experts.shared, "the shared experts");
}

}  // namespace

tl::expected<void, std::string> takes_fast(const model::ModelConfig& config,
                                           const model::PackedModel& layout) {
  const auto* const attention = std::get_if<model::GroupedQueryConfig>(&config.attention);
  if (attention == nullptr) return refused("latent attention", "grouped-query attention");
  if (attention->head_size % kHeadMultiple != 0) {
    return refused("head size " + std::to_string(attention->head_size),
                   "a multiple of " + std::to_string(kHeadMultiple));
  }
  const std::string multiple = "a multiple of " + std::to_string(kRowMultiple);
  if (config.hidden_size % kRowMultiple != 0) {
    return refused("hidden size " + std::to_string(config.hidden_size), multiple);
  }
  const model::ExpertsConfig experts = config.experts.value_or(model::ExpertsConfig());
  for (const auto& [part, size] :
       {std::pair("the MLP", config.ffn_size), std::pair("an expert", experts.expert_size),
        std::pair("the shared experts", experts.shared_size)}) {
    if (size % kRowMultiple == 0) continue;
    return refused("inner size of " + std::string(part) + " " + std::to_string(size), multiple);
  }
  if (auto taken = takes_weights(layout); !taken) return taken;
  for (const model::PackedModelLayer& layer : layout.layers) {
    if (auto taken = takes_gates(layer); !taken) return taken;
  }
  return {};
}

numerics::HalfType half_type(const model::PackedModel& layout) {
  const bool is_f16 = rows_kind(layout) == linear::PanelKind::f16_rows;
  return is_f16 ? numerics::HalfType::f16 : numerics::HalfType::bf16;
}

namespace {

/// The ring of products is the same for all models, and smaller.
Status fits(const model::ModelConfig& config, const DeviceInfo& device) {
  const auto& attention = std::get<model::GroupedQueryConfig>(config.attention);
  const int needed =
      AttendSpansArgs::kResources.shared_bytes + span_bytes(kSpanPairs, attention.head_size);
  if (static_cast<std::uint64_t>(needed) <= device.shared_bytes) return {};
  return tl::unexpected(
      DeviceError{.call = "attend_spans",
                  .message = "with heads of " + std::to_string(attention.head_size) +
                             " a block takes " + std::to_string(needed) +
                             " bytes of shared memory, accepted with fast numerics: up to " +
                             std::to_string(device.shared_bytes),
                  .device = device.name});
}

}  // namespace

Status fits_fast(const GpuModels& models, numerics::KvType kv_type, const DeviceInfo& device) {
  for (const GpuModel* const model : {&models.model, models.draft ? &*models.draft : nullptr}) {
    if (model == nullptr || model->numerics() != GpuNumerics::fast) continue;
    FORGE_CHECK(kv_type != numerics::KvType::f32, "KV of f32 with fast numerics");
    if (auto done = fits(model->config(), device); !done) return done;
  }
  return {};
}

}  // namespace forge::gpu
