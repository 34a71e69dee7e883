#include "model_facts.h"

#include <algorithm>
#include <filesystem>
#include <map>

#include "forge/model/packed_model.h"
#include "forge/model/transformer.h"
#include "forge/model/weight_roles.h"
#include "forge/text/load_tokenizer.h"

namespace forge::apps {
namespace {

using checkpoint::TensorFile;
using formats::Tensor;
using nlohmann::ordered_json;
namespace fs = std::filesystem;

std::uint64_t bytes_of_all(const TensorFile& file) {
  std::uint64_t bytes = 0;
  for (const Tensor& tensor : file.tensors()) bytes += tensor.bytes.size();
  return bytes;
}

ordered_json attention_facts(const model::GroupedQueryConfig& a) {
  const char* const kind = a.heads == a.kv_heads ? "multi-head"
                           : a.kv_heads == 1     ? "multi-query"
                                                 : "grouped-query";
  ordered_json out{{"attention", kind},
                   {"heads", a.heads},
                   {"kv_heads", a.kv_heads},
                   {"head_size", a.head_size}};
  out["biases"] = a.output_bias ? "Q K V O" : a.qkv_bias ? "Q K V" : "none";
  if (a.query_key_norm != model::QueryKeyNorm::none) {
    out["query_key_norm"] =
        a.query_key_norm == model::QueryKeyNorm::head ? "each head" : "whole row";
  }
  if (a.sliding_window > 0) out["sliding_window"] = a.sliding_window;
  if (!a.full_layers.empty()) {
    out["layers_without_window"] = std::count(a.full_layers.begin(), a.full_layers.end(), true);
  }
  if (a.score_cap > 0) out["score_cap"] = a.score_cap;
  if (a.sinks) out["sinks"] = true;
  return out;
}

ordered_json attention_facts(const model::LatentConfig& a) {
  ordered_json out{{"attention", "latent"}, {"heads", a.heads}};
  if (a.query_rank > 0) out["query_rank"] = a.query_rank;
  out.update({{"kv_rank", a.kv_rank},
              {"nope_size", a.nope_size},
              {"rope_size", a.rope_size},
              {"value_size", a.value_size}});
  return out;
}

ordered_json expert_facts(const model::ExpertsConfig& e) {
  ordered_json out{{"experts", e.experts},
                   {"experts_per_token", e.experts_per_token},
                   {"expert_size", e.expert_size}};
  if (e.shared_size > 0) out["shared_size"] = e.shared_size;
  if (e.shared_gate) out["shared_gate"] = true;
  if (e.router_bias) out["router_bias"] = true;
  if (e.expert_bias) out["expert_bias"] = true;
  out["router"] = e.score == model::ExpertScore::softmax ? "softmax" : "sigmoid";
  if (e.groups > 1) out["groups"] = e.groups;
  if (e.groups > 1) out["groups_per_token"] = e.groups_per_token;
  out["dense_layers"] = std::count(e.dense_layers.begin(), e.dense_layers.end(), true);
  return out;
}

struct ScalingText {
  std::string operator()(std::monostate) const { return "none"; }
  std::string operator()(const model::LinearRope& r) const {
    return "linear, factor " + text(r.factor);
  }
  std::string operator()(const model::Llama3Rope& r) const {
    return "llama3, factor " + text(r.factor) + " beyond " + text(r.original_positions) +
           " positions";
  }
  std::string operator()(const model::YarnRope& r) const {
    return "YaRN, factor " + text(r.factor) + " beyond " + text(r.original_positions) +
           " positions";
  }
  std::string operator()(const model::TabledRope&) const { return "by a table in the file"; }
  std::string operator()(const model::DynamicRope& r) const {
    return "dynamic, factor " + text(r.factor) + ", which changes nothing within the context";
  }
  std::string operator()(const model::LongRope& r) const {
    return std::string("LongRoPE, the ") + (r.is_long ? "long" : "short") +
           " table for every text, trained for " + text(r.original_positions) + " positions";
  }
  static std::string text(double number) {
    ordered_json value = number;
    if (number == static_cast<double>(static_cast<std::int64_t>(number))) {
      value = static_cast<std::int64_t>(number);
    }
    return value.dump();
  }
};

/// Texts and numbers as they are; arrays, and what is long, in short.
ordered_json value_fact(const formats::GgufValue& value) {
  return std::visit(
      [&](const auto& v) -> ordered_json {
        using T = std::decay_t<decltype(v)>;
        if constexpr (std::is_arithmetic_v<T>) return v;
        return to_string(value);
      },
      value);
}

}  // namespace

ParameterCount count_parameters(const model::ModelConfig& config, const model::StoredModel& model) {
  ParameterCount count;
  std::uint64_t of_experts = 0;
  const auto add = [&](const std::string& role, std::uint64_t parameters) {
    count.total += parameters;
    if (role.find(".experts.") != role.npos) of_experts += parameters;
  };
  for_each_weight(
      model,
      [&](const std::string& role, const linear::StoredLinear& m) {
        add(role, static_cast<std::uint64_t>(m.outputs) * static_cast<std::uint64_t>(m.inputs));
      },
      [&](const std::string& role, const std::vector<float>& v) { add(role, v.size()); });
  count.active = count.total;
  if (config.experts) {
    const auto idle =
        static_cast<std::uint64_t>(config.experts->experts - config.experts->experts_per_token);
    count.active -= of_experts / static_cast<std::uint64_t>(config.experts->experts) * idle;
  }
  return count;
}

ordered_json file_facts(const TensorFile& file) {
  struct Share {
    std::uint64_t tensors = 0;
    std::uint64_t bytes = 0;
  };
  std::map<std::string, Share> types;
  for (const Tensor& tensor : file.tensors()) {
    Share& share = types[std::string(name_of(tensor.type))];
    ++share.tensors;
    share.bytes += tensor.bytes.size();
  }
  const auto* const gguf = file.gguf();
  ordered_json out{
      {"format", gguf == nullptr ? "SafeTensors" : "GGUF " + std::to_string(gguf->version())},
      {"tensors", file.tensors().size()},
      {"tensor_bytes", bytes_of_all(file)}};
  for (const auto& [type, share] : types) {
    out["types"][type] = {{"tensors", share.tensors}, {"tensor_bytes", share.bytes}};
  }
  return out;
}

ordered_json metadata_facts(const TensorFile& file) {
  ordered_json out = ordered_json::object();
  if (const auto* const gguf = file.gguf()) {
    for (const auto& [key, value] : gguf->metadata()) out[key] = value_fact(value);
  } else {
    for (const auto& [key, value] : file.safetensors()->metadata()) out[key] = value;
  }
  return out;
}

ordered_json tensor_facts(const TensorFile& file) {
  ordered_json out = ordered_json::array();
  for (const Tensor& tensor : file.tensors()) {
    out.push_back({{"name", tensor.name},
                   {"type", name_of(tensor.type)},
                   {"shape", tensor.shape},
                   {"bytes", tensor.bytes.size()},
                   {"offset", tensor.offset}});
  }
  return out;
}

ordered_json config_facts(const model::ModelConfig& config) {
  ordered_json out{
      {"family", config.family}, {"layers", config.layers}, {"hidden_size", config.hidden_size}};
  if (config.ffn_size > 0) out["ffn_size"] = config.ffn_size;
  out.update(std::visit([](const auto& a) { return attention_facts(a); }, config.attention));
  if (config.experts) out.update(expert_facts(*config.experts));
  out["rope_base"] = config.rope.base;
  out["rope_size"] = config.rope.size;
  out["rope_pairs"] = config.rope.pairing == model::RopePairing::halves ? "halves" : "adjacent";
  out["rope_scaling"] = std::visit(ScalingText(), config.rope.scaling);
  if (config.window_rope) out["rope_base_with_window"] = config.window_rope->base;
  if (!config.unturned_layers.empty()) {
    out["layers_without_rope"] =
        std::count(config.unturned_layers.begin(), config.unturned_layers.end(), true);
  }
  constexpr const char* kNorms[] = {"RMSNorm before", "RMSNorm after", "RMSNorm around"};
  out["norm"] = kNorms[static_cast<std::size_t>(config.norm)];
  if (config.activation == model::Activation::gelu_tanh) out["activation"] = "GELU with tanh";
  if (config.activation == model::Activation::clamped_swiglu) {
    out["activation"] = "clamped SwiGLU";
    out["swiglu_alpha"] = config.swiglu_alpha;
    out["swiglu_limit"] = config.swiglu_limit;
  }
  if (config.mlp_bias) out["mlp_bias"] = true;
  if (config.logits_cap > 0) out["logits_cap"] = config.logits_cap;
  out["norm_eps"] = config.norm_eps;
  out["context"] = config.positions;
  out["vocabulary"] = config.vocabulary_size;
  out["head"] = config.tied_head ? "tied to the embedding" : "its own";
  out["eos"] = config.eos;
  return out;
}

ordered_json size_facts(const checkpoint::Checkpoint& checkpoint, const TensorFile& file) {
  const model::ModelConfig& config = checkpoint.config();
  const ParameterCount count = count_parameters(config, checkpoint.model());
  ordered_json out{{"parameters", count.total}};
  if (count.active != count.total) out["active_parameters"] = count.active;
  out["bits_a_weight"] =
      8 * static_cast<double>(bytes_of_all(file)) / static_cast<double>(count.total);
  out["packed_bytes"] = packed_layout(config, checkpoint.model()).bytes();
  out["kv_token_bytes"] = kv_shape(config).token_numbers() * sizeof(float);
  out["unused_tensors"] = checkpoint.unused();
  out["notes"] = checkpoint.notes();
  return out;
}

ordered_json tokenizer_facts(const TensorFile& file, const std::string& path) {
  if (const auto* const gguf = file.gguf()) {
    const auto kind = gguf->text("tokenizer.ggml.model");
    const auto tokens = gguf->texts("tokenizer.ggml.tokens");
    if (!kind || !tokens) return {{"kind", "none"}};
    const auto pre = gguf->text("tokenizer.ggml.pre");
    const bool bytes = *kind == "gpt2";
    return {{"kind", bytes ? "byte-pair of bytes, " + std::string(pre.value_or("default"))
                     : *kind == "llama" ? "byte-pair of characters (SentencePiece)"
                                        : std::string(*kind)},
            {"tokens", tokens->size()}};
  }
  const std::string folder = checkpoint::directory_of(path);
  if (!text::has_tokenizer(folder)) return {{"kind", "none"}};
  const auto tokenizer = text::load_tokenizer(folder);
  if (!tokenizer) return {{"kind", "not read"}, {"reason", to_string(tokenizer.error())}};
  const bool json = fs::exists(fs::path(folder) / "tokenizer.json");
  return {{"kind", json ? "tokenizer.json" : "tokenizer.model"},
          {"tokens", (*tokenizer)->vocabulary_size()}};
}

}  // namespace forge::apps
