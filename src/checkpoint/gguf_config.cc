#include "forge/checkpoint/gguf_config.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <span>
#include <utility>

#include "config_difference.h"
#include "fields.h"
#include "gguf_parts.h"

namespace forge::checkpoint {
namespace {

using detail::Absent;
using detail::Family;
using detail::Field;
using detail::GgufFields;
using detail::Reading;
using formats::FileError;
using formats::Gguf;
using formats::GgufKeys;
using model::ModelConfig;

constexpr std::tuple kSizeKeys{
    Field{"embedding_length", &ModelConfig::hidden_size, model::kSizes},
    Field{"block_count", &ModelConfig::layers, model::kLayerCounts},
    Field{"context_length", &ModelConfig::positions, model::kPositionCounts},
    Field{"attention.layer_norm_rms_epsilon", &ModelConfig::norm_eps, model::kEpsilons}};

/// Without it, see read_vocabulary_size.
constexpr std::tuple kVocabularyKeys{
    Field{"vocab_size", &ModelConfig::vocabulary_size, model::kSizes, Absent::zero}};

/// Of the dense MLP, where there is one.
constexpr std::tuple kDenseKeys{
    Field{"feed_forward_length", &ModelConfig::ffn_size, model::kSizes}};

constexpr std::tuple kMultiplierKeys{
    Field{"embedding_scale", &ModelConfig::embedding_multiplier, model::kScales, Absent::usual},
    Field{"residual_scale", &ModelConfig::residual_multiplier, model::kScales, Absent::usual},
    Field{"attention.scale", &ModelConfig::attention_scale, model::kScales, Absent::usual},
    Field{"logit_scale", &ModelConfig::logits_divisor, model::kScales}};

constexpr const char* kLogitsCapKey = "final_logit_softcapping";

/// Of a text, of a turn of a chat, of a message in it; any may be left out.
constexpr const char* kEnds[] = {"tokenizer.ggml.eos_token_id", "tokenizer.ggml.eot_token_id",
                                 "tokenizer.ggml.eom_token_id"};

/// The key, or the length of the tokenizer's list, or the rows of the embedding.
void read_vocabulary_size(GgufFields& fields, Reading& reading) {
  ModelConfig& model = reading.model;
  read_fields(fields, kVocabularyKeys, model, reading.names);
  if (model.vocabulary_size != 0) return;
  std::uint64_t size = 0;
  const auto tokens = fields.gguf().texts("tokenizer.ggml.tokens");
  const formats::Tensor* const embedding = fields.gguf().find("token_embd.weight");
  if (tokens && !tokens->empty() && tokens->size() <= model::kSizeMax) {
    size = tokens->size();
  } else if (embedding != nullptr && embedding->shape.size() == 2) {
    size = embedding->shape.front();
  }
  if (size == 0 || size > model::kSizeMax) fields.fail("vocab_size", accepted(model::kSizes));
  model.vocabulary_size = static_cast<int>(std::min<std::uint64_t>(size, model::kSizeMax));
}

void read_eos(GgufFields& fields, std::vector<std::uint32_t>& eos) {
  for (const char* const key : kEnds) {
    const formats::GgufValue* const value = fields.gguf().value(key);
    if (value == nullptr) continue;
    const auto token = fields.gguf().integer(key);
    if (!token || !model::kTokens.contains(*token)) {
      fields.fail_with(std::string(key) + " is " + to_string(*value) + "; accepted is " +
                       accepted(model::kTokens));
      continue;
    }
    const auto id = static_cast<std::uint32_t>(*token);
    if (std::find(eos.begin(), eos.end(), id) == eos.end()) eos.push_back(id);
  }
}

void write_eos(const std::vector<std::uint32_t>& eos, GgufKeys& keys) {
  for (std::size_t i = 0; i < std::min(eos.size(), std::size(kEnds)); ++i) {
    keys.set_u32(kEnds[i], eos[i]);
  }
}

/// The family of a file that has this architecture: keys that only some of its families have tell.
const Family* family_of_file(const Gguf& gguf, std::string_view architecture) {
  const auto is_above_zero = [&](const char* key) {
    const auto value = gguf.integer(std::string(architecture) + key);
    return value && *value > 0;
  };
  const Family* const with_experts = detail::family_told(architecture, detail::InGguf::by_experts);
  if (with_experts != nullptr && is_above_zero(".expert_count")) return with_experts;
  const Family* const with_window = detail::family_told(architecture, detail::InGguf::by_window);
  if (with_window != nullptr && is_above_zero(".attention.sliding_window")) return with_window;
  return detail::family_told(architecture, detail::InGguf::first);
}

FileError unknown_architecture(const Gguf& gguf) {
  const formats::GgufValue* const value = gguf.value("general.architecture");
  return {gguf.file().path(),
          "general.architecture is " + (value == nullptr ? "missing" : to_string(*value)) +
              "; accepted is " + detail::known(&Family::architecture, '\''),
          {},
          std::nullopt};
}

void read_model(GgufFields& fields, Reading& reading) {
  ModelConfig& model = reading.model;
  model.norm = reading.family.norm;
  read_vocabulary_size(fields, reading);
  read_fields(fields, kSizeKeys, model, reading.names);
  detail::gguf::read_attention(fields, reading);
  detail::gguf::read_experts(fields, reading);
  if (has_dense_layers(model)) read_fields(fields, kDenseKeys, model, reading.names);
  if (reading.family.multipliers) {
    read_fields(fields, kMultiplierKeys, model, reading.names);
    // Of these models it says whether heads turn at all.
    if (!fields.boolean("rope.scaling.finetuned", true)) {
      fields.fail("rope.scaling.finetuned", "true");
    }
  }
  model.tied_head = !fields.has_tensor("output.weight");
  read_eos(fields, model.eos);
  model.activation = reading.family.activation;
  if (model.activation == model::Activation::clamped_swiglu) detail::set_usual_swiglu(model);
  model.mlp_bias = fields.has_tensor("blk.0.ffn_up.bias");
  if (reading.family.scaled_embedding) {
    model.embedding_multiplier = std::sqrt(static_cast<float>(model.hidden_size));
  }
  model.logits_cap =
      detail::gguf::read_cap(fields, kLogitsCapKey, reading.family, reading.family.logits_cap);
  model.family = detail::family_in_gguf(reading.family, model).model_type;
}

void write_model(const ModelConfig& model, const Family& family, detail::gguf::Sink& out) {
  write_fields(out, kVocabularyKeys, model);
  write_fields(out, kSizeKeys, model);
  detail::gguf::write_attention(model, family, out);
  if (model.experts) detail::gguf::write_experts(*model.experts, family, out);
  if (has_dense_layers(model)) write_fields(out, kDenseKeys, model);
  if (family.multipliers) write_fields(out, kMultiplierKeys, model);
  detail::gguf::write_cap(model.logits_cap, kLogitsCapKey, family, out);
  write_eos(model.eos, out.keys);
}

/// The tensors whose being there says what no key does. Borrows the tables.
std::vector<formats::Tensor> telling_tensors(const ModelConfig& model,
                                             std::span<const RopeTable> tables) {
  std::vector<formats::Tensor> tensors;
  const auto add = [&](bool there, std::string name) {
    if (there) tensors.push_back({.name = std::move(name)});
  };
  add(!model.tied_head, "output.weight");
  add(model.mlp_bias, "blk.0.ffn_up.bias");
  if (const auto* const grouped = std::get_if<model::GroupedQueryConfig>(&model.attention)) {
    add(grouped->qkv_bias, "blk.0.attn_q.bias");
    add(grouped->output_bias, "blk.0.attn_output.bias");
  }
  if (model.experts && model.experts->correction_bias) {
    const std::vector<bool>& dense = model.experts->dense_layers;
    const auto first = std::ranges::find(dense, false) - dense.begin();
    add(true, "blk." + std::to_string(first) + ".exp_probs_b.bias");
  }
  for (const RopeTable& table : tables) {
    tensors.push_back({.name = table.name,
                       .shape = {table.divisors.size()},
                       .bytes = std::as_bytes(std::span(table.divisors))});
  }
  return tensors;
}

}  // namespace

tl::expected<ModelConfig, FileError> read_gguf_config(const Gguf& gguf) {
  const auto architecture = gguf.text("general.architecture");
  const Family* const family = architecture ? family_of_file(gguf, *architecture) : nullptr;
  if (family == nullptr) return tl::unexpected(unknown_architecture(gguf));
  GgufFields fields(gguf, family->architecture);
  Reading reading{*family, {}, {}};
  read_model(fields, reading);
  if (fields.fault()) return tl::unexpected(*fields.fault());
  if (const auto valid = validate(reading.model); !valid) {
    fields.fail_with(detail::with_keys(valid.error(), reading.names));
    return tl::unexpected(*fields.fault());
  }
  return std::move(reading.model);
}

ModelConfig as_in_gguf(ModelConfig model) {
  const Family* const family = detail::family_of(model);
  if (family == nullptr) return model;
  model.family = detail::family_in_gguf(*family, model).model_type;
  if (!family->latent) detail::set_pairing(model, family->gguf_pairing);
  if (auto divisors = rope_divisors(model.rope)) {
    model.rope.scaling = model::TabledRope{*std::move(divisors)};
  }
  return model;
}

tl::expected<void, std::string> describe_in_gguf(const ModelConfig& config, GgufKeys& keys) {
  const Family* const family = detail::family_of(config);
  if (family == nullptr) {
    return tl::unexpected("models of family " + config.family +
                          " cannot be written as GGUF; accepted are " +
                          detail::known(&Family::model_type, '"'));
  }
  const ModelConfig model = as_in_gguf(config);
  keys.set_text("general.architecture", std::string(family->architecture));
  keys.set_text("general.type", "model");
  detail::gguf::Sink out{keys, std::string(family->architecture) + "."};
  write_model(model, *family, out);
  // What has no key must not be lost without a word, so the keys are read again.
  const std::vector<RopeTable> tables = rope_tables(model.rope);
  const auto read = read_gguf_config(
      Gguf::unwritten("model.gguf", keys.metadata(), telling_tensors(model, tables)));
  constexpr double kRounding = 1e-6;  // to the floats that GGUF has
  const auto lost = read ? detail::difference(model, *read, kRounding) : read.error().message;
  if (lost) return tl::unexpected("GGUF cannot say this model: " + *lost);
  return {};
}

tl::expected<void, std::string> check_for_gguf(const ModelConfig& config) {
  GgufKeys unwanted;
  return describe_in_gguf(config, unwanted);
}

}  // namespace forge::checkpoint
