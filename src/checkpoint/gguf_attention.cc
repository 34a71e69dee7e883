#include <algorithm>
#include <cmath>

#include "fields.h"
#include "gguf_parts.h"
#include "latent_scale.h"

namespace forge::checkpoint::detail::gguf {
namespace {

using model::GroupedQueryConfig;
using model::LatentConfig;

/// Without kv_heads there are as many as heads; without head_size, see read_head_size.
constexpr std::tuple kGrouped{
    Field{"attention.head_count", &GroupedQueryConfig::heads, model::kHeadCounts},
    Field{"attention.head_count_kv", &GroupedQueryConfig::kv_heads, model::kHeadCounts,
          Absent::zero},
    Field{"attention.key_length", &GroupedQueryConfig::head_size, model::kHeadSizes, Absent::zero},
    Field{"attention.sliding_window", &GroupedQueryConfig::sliding_window,
          IntegerRange{0, model::kPositionsMax}, Absent::zero}};
constexpr const char* kValueLength = "attention.value_length";

constexpr std::tuple kLatent{
    Field{"attention.head_count", &LatentConfig::heads, model::kHeadCounts},
    Field{"attention.q_lora_rank", &LatentConfig::query_rank, model::kSizes, Absent::zero},
    Field{"attention.kv_lora_rank", &LatentConfig::kv_rank, model::kSizes}};

constexpr const char* kScoreCap = "attn_logit_softcapping";
constexpr const char* kScale = "attention.scale";

/// Where no key says the scale of the scores: that of a head, but in the largest models of families
/// in which it is a number of their own. llama.cpp knows those by their number of layers.
float usual_scale(const model::ModelConfig& model, const Family& family) {
  const auto& grouped = std::get<GroupedQueryConfig>(model.attention);
  const bool is_largest = family.query_scalar && model.layers == (family.window_rope ? 62 : 46);
  const int size = is_largest ? model.hidden_size / grouped.heads : grouped.head_size;
  return static_cast<float>(1 / std::sqrt(double{1} * size));
}

void read_head_size(GgufFields& fields, int hidden_size, GroupedQueryConfig& attention) {
  if (attention.head_size == 0) {
    attention.head_size = std::clamp(hidden_size / attention.heads, 1, model::kHeadSizeMax);
    if (hidden_size % attention.heads != 0) {
      fields.fail("attention.key_length",
                  "an integer, as embedding_length is no multiple of attention.head_count");
    }
  }
  fields.integer(kValueLength, {attention.head_size, attention.head_size}, attention.head_size);
}

GroupedQueryConfig read_grouped(GgufFields& fields, Reading& reading) {
  GroupedQueryConfig attention;
  read_fields(fields, kGrouped, attention, reading.names);
  if (attention.kv_heads == 0) attention.kv_heads = attention.heads;
  read_head_size(fields, reading.model.hidden_size, attention);
  if (!may_have_window(reading.family.architecture)) {
    fields.integer("attention.sliding_window", {0, 0}, 0);
  }
  attention.qkv_bias = fields.has_tensor("blk.0.attn_q.bias");
  attention.output_bias = fields.has_tensor("blk.0.attn_output.bias");
  attention.query_key_norm = reading.family.query_key_norm;
  attention.score_cap = read_cap(fields, kScoreCap, reading.family, reading.family.score_cap);
  attention.sinks = reading.family.sinks;
  return attention;
}

/// Sizes of a head: of the part of its key that does not turn, and of its value.
void read_head_sizes(GgufFields& fields, LatentConfig& latent) {
  // Newer files describe attention over latents, which has one KV head, the latent with the part
  // that turns; and say in keys of their own what a head is once it is made from the latent.
  const bool absorbed = fields.has("attention.key_length_mla");
  const int kv_heads = absorbed ? 1 : latent.heads;
  fields.integer("attention.head_count_kv", {kv_heads, kv_heads}, kv_heads);
  if (absorbed) {
    const int width = latent.kv_rank + latent.rope_size;
    fields.integer("attention.key_length", {width, width}, width);
    fields.integer(kValueLength, {latent.kv_rank, latent.kv_rank}, latent.kv_rank);
  }
  const std::string suffix = absorbed ? "_mla" : "";
  const IntegerRange sizes{std::int64_t{latent.rope_size} + 1,
                           std::int64_t{latent.rope_size} + model::kHeadSizeMax};
  latent.nope_size = fields.integer("attention.key_length" + suffix, sizes) - latent.rope_size;
  latent.value_size = fields.integer(kValueLength + suffix, model::kHeadSizes);
}

/// In the newer way.
void write_head_sizes(const LatentConfig& latent, Sink& out) {
  out.set("attention.head_count_kv", 1);
  out.set("attention.key_length", latent.kv_rank + latent.rope_size);
  out.set(kValueLength, latent.kv_rank);
  out.set("attention.key_length_mla", latent.nope_size + latent.rope_size);
  out.set("attention.value_length_mla", latent.value_size);
}

LatentConfig read_latent(GgufFields& fields, Reading& reading) {
  LatentConfig latent{.rope_size = reading.model.rope.size};
  read_fields(fields, kLatent, latent, reading.names);
  read_head_sizes(fields, latent);
  fields.integer("attention.sliding_window", {0, 0}, 0);
  // Queries of late positions grow by it, in models that only share the architecture's name.
  fields.number("attention.temperature_scale", {0, 0}, 0);
  const std::string rope_size = fields.name_of("rope.dimension_count");
  reading.names.push_back({"rope_size", rope_size});
  reading.names.push_back(
      {"nope_size", fields.name_of("attention.key_length") + " - " + rope_size});
  reading.names.push_back({"value_size", fields.name_of(kValueLength)});
  return latent;
}

}  // namespace

float read_cap(GgufFields& fields, const char* key, const Family& family, double usual) {
  if (!family.caps) return 0;
  return static_cast<float>(fields.number(key, model::kCaps, usual));
}

void write_cap(float cap, const char* key, const Family& family, Sink& out) {
  if (family.caps) out.set(key, cap);
}

void read_attention(GgufFields& fields, Reading& reading) {
  model::ModelConfig& model = reading.model;
  if (reading.family.latent) {
    model.rope.pairing = reading.family.gguf_pairing;
    const double temperature = read_latent_rope(fields, reading);
    const LatentConfig latent = read_latent(fields, reading);
    model.attention = latent;
    model.attention_scale = latent_scale(latent, temperature);
    return;
  }
  const GroupedQueryConfig grouped = read_grouped(fields, reading);
  model.attention = grouped;
  model.attention_scale = usual_scale(model, reading.family);
  if (reading.family.query_scalar) {
    model.attention_scale =
        static_cast<float>(fields.number(kScale, model::kScales, double{model.attention_scale}));
  }
  model.rope.size = grouped.head_size;
  read_layers(fields, reading);
  read_rope(fields, reading);
  set_pairing(model, reading.family.gguf_pairing);
}

void write_attention(const model::ModelConfig& model, const Family& family, Sink& out) {
  if (const auto* const latent = std::get_if<LatentConfig>(&model.attention)) {
    write_fields(out, kLatent, *latent);
    write_head_sizes(*latent, out);
  } else {
    const auto& grouped = std::get<GroupedQueryConfig>(model.attention);
    write_fields(out, kGrouped, grouped);
    out.set(kValueLength, grouped.head_size);
    write_cap(grouped.score_cap, kScoreCap, family, out);
    if (family.query_scalar && model.attention_scale != usual_scale(model, family)) {
      out.set(kScale, model.attention_scale);
    }
    write_layers(model, family, out);
  }
  write_rope(model, family, out);
}

}  // namespace forge::checkpoint::detail::gguf
