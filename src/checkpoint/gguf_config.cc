#include "forge/checkpoint/gguf_config.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>

#include "gguf_parts.h"

namespace forge::checkpoint {
namespace {

using detail::GgufFields;
using formats::FileError;
using formats::Gguf;

/// What an architecture has; left out: what Llama's conversion has.
struct Architecture {
  std::string_view name;
  std::string_view family;  ///< as config.json calls it
  model::RopePairing pairing = model::RopePairing::halves;
  model::QueryKeyNorm query_key_norm = model::QueryKeyNorm::none;
  bool latent = false;
  model::ExpertsConfig (*experts)(GgufFields& fields, int layers) = nullptr;
};

constexpr Architecture kArchitectures[] = {
    {.name = "llama", .family = "llama", .pairing = model::RopePairing::adjacent},
    {.name = "qwen2", .family = "qwen2"},
    {.name = "qwen3", .family = "qwen3", .query_key_norm = model::QueryKeyNorm::head},
    {.name = "qwen3moe",
     .family = "qwen3_moe",
     .query_key_norm = model::QueryKeyNorm::head,
     .experts = detail::read_gguf_qwen_experts},
    {.name = "deepseek2",
     .family = "deepseek_v2",
     .latent = true,
     .experts = detail::read_gguf_deepseek_experts},
};

model::GroupedQueryConfig read_grouped_query(GgufFields& fields, const Architecture& architecture,
                                             int hidden_size) {
  model::GroupedQueryConfig attention;
  attention.heads = fields.integer("attention.head_count", model::kHeadCounts);
  attention.kv_heads =
      fields.integer("attention.head_count_kv", model::kHeadCounts, attention.heads);
  attention.head_size =
      fields.integer("attention.key_length", model::kHeadSizes,
                     std::clamp(hidden_size / attention.heads, 1, model::kHeadSizeMax));
  if (!fields.has("attention.key_length") && hidden_size % attention.heads != 0) {
    fields.fail("attention.key_length",
                "an integer, as embedding_length is no multiple of "
                "attention.head_count");
  }
  fields.integer("attention.value_length", {attention.head_size, attention.head_size},
                 attention.head_size);
  attention.qkv_bias = fields.has_tensor("blk.0.attn_q.bias");
  attention.output_bias = fields.has_tensor("blk.0.attn_output.bias");
  attention.query_key_norm = architecture.query_key_norm;
  attention.sliding_window =
      fields.integer("attention.sliding_window", {0, model::kPositionsMax}, 0);
  return attention;
}

/// Attention and its RoPE.
void read_attention(GgufFields& fields, const Architecture& architecture,
                    model::ModelConfig& model) {
  if (architecture.latent) {
    detail::GgufLatentRope rope = detail::read_gguf_latent_rope(fields, model.positions);
    const model::LatentConfig latent = detail::read_gguf_latent(fields, rope.rope.size);
    model.attention = latent;
    model.rope = std::move(rope.rope);
    model.attention_scale = static_cast<float>(
        rope.latent_scale / std::sqrt(double{1} * latent.nope_size + latent.rope_size));
    return;
  }
  const model::GroupedQueryConfig grouped =
      read_grouped_query(fields, architecture, model.hidden_size);
  model.attention = grouped;
  model.attention_scale = static_cast<float>(1 / std::sqrt(double{1} * grouped.head_size));
  model.rope =
      detail::read_gguf_rope(fields, architecture.pairing, grouped.head_size, model.positions);
}

void read_feed_forward(GgufFields& fields, const Architecture& architecture,
                       model::ModelConfig& model) {
  if (architecture.experts == nullptr) {
    fields.integer("expert_count", {0, 0}, 0);
  } else {
    model.experts = architecture.experts(fields, model.layers);
  }
  if (!model.experts || model.experts->dense_layers.front()) {
    model.ffn_size = fields.integer("feed_forward_length", model::kSizes);
  }
}

/// The key, or the length of the tokeniser's list, or the rows of the embedding.
int read_vocabulary_size(GgufFields& fields) {
  if (fields.has("vocab_size")) return fields.integer("vocab_size", model::kSizes);
  if (const auto tokens = fields.gguf().texts("tokenizer.ggml.tokens")) {
    if (model::kSizes.contains(static_cast<std::int64_t>(tokens->size()))) {
      return static_cast<int>(tokens->size());
    }
  }
  const formats::Tensor* const embedding = fields.gguf().find("token_embd.weight");
  if (embedding != nullptr && embedding->shape.size() == 2 &&
      embedding->shape.front() <= model::kSizeMax) {
    return static_cast<int>(embedding->shape.front());
  }
  return fields.integer("vocab_size", model::kSizes);
}

/// eos ends a text, eot a turn of a chat, eom a message in it; any may be left out.
std::vector<std::uint32_t> read_eos(const Gguf& gguf, GgufFields& fields) {
  std::vector<std::uint32_t> eos;
  for (const char* const key : {"tokenizer.ggml.eos_token_id", "tokenizer.ggml.eot_token_id",
                                "tokenizer.ggml.eom_token_id"}) {
    const formats::GgufValue* const value = gguf.value(key);
    if (value == nullptr) continue;
    const auto token = gguf.integer(key);
    if (!token || !model::kTokens.contains(*token)) {
      fields.fail_with(std::string(key) + " is " + to_string(*value) +
                       "; accepted is an integer, " + to_string(model::kTokens));
      continue;
    }
    const auto id = static_cast<std::uint32_t>(*token);
    if (std::find(eos.begin(), eos.end(), id) == eos.end()) eos.push_back(id);
  }
  return eos;
}

const Architecture* architecture_of(const Gguf& gguf) {
  const auto name = gguf.text("general.architecture");
  const auto found = std::find_if(
      std::begin(kArchitectures), std::end(kArchitectures),
      [&](const Architecture& architecture) { return name && architecture.name == *name; });
  return found == std::end(kArchitectures) ? nullptr : &*found;
}

FileError unknown_architecture(const Gguf& gguf) {
  const formats::GgufValue* const value = gguf.value("general.architecture");
  std::string message = "general.architecture is " +
                        (value == nullptr ? "missing" : to_string(*value)) + "; accepted is ";
  for (const Architecture& known : kArchitectures) {
    if (&known != kArchitectures) message += ", ";
    message += "'" + std::string(known.name) + "'";
  }
  return {gguf.file().path(), message, {}, std::nullopt};
}

}  // namespace

tl::expected<model::ModelConfig, FileError> read_gguf_config(const Gguf& gguf) {
  const Architecture* const architecture = architecture_of(gguf);
  if (architecture == nullptr) return tl::unexpected(unknown_architecture(gguf));
  GgufFields fields(gguf, architecture->name);
  model::ModelConfig model;
  model.family = architecture->family;
  model.vocabulary_size = read_vocabulary_size(fields);
  model.hidden_size = fields.integer("embedding_length", model::kSizes);
  model.layers = fields.integer("block_count", model::kLayerCounts);
  model.positions = fields.integer("context_length", model::kPositionCounts);
  model.norm_eps =
      static_cast<float>(fields.number("attention.layer_norm_rms_epsilon", model::kEpsilons));
  read_attention(fields, *architecture, model);
  read_feed_forward(fields, *architecture, model);
  // One architecture for both; V3's scores are the sigmoid.
  if (architecture->latent && model.experts->score == model::ExpertScore::sigmoid) {
    model.family = "deepseek_v3";
  }
  model.tied_head = gguf.find("output.weight") == nullptr;
  model.eos = read_eos(gguf, fields);
  if (fields.fault()) return tl::unexpected(*fields.fault());
  if (const auto valid = validate(model); !valid) {
    const auto names = detail::gguf_key_names(architecture->name);
    return tl::unexpected(
        FileError{gguf.file().path(), detail::with_keys(valid.error(), names), {}, std::nullopt});
  }
  return model;
}

}  // namespace forge::checkpoint
