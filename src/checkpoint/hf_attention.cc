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

constexpr const char* kScoreCap = "attn_logit_softcapping";

void read_biases(const json::Fields& fields, Biases biases, GroupedQueryConfig& attention) {
  const bool usual = biases == Biases::all_unless_denied;
  const bool said = fields.boolean("attention_bias", usual);
  if (said && biases == Biases::none) fields.fail("attention_bias", "false");
  attention.output_bias = said && (usual || biases == Biases::all_if_said);
  switch (biases) {
    case Biases::query_key_value_unless_denied:
      attention.qkv_bias = fields.boolean("qkv_bias", true);
      break;
    case Biases::query_key_value_if_said:
      attention.qkv_bias = fields.boolean("attention_bias", true);
      break;
    default:
      attention.qkv_bias = attention.output_bias || biases == Biases::query_key_value;
  }
}

void write_biases(const GroupedQueryConfig& attention, Biases biases, Sink& out) {
  if (biases == Biases::all_if_said || biases == Biases::all_unless_denied) {
    out.set("attention_bias", attention.output_bias);
  }
  if (biases == Biases::query_key_value_if_said) out.set("attention_bias", attention.qkv_bias);
  if (biases == Biases::query_key_value_unless_denied) out.set("qkv_bias", attention.qkv_bias);
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

GroupedQueryConfig read_grouped(const json::Fields& fields, double rotary_factor,
                                Reading& reading) {
  const std::string head_size =
      fields.has("head_dim") ? "head_dim" : "hidden_size / num_attention_heads";
  reading.names.push_back({"head_size", head_size});
  const char* const turning = rotary_factor == 1 ? "" : " * partial_rotary_factor";
  reading.names.push_back({"rope.size", head_size + turning});
  GroupedQueryConfig attention;
  read_fields(fields, kGrouped, attention, reading.names);
  if (attention.kv_heads == 0) attention.kv_heads = attention.heads;
  if (attention.head_size == 0) {
    attention.head_size = usual_head_size(fields, attention.heads, reading);
  }
  read_biases(fields, reading.family.biases, attention);
  attention.query_key_norm = reading.family.query_key_norm;
  attention.score_cap = read_cap(fields, kScoreCap, reading.family, reading.family.score_cap);
  attention.sinks = reading.family.sinks;
  return attention;
}

/// The root of the key's number divides the scores.
constexpr const char* kQueryScalar = "query_pre_attn_scalar";
constexpr NumberRange kQueryScalars{1e-6, 1e6};
constexpr double kUsualQueryScalar = 256;

float usual_scale(double size) { return static_cast<float>(1 / std::sqrt(size)); }

/// As transformers cuts it off.
int turning(int head_size, double factor) { return static_cast<int>(head_size * factor); }

/// A number of few digits that says how much of a head turns.
double rotary_factor(int size, int head_size) {
  const auto says = [&](double factor) { return turning(head_size, factor) == size; };
  const double factor = with_fewest_digits(double{1} * size / head_size, says);
  return says(factor) ? factor : with_fewest_digits((size + 0.5) / head_size, says);
}

/// Layers with a window have no RoPE of their own where there are none, or where it is the usual.
void drop_usual_window_rope(model::ModelConfig& model) {
  const auto& grouped = std::get<GroupedQueryConfig>(model.attention);
  if (grouped.sliding_window == 0 || model.window_rope == model.rope) model.window_rope.reset();
}

}  // namespace

float read_cap(const json::Fields& fields, const char* key, const Family& family, double usual) {
  if (!family.caps || fields.is_null(key)) return 0;
  return static_cast<float>(fields.number(key, model::kCaps, usual));
}

void write_cap(float cap, const char* key, const Family& family, Sink& out) {
  if (!family.caps) return;
  if (cap > 0) return out.set(key, cap);
  out.none(key);
}

void read_attention(const json::Fields& fields, Reading& reading) {
  model::ModelConfig& model = reading.model;
  const RopeReading rope = read_rope(fields, reading);
  if (reading.family.latent) {
    if (fields.boolean("attention_bias", false)) fields.fail("attention_bias", "false");
    auto& latent = model.attention.emplace<LatentConfig>();
    read_fields(fields, kLatent, latent, reading.names);
    reading.names.push_back({"rope.size", "qk_rope_head_dim"});
    model.rope.size = latent.rope_size;
    model.rope.pairing = fields.boolean("rope_interleave", true) ? model::RopePairing::adjacent
                                                                 : model::RopePairing::halves;
    model.attention_scale = latent_scale(latent, rope.temperature);
    return;
  }
  const GroupedQueryConfig grouped = read_grouped(fields, rope.rotary_factor, reading);
  if (fields.boolean("use_bidirectional_attention", false)) {
    fields.fail("use_bidirectional_attention", "false");
  }
  model.attention = grouped;
  model.rope.size = turning(grouped.head_size, rope.rotary_factor);
  if (model.window_rope) model.window_rope->size = model.rope.size;
  set_pairing(model, reading.family.hf_pairing);
  model.attention_scale = usual_scale(grouped.head_size);
  if (reading.family.query_scalar) {
    model.attention_scale =
        usual_scale(fields.number(kQueryScalar, kQueryScalars, kUsualQueryScalar));
  }
  read_layers(fields, reading);
  drop_usual_window_rope(model);
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
    write_biases(grouped, family.biases, out);
    write_cap(grouped.score_cap, kScoreCap, family, out);
    if (family.query_scalar) {
      out.set(kQueryScalar,
              with_fewest_digits(std::pow(double{model.attention_scale}, -2), [&](double scalar) {
                return usual_scale(scalar) == model.attention_scale;
              }));
    }
    if (family.partial_rotary) {
      out.set("partial_rotary_factor", rotary_factor(model.rope.size, grouped.head_size));
    }
    write_layers(model, family, out);
  }
  write_rope(model, family, out);
}

}  // namespace forge::checkpoint::detail::hf
