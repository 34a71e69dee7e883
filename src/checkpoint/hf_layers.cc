// What config.json says of single layers: which of them have a window, and which have RoPE.
#include <algorithm>

#include "fields.h"
#include "hf_parts.h"

namespace forge::checkpoint::detail::hf {
namespace {

using model::GroupedQueryConfig;

constexpr const char* kTypes = "layer_types";
constexpr const char* kFull = "full_attention";
constexpr const char* kSliding = "sliding_attention";

/// [layers], true: every nth one.
std::vector<bool> every(int period, int layers) {
  std::vector<bool> out(static_cast<std::size_t>(layers));
  for (std::size_t layer = 0; layer < out.size(); ++layer) {
    out[layer] = (layer + 1) % static_cast<std::size_t>(period) == 0;
  }
  return out;
}

/// The same for all layers is said by one number, not by a list.
std::vector<bool> unless_none(std::vector<bool> layers) {
  return std::ranges::find(layers, true) == layers.end() ? std::vector<bool>() : layers;
}

/// no_rope_layers has 1 for a layer with RoPE, 0 for one without.
void read_unturned(const json::Fields& fields, Reading& reading) {
  if (reading.family.unturned_period == 0) return;
  const int layers = reading.model.layers;
  const std::vector<std::int64_t> turned = fields.integers("no_rope_layers", {0, 1});
  const int period = fields.integer("no_rope_layer_interval", {1, model::kLayersMax},
                                    reading.family.unturned_period);
  std::vector<bool> unturned = every(period, layers);
  if (fields.has("no_rope_layers")) {
    if (turned.size() < unturned.size()) {
      fields.fail("no_rope_layers", "a list of at least " + std::to_string(layers));
      return;
    }
    for (std::size_t i = 0; i < unturned.size(); ++i) unturned[i] = turned[i] == 0;
  }
  reading.model.unturned_layers = unless_none(std::move(unturned));
}

std::vector<bool> full_layers_of(const json::Fields& fields, const std::vector<std::string>& types,
                                 int layers) {
  std::vector<bool> full(types.size());
  for (std::size_t i = 0; i < full.size(); ++i) full[i] = types[i] == kFull;
  const auto sliding = std::ranges::count(types, kSliding);
  const auto known = sliding + std::ranges::count(full, true);
  if (static_cast<int>(types.size()) != layers || known != layers) {
    fields.fail(kTypes, "\"full_attention\" or \"sliding_attention\" for each of the " +
                            std::to_string(layers) + " layers");
    full.assign(static_cast<std::size_t>(layers), false);
  }
  return full;
}

/// [layers], true: without the window, where layer_types is left out.
std::vector<bool> usual_full_layers(const json::Fields& fields, const Reading& reading) {
  const Family& family = reading.family;
  const int layers = reading.model.layers;
  if (family.full_period > 0) {
    const int usual = family.full_period;
    return every(family.period_said
                     ? fields.integer("sliding_window_pattern", {1, model::kLayersMax}, usual)
                     : usual,
                 layers);
  }
  std::vector<bool> full(static_cast<std::size_t>(layers), false);
  if (family.window_layers == WindowLayers::all) return full;
  if (family.window_layers == WindowLayers::unturned) {
    full.flip();
    for (std::size_t i = 0; i < reading.model.unturned_layers.size(); ++i) {
      full[i] = !reading.model.unturned_layers[i];
    }
    return full;
  }
  constexpr int kFirstDefault = 28;
  const int max = fields.integer("max_window_layers", {0, model::kLayersMax}, kFirstDefault);
  for (int layer = 0; layer < layers; ++layer) {
    full[static_cast<std::size_t>(layer)] = family.window_layers == WindowLayers::from_max
                                                ? layer < max
                                                : layer % 2 == 1 || layer >= max;
  }
  return full;
}

void read_window(const json::Fields& fields, Reading& reading) {
  const Family& family = reading.family;
  auto& attention = std::get<GroupedQueryConfig>(reading.model.attention);
  if (family.window == Window::never) return;
  const std::vector<std::string> types = fields.texts(kTypes);
  if (family.window == Window::if_used && !fields.boolean("use_sliding_window", false)) return;
  std::vector<bool> full = types.empty() ? usual_full_layers(fields, reading)
                                         : full_layers_of(fields, types, reading.model.layers);
  if (std::ranges::find(full, false) == full.end()) return;
  const bool none = fields.is_null("sliding_window") || family.window_size == 0;
  attention.sliding_window =
      fields.integer("sliding_window", model::kPositionCounts, none ? 0 : family.window_size);
  if (attention.sliding_window > 0) attention.full_layers = unless_none(std::move(full));
}

void write_window(const model::ModelConfig& model, const Family& family, Sink& out) {
  const auto& attention = std::get<GroupedQueryConfig>(model.attention);
  const bool has_window = attention.sliding_window > 0;
  if (family.window == Window::never) return;
  if (family.window == Window::if_used) out.set("use_sliding_window", has_window);
  if (!has_window) return out.none("sliding_window");
  out.set("sliding_window", attention.sliding_window);
  const bool is_usual = family.window_layers == WindowLayers::all && family.full_period == 0;
  if (attention.full_layers.empty() && is_usual) return;
  std::vector<std::string> types(static_cast<std::size_t>(model.layers), kSliding);
  for (std::size_t i = 0; i < attention.full_layers.size(); ++i) {
    if (attention.full_layers[i]) types[i] = kFull;
  }
  out.set(kTypes, std::move(types));
}

}  // namespace

void read_layers(const json::Fields& fields, Reading& reading) {
  read_unturned(fields, reading);
  read_window(fields, reading);
}

void write_layers(const model::ModelConfig& model, const Family& family, Sink& out) {
  if (family.unturned_period > 0) {
    std::vector<int> turned(static_cast<std::size_t>(model.layers), 1);
    for (std::size_t i = 0; i < model.unturned_layers.size(); ++i) {
      if (model.unturned_layers[i]) turned[i] = 0;
    }
    out.set("no_rope_layers", std::move(turned));
  }
  write_window(model, family, out);
}

}  // namespace forge::checkpoint::detail::hf
