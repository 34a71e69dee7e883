#include "fast_shapes.h"

#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "forge/core/check.h"
#include "forge/gpu/kernels.h"
#include "forge/linear/panels.h"

namespace forge::gpu {
namespace {

/// A row of 16-bit numbers is whole pieces of 16 bytes.
constexpr int kRowMultiple = 8;
/// A key is whole steps of the tensor core.
constexpr int kKeyMultiple = 16;

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

struct Size {
  std::string part;
  int size;
  int divisor;
};

/// Those of which rows, keys and values are made.
std::vector<Size> sizes_of(const model::GroupedQueryConfig& attention) {
  return {{"head size", attention.head_size, kKeyMultiple}};
}
std::vector<Size> sizes_of(const model::LatentConfig& attention) {
  return {{"latent and RoPE size", attention.kv_rank + attention.rope_size, kKeyMultiple},
          {"latent size", attention.kv_rank, kRowMultiple},
          {"latent size of queries", attention.query_rank, kRowMultiple},
          {"key size without RoPE", attention.nope_size, kRowMultiple},
          {"value size of all heads", attention.heads * attention.value_size, kRowMultiple}};
}

tl::expected<void, std::string> takes_sizes(const model::ModelConfig& config) {
  std::vector<Size> sizes =
      std::visit([](const auto& attention) { return sizes_of(attention); }, config.attention);
  const model::ExpertsConfig experts = config.experts.value_or(model::ExpertsConfig());
  sizes.insert(sizes.end(),
               {{"hidden size", config.hidden_size, kRowMultiple},
                {"inner size of the MLP", config.ffn_size, kRowMultiple},
                {"inner size of an expert", experts.expert_size, kRowMultiple},
                {"inner size of the shared experts", experts.shared_size, kRowMultiple}});
  for (const auto& [part, size, divisor] : sizes) {
    if (size % divisor == 0) continue;
    return refused(part + " " + std::to_string(size), "a multiple of " + std::to_string(divisor));
  }
  const auto* const latent = std::get_if<model::LatentConfig>(&config.attention);
  if (latent == nullptr || latent->kv_rank <= kLatentValueMax) return {};
  return refused("latent size " + std::to_string(latent->kv_rank),
                 "up to " + std::to_string(kLatentValueMax));
}

}  // namespace

tl::expected<void, std::string> takes_fast(const model::ModelConfig& config,
                                           const model::PackedModel& layout) {
  if (auto taken = takes_sizes(config); !taken) return taken;
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

/// The attention of a model, and what a block of it takes of shared memory.
struct Attention {
  const char* kernel;
  int key_size;
  int bytes;
};

Attention attention_of(const model::ModelConfig& config) {
  if (const auto* const latent = std::get_if<model::LatentConfig>(&config.attention)) {
    const int key_size = latent->kv_rank + latent->rope_size;
    return {"attend_latent_spans", key_size,
            AttendLatentSpansArgs::kResources.shared_bytes +
                span_bytes(AttendLatentSpansArgs::kPairsMax, key_size, true)};
  }
  const int key_size = std::get<model::GroupedQueryConfig>(config.attention).head_size;
  return {"attend_spans", key_size,
          AttendSpansArgs::kResources.shared_bytes + span_bytes(kSpanPairs, key_size)};
}

/// The ring of products is the same for all models, and smaller.
Status fits(const model::ModelConfig& config, const DeviceInfo& device) {
  const auto [kernel, key_size, needed] = attention_of(config);
  if (static_cast<std::uint64_t>(needed) <= device.shared_bytes) return {};
  return tl::unexpected(
      DeviceError{.call = kernel,
                  .message = "with keys of " + std::to_string(key_size) +
                             " numbers a block takes " + std::to_string(needed) +
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
