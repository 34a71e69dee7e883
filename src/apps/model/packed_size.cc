#include "packed_size.h"

#include <list>
#include <map>
#include <utility>
#include <variant>
#include <vector>

#include "forge/linear/linear_weights.h"
#include "forge/model/packed_model.h"

namespace forge::apps {
namespace {

using linear::LinearWeights;
using linear::PanelKind;
using linear::StoredLinear;
using quant::WeightType;

class Sizes {
 public:
  explicit Sizes(const model::ModelConfig& config) : config_(config) {}

  std::uint64_t of(const model::StoredGroupedQuery& a) {
    return stacked({&a.query, &a.key, &a.value}) + stacked({&a.output});
  }

  std::uint64_t of(const model::StoredLatent& a) {
    const auto& latent = std::get<model::LatentConfig>(config_.attention);
    std::uint64_t bytes = stacked({&a.query_up}) + stacked({&a.kv_down}) + stacked({&a.output});
    if (a.query_down) bytes += stacked({&*a.query_down});
    for (const StoredLinear& head : a.key_up) bytes += stacked({&head});
    for (const StoredLinear& head : a.value_up) bytes += stacked({&head});
    if (!a.key_up.empty()) return bytes;
    const WeightType type = plain_type(a.kv_up);
    const auto heads = static_cast<std::uint64_t>(latent.heads);
    return bytes + heads * (plain(type, latent.kv_rank, latent.nope_size) +
                            plain(type, latent.value_size, latent.kv_rank));
  }

  std::uint64_t of(const model::StoredFeedForward& n) {
    return stacked({&n.gate, &n.up}) + stacked({&n.down});
  }

  std::uint64_t of(const model::StoredExperts& e) {
    std::uint64_t bytes = plain(WeightType::f32, e.router.outputs, e.router.inputs);
    for (const model::StoredFeedForward& expert : e.experts) bytes += of(expert);
    return e.shared ? bytes + of(*e.shared) : bytes;
  }

  /// Parts of the same kind after one another share panels.
  std::uint64_t stacked(std::vector<const StoredLinear*> parts) {
    std::list<StoredLinear> floats;  // in place of the parts that become some
    for (const StoredLinear*& part : parts) {
      if (!model::is_packed_as_floats(*part)) continue;
      part = &floats.emplace_back(*part);
      floats.back().form = linear::StoredRows{};
    }
    std::uint64_t bytes = 0;
    for (std::size_t i = 0; i < parts.size();) {
      const PanelKind kind = panel_kind(*parts[i]);
      const std::uint64_t panel = panel_bytes(*parts[i]);
      int outputs = 0;
      for (; i < parts.size() && panel_kind(*parts[i]) == kind; ++i) outputs += parts[i]->outputs;
      bytes += panel * static_cast<std::uint64_t>((outputs + linear::kPanelOutputs - 1) /
                                                  linear::kPanelOutputs);
    }
    return bytes;
  }

 private:
  /// As packed_model.cc keeps kv_up.
  static WeightType plain_type(const StoredLinear& stored) {
    const auto* const rows = std::get_if<linear::StoredRows>(&stored.form);
    const bool kept =
        rows != nullptr && (rows->type == WeightType::f32 || rows->type == WeightType::bf16);
    return kept ? rows->type : WeightType::f16;
  }

  std::uint64_t plain(WeightType type, int outputs, int inputs) {
    const StoredLinear stored{outputs, inputs, linear::StoredRows{type, nullptr}};
    return stacked({&stored});
  }

  /// Of one panel with such rows: that of a layer of eight zero rows, fewer than a panel has.
  std::uint64_t panel_bytes(const StoredLinear& like) {
    const auto key = std::pair(panel_kind(like), like.inputs);
    const auto known = panels_.find(key);
    if (known != panels_.end()) return known->second;
    constexpr int kOutputs = 8;
    const std::vector<std::byte> zeros(static_cast<std::size_t>(like.inputs) * kOutputs *
                                       sizeof(float));
    const std::vector<float> scales(kOutputs);
    StoredLinear small{kOutputs, like.inputs, like.form};
    if (auto* rows = std::get_if<linear::StoredRows>(&small.form)) rows->rows = zeros.data();
    if (auto* int8 = std::get_if<linear::StoredInt8>(&small.form)) *int8 = {zeros.data(), scales};
    if (auto* groups = std::get_if<linear::StoredGroups>(&small.form)) {
      groups->codes = groups->zeros = groups->scales = zeros.data();
      groups->order = {};
    }
    const std::uint64_t bytes = LinearWeights(std::span(&small, 1), one_thread_).bytes();
    panels_.emplace(key, bytes);
    return bytes;
  }

  const model::ModelConfig& config_;
  linear::ThreadPool one_thread_{1};
  std::map<std::pair<PanelKind, int>, std::uint64_t> panels_;
};

}  // namespace

std::uint64_t packed_bytes(const model::ModelConfig& config, const model::StoredModel& model) {
  Sizes sizes(config);
  std::uint64_t bytes = sizes.stacked({model.head ? &*model.head : &model.embedding});
  const auto add = [&](const auto& part) { bytes += sizes.of(part); };
  for (const model::StoredLayer& layer : model.layers) {
    std::visit(add, layer.attention);
    std::visit(add, layer.feed_forward);
  }
  return bytes;
}

}  // namespace forge::apps
