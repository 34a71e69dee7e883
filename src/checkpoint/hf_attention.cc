#include <algorithm>
#include <cmath>

#include "fields.h"
#include "hf_parts.h"
#include "latent_scale.h"

namespace forge::checkpoint::detail::hf {
namespace {

using model::GroupedQueryConfig;
using model::LatentConfig;

/// Without kv_heads there are as many as heads; without head_size, see usual_head_size.
constexpr std::tuple kGrouped{
    Field{"num_attention_heads", &GroupedQueryConfig::heads, model::kHeadCounts},
    Field{"num_key_value_heads", &GroupedQueryConfig::kv_heads, model::kHeadCounts, Absent::zero},
    Field{"head_dim", &GroupedQueryConfig::head_size, model::kHeadSizes, Absent::zero}};

constexpr std::tuple kLatent{
    Field{"num_attention_heads", &LatentConfig::heads, model::kHeadCounts},
    Field{"q_lora_rank", &LatentConfig::query_rank, model::kSizes, Absent::zero},
    Field{"kv_lora_rank", &LatentConfig::kv_rank, model::kSizes},
    Field{"qk_nope_head_dim", &LatentConfig::nope_size, model::kHeadSizes},
    Field{"qk_rope_head_dim", &LatentConfig::rope_size, model::kHeadSizes},
    Field{"v_head_dim", &LatentConfig::value_size, model::kHeadSizes}};

/// Whether sliding_window is there for the layers: for all or for none.
bool window_is_on(const json::Fields& fields, const Family& family, int layers) {
  if (family.window == Window::never) return false;
  const std::vector<std::string> kinds = fields.texts("layer_types");
  if (family.window == Window::if_used && !fields.boolean("use_sliding_window", false)) {
    return false;
  }
  if (!kinds.empty()) {
    const auto sliding = std::count(kinds.begin(), kinds.end(), "sliding_attention");
    const auto full = std::count(kinds.begin(), kinds.end(), "full_attention");
    if ((sliding != 0) == (full != 0) || sliding + full != layers) {
      fields.fail("layer_types", "\"full_attention\" for all " + std::to_string(layers) +
                                     " layers, or \"sliding_attention\" for all");
    }
    return sliding != 0;
  }
  if (family.window == Window::always || family.experts != Experts::none) return true;
  constexpr int kFirstDefault = 28;
  const int first = fields.integer("max_window_layers", {0, model::kLayersMax}, kFirstDefault);
  if (first != 0 && first < layers) {
    fields.fail("max_window_layers",
                "0, or " + std::to_string(layers) + " and more: a window for all layers or none");
  }
  return first == 0;
}

int read_window(const json::Fields& fields, const Family& family, int layers) {
  if (!window_is_on(fields, family, layers)) return 0;
  constexpr int kWindowDefault = 4096;
  return fields.integer("sliding_window", model::kPositionCounts,
                        fields.is_null("sliding_window") ? 0 : kWindowDefault);
}

void write_window(int window, const Family& family, Sink& out) {
  if (family.window == Window::never) return;
  if (family.window == Window::if_used) {
    out.set("use_sliding_window", window > 0);
    if (window > 0) out.set("max_window_layers", 0);
  }
  if (window > 0) {
    out.set("sliding_window", window);
  } else {
    out.none("sliding_window");
  }
}

void read_biases(const json::Fields& fields, Biases biases, GroupedQueryConfig& attention) {
  const bool said = fields.boolean("attention_bias", false);
  if (said && biases == Biases::none) fields.fail("attention_bias", "false");
  attention.output_bias = said && biases == Biases::all_if_said;
  attention.qkv_bias = attention.output_bias || biases == Biases::query_key_value;
}

/// Where head_dim is left out.
int usual_head_size(const json::Fields& fields, int heads, const Reading& reading) {
  const int hidden_size = reading.model.hidden_size;
  if (reading.family.head_size != 0) return reading.family.head_size;
  if (hidden_size % heads != 0) {
    fields.fail("head_dim", "an integer, as hidden_size is no multiple of num_attention_heads");
  }
  return std::max(1, hidden_size / heads);
}

GroupedQueryConfig read_grouped(const json::Fields& fields, Reading& reading) {
  const char* const head_size =
      fields.has("head_dim") ? "head_dim" : "hidden_size / num_attention_heads";
  reading.names.push_back({"head_size", head_size});
  reading.names.push_back({"rope.size", head_size});
  GroupedQueryConfig attention;
  read_fields(fields, kGrouped, attention, reading.names);
  if (attention.kv_heads == 0) attention.kv_heads = attention.heads;
  if (attention.head_size == 0) {
    attention.head_size = usual_head_size(fields, attention.heads, reading);
  }
  read_biases(fields, reading.family.biases, attention);
  attention.query_key_norm = reading.family.query_key_norm;
  attention.sliding_window = read_window(fields, reading.family, reading.model.layers);
  return attention;
}

}  // namespace

void read_attention(const json::Fields& fields, Reading& reading) {
  model::ModelConfig& model = reading.model;
  const double temperature = read_rope(fields, reading);
  if (reading.family.latent) {
    if (fields.boolean("attention_bias", false)) fields.fail("attention_bias", "false");
    auto& latent = model.attention.emplace<LatentConfig>();
    read_fields(fields, kLatent, latent, reading.names);
    reading.names.push_back({"rope.size", "qk_rope_head_dim"});
    model.rope.size = latent.rope_size;
    model.rope.pairing = fields.boolean("rope_interleave", true) ? model::RopePairing::adjacent
                                                                 : model::RopePairing::halves;
    model.attention_scale = latent_scale(latent, temperature);
    return;
  }
  const GroupedQueryConfig grouped = read_grouped(fields, reading);
  model.attention = grouped;
  model.rope.size = grouped.head_size;
  model.attention_scale = static_cast<float>(1 / std::sqrt(double{1} * grouped.head_size));
}

void write_attention(const model::ModelConfig& model, const Family& family, Sink& out) {
  if (const auto* const latent = std::get_if<LatentConfig>(&model.attention)) {
    write_fields(out, kLatent, *latent);
    out.set("num_key_value_heads", latent->heads);
    out.set("rope_interleave", model.rope.pairing == model::RopePairing::adjacent);
    out.set("attention_bias", false);
  } else {
    const auto& grouped = std::get<GroupedQueryConfig>(model.attention);
    write_fields(out, kGrouped, grouped);
    if (family.biases == Biases::all_if_said) out.set("attention_bias", grouped.output_bias);
    write_window(grouped.sliding_window, family, out);
  }
  write_rope(model, out);
}

}  // namespace forge::checkpoint::detail::hf
