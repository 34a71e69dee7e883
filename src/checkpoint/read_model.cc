#include "read_model.h"

#include "forge/model/stored_shapes.h"
#include "forge/model/weight_roles.h"

namespace forge::checkpoint::detail {
namespace {

/// By heads where that is all that the file has.
model::LatentLayout layout_of(const TensorSource& source, const std::string& layer) {
  const bool by_heads =
      source.has(layer + ".attention.key_up.0") && !source.has(layer + ".attention.kv_up");
  return by_heads ? model::LatentLayout::by_heads : model::LatentLayout::whole;
}

}  // namespace

tl::expected<model::StoredModel, formats::FileError> read_model(const model::ModelConfig& config,
                                                                TensorSource& source) {
  const auto fill = [&](auto& part, const std::string& path) {
    for_each_weight(
        part,
        [&](const std::string& role, linear::StoredLinear& matrix) {
          matrix = source.matrix(role, matrix.outputs, matrix.inputs);
        },
        [&](const std::string& role, std::vector<float>& vector) {
          vector = source.vector(role, static_cast<int>(vector.size()));
        },
        path);
  };
  model::StoredModel model = model::outer_shapes(config);
  fill(model, "");
  // One layer after the other: of a thousand that the file does not have, the first is missing.
  for (int i = 0; i < config.layers && !source.failed(); ++i) {
    const std::string layer = "layers." + std::to_string(i);
    fill(model.layers.emplace_back(layer_shapes(config, i, layout_of(source, layer))), layer);
  }
  if (source.failed()) return tl::unexpected(*source.fault());
  return model;
}

}  // namespace forge::checkpoint::detail
