// What GGUF says of single layers: which of them have a window, and which have RoPE. Mostly
// nothing, because llama.cpp knows it; a list of windows is written where it is not the usual one.
#include <algorithm>
#include <cstdint>

#include "fields.h"
#include "gguf_parts.h"

namespace forge::checkpoint::detail::gguf {
namespace {

using model::GroupedQueryConfig;

/// One number a layer: 1 with a window, 0 without.
constexpr const char* kPattern = "attention.sliding_window_pattern";

/// [layers], true: every nth one; empty where n is 0.
std::vector<bool> every(int period, int layers) {
  std::vector<bool> out;
  for (int layer = 0; period > 0 && layer < layers; ++layer) {
    out.push_back((layer + 1) % period == 0);
  }
  return std::ranges::find(out, true) == out.end() ? std::vector<bool>() : out;
}

std::vector<bool> read_pattern(GgufFields& fields, int layers) {
  std::vector<bool> full(static_cast<std::size_t>(layers), false);
  const auto pattern = fields.gguf().numbers(fields.name_of(kPattern));
  const bool fractions = pattern && (pattern->type() == formats::GgufType::f32 ||
                                     pattern->type() == formats::GgufType::f64);
  if (!pattern || fractions || pattern->size() != full.size()) {
    fields.fail(kPattern,
                "an array of " + std::to_string(layers) + " integers or booleans, one a layer");
    return {};
  }
  for (std::size_t i = 0; i < full.size(); ++i) full[i] = pattern->number(i) == 0;
  return std::ranges::find(full, true) == full.end() ? std::vector<bool>() : full;
}

}  // namespace

void read_layers(GgufFields& fields, Reading& reading) {
  model::ModelConfig& model = reading.model;
  model.unturned_layers = every(reading.family.unturned_period, model.layers);
  auto& grouped = std::get<GroupedQueryConfig>(model.attention);
  if (grouped.sliding_window == 0) return;
  grouped.full_layers = fields.has(kPattern) ? read_pattern(fields, model.layers)
                                             : every(reading.family.full_period, model.layers);
  const auto full = std::ranges::count(grouped.full_layers, true);
  if (full < model.layers) return;
  grouped.sliding_window = 0;
  grouped.full_layers.clear();
}

void write_layers(const model::ModelConfig& model, const Family& family, Sink& out) {
  const auto& grouped = std::get<GroupedQueryConfig>(model.attention);
  if (grouped.sliding_window == 0 ||
      grouped.full_layers == every(family.full_period, model.layers)) {
    return;
  }
  std::vector<std::int32_t> pattern(static_cast<std::size_t>(model.layers), 1);
  for (std::size_t i = 0; i < grouped.full_layers.size(); ++i) {
    if (grouped.full_layers[i]) pattern[i] = 0;
  }
  out.keys.set_i32s(out.prefix + kPattern, pattern);
}

}  // namespace forge::checkpoint::detail::gguf
