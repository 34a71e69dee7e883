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

/// The type of a matrix, or its first section that is of another kind than `expected` or no rows.
std::optional<linear::PanelKind> other_kind(const model::PackedModel& layout,
                                            linear::PanelKind expected) {
  std::optional<linear::PanelKind> other;
  for_each_matrix(layout, [&](const linear::LinearWeights& matrix) {
    for (const linear::Section& section : matrix.sections()) {
      if (section.kind != expected && !other) other = section.kind;
    }
  });
  return other;
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
  const linear::PanelKind kind = layout.head.sections().front().kind;
  if (!has_rows(kind)) {
    return refused("weights in panels of " + std::string(name_of(kind)), "bf16, f16");
  }
  if (const auto other = other_kind(layout, kind)) {
    return refused(
        "weights of " + std::string(name_of(kind)) + " and of " + std::string(name_of(*other)),
        "one type of 16 bits for all");
  }
  return {};
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
