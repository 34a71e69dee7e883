#include "forge/transformer/gguf_config.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>

#include "forge/quant/dequantize.h"
#include "ranges.h"

namespace forge {
namespace {

using formats::FileError;
using formats::Gguf;

/// What an architecture has; left out: what Llama's conversion has.
struct Architecture {
  std::string_view name;
  std::string_view family;  ///< as config.json calls it
  RopePairing pairing = RopePairing::halves;
  QueryKeyNorm query_key_norm = QueryKeyNorm::none;
  bool experts = false;
};

constexpr Architecture kArchitectures[] = {
    {.name = "llama", .family = "llama", .pairing = RopePairing::adjacent},
    {.name = "qwen2", .family = "qwen2"},
    {.name = "qwen3", .family = "qwen3", .query_key_norm = QueryKeyNorm::head},
    {.name = "qwen3moe",
     .family = "qwen3_moe",
     .query_key_norm = QueryKeyNorm::head,
     .experts = true},
};

/// The keys of an architecture, each asked for with what is accepted; keeps the first fault, as
/// JsonFields does (json_fields.h).
class Fields {
 public:
  Fields(const Gguf& gguf, std::string_view architecture)
      : gguf_(gguf), prefix_(std::string(architecture) + ".") {}

  bool has(const std::string& key) const { return gguf_.value(prefix_ + key) != nullptr; }

  int integer(const std::string& key, detail::IntegerRange range,
              std::optional<int> fallback = std::nullopt) {
    if (!has(key) && fallback) return *fallback;
    const auto value = gguf_.integer(prefix_ + key);
    if (!value || !range.contains(*value)) {
      fail(key, accepted(range));
      return static_cast<int>(range.lowest);
    }
    return static_cast<int>(*value);
  }

  double number(const std::string& key, detail::NumberRange range,
                std::optional<double> fallback = std::nullopt) {
    if (!has(key) && fallback) return *fallback;
    const auto value = gguf_.number(prefix_ + key);
    if (!value || !range.contains(*value)) {
      fail(key, accepted(range));
      return range.lowest;
    }
    return *value;
  }

  bool boolean(const std::string& key, bool fallback) {
    if (!has(key)) return fallback;
    const auto value = gguf_.boolean(prefix_ + key);
    if (!value) fail(key, "a boolean");
    return value.value_or(fallback);
  }

  std::string text(const std::string& key, const std::string& fallback) {
    if (!has(key)) return fallback;
    const auto value = gguf_.text(prefix_ + key);
    if (!value) fail(key, "a text");
    return std::string(value.value_or(fallback));
  }

  void fail(const std::string& key, const std::string& accepted) {
    const formats::GgufValue* const value = gguf_.value(prefix_ + key);
    fail_with(prefix_ + key + (value == nullptr ? " is missing" : " is " + to_string(*value)) +
              "; accepted is " + accepted);
  }
  void fail_with(const std::string& message) {
    if (!fault_) fault_ = FileError{gguf_.file().path(), message, {}, std::nullopt};
  }

  const Gguf& gguf() const { return gguf_; }
  const std::optional<FileError>& fault() const { return fault_; }

 private:
  const Gguf& gguf_;
  std::string prefix_;
  std::optional<FileError> fault_;
};

GroupedQueryConfig read_attention(Fields& fields, const Architecture& architecture,
                                  int hidden_size) {
  GroupedQueryConfig attention;
  attention.heads = fields.integer("attention.head_count", detail::kHeadCounts);
  attention.kv_heads =
      fields.integer("attention.head_count_kv", detail::kHeadCounts, attention.heads);
  attention.head_size = fields.integer("attention.key_length", detail::kHeadSizes,
                                       std::clamp(hidden_size / attention.heads, 1, kHeadSizeMax));
  if (!fields.has("attention.key_length") && hidden_size % attention.heads != 0) {
    fields.fail("attention.key_length",
                "an integer, as embedding_length is no multiple of "
                "attention.head_count");
  }
  fields.integer("attention.value_length", {attention.head_size, attention.head_size},
                 attention.head_size);
  const auto there = [&](const char* name) { return fields.gguf().find(name) != nullptr; };
  attention.qkv_bias = there("blk.0.attn_q.bias");
  attention.output_bias = there("blk.0.attn_output.bias");
  attention.query_key_norm = architecture.query_key_norm;
  attention.sliding_window = fields.integer("attention.sliding_window", {0, kPositionsMax}, 0);
  return attention;
}

std::vector<float> read_divisors(Fields& fields, const formats::Tensor& tensor, int size) {
  const auto pairs = static_cast<std::uint64_t>(size) / 2;
  if (tensor.type != formats::ElementType::f32 || tensor.shape != std::vector{pairs}) {
    fields.fail_with(tensor.name + " is " + to_string(tensor) + "; needed is F32[" +
                     std::to_string(pairs) + "]");
    return {};
  }
  std::vector<float> divisors(pairs);
  quant::dequantize(quant::WeightType::f32, tensor.bytes.data(), divisors.size(), divisors.data());
  return divisors;
}

YarnRope read_yarn(Fields& fields, int positions) {
  YarnRope yarn;
  yarn.factor = fields.number("rope.scaling.factor", detail::kRopeFactors);
  yarn.beta_fast = fields.number("rope.scaling.yarn_beta_fast", detail::kRopeTurns, 32);
  yarn.beta_slow = fields.number("rope.scaling.yarn_beta_slow", detail::kRopeTurns, 1);
  yarn.original_positions =
      fields.number("rope.scaling.original_context_length", detail::kRopePositions, positions);
  fields.number("rope.scaling.yarn_ext_factor", {1, 1}, 1);
  fields.number("rope.scaling.yarn_log_multiplier", {0, 0}, 0);
  yarn.attention_factor = (0.1 * std::log(yarn.factor) + 1) *
                          fields.number("rope.scaling.attn_factor", detail::kScales, 1) *
                          fields.number("rope.scaling.yarn_attn_factor", detail::kScales, 1);
  return yarn;
}

RopeConfig read_rope(Fields& fields, const Architecture& architecture, int head_size,
                     int positions) {
  constexpr double kBaseDefault = 10000;
  RopeConfig rope;
  rope.size = fields.integer("rope.dimension_count", detail::kHeadSizes, head_size);
  rope.base = fields.number("rope.freq_base", detail::kRopeBases, kBaseDefault);
  rope.pairing = architecture.pairing;
  // Before there were types, the factor alone said that scaling is linear.
  const double factor = fields.number("rope.scale_linear", detail::kRopeFactors, 1);
  const std::string type = fields.text("rope.scaling.type", factor == 1 ? "none" : "linear");
  if (type == "linear") {
    rope.scaling = LinearRope{fields.number("rope.scaling.factor", detail::kRopeFactors, factor)};
  } else if (type == "yarn") {
    rope.scaling = read_yarn(fields, positions);
  } else if (type != "none") {
    fields.fail("rope.scaling.type", "'none', 'linear' or 'yarn'");
  }
  if (const formats::Tensor* const table = fields.gguf().find("rope_freqs.weight")) {
    if (type != "none") fields.fail("rope.scaling.type", "'none', as there is rope_freqs.weight");
    rope.scaling = TabledRope{read_divisors(fields, *table, rope.size)};
  }
  return rope;
}

ExpertsConfig read_experts(Fields& fields, int layers) {
  constexpr int kSoftmax = 1;
  ExpertsConfig experts;
  experts.experts = fields.integer("expert_count", detail::kExpertCounts);
  experts.experts_per_token = fields.integer("expert_used_count", detail::kExpertCounts);
  experts.expert_size = fields.integer("expert_feed_forward_length", detail::kSizes);
  fields.integer("expert_shared_count", {0, 0}, 0);
  fields.integer("expert_gating_func", {kSoftmax, kSoftmax}, kSoftmax);
  experts.normalised = fields.boolean("expert_weights_norm", true);
  experts.routed_scale =
      static_cast<float>(fields.number("expert_weights_scale", detail::kScales, 1));
  experts.dense_layers.assign(static_cast<std::size_t>(layers), false);
  return experts;
}

/// The key, or the length of the tokeniser's list, or the rows of the embedding.
int read_vocabulary_size(Fields& fields) {
  if (fields.has("vocab_size")) return fields.integer("vocab_size", detail::kSizes);
  if (const auto tokens = fields.gguf().texts("tokenizer.ggml.tokens")) {
    if (detail::kSizes.contains(static_cast<std::int64_t>(tokens->size()))) {
      return static_cast<int>(tokens->size());
    }
  }
  const formats::Tensor* const embedding = fields.gguf().find("token_embd.weight");
  if (embedding != nullptr && embedding->shape.size() == 2 &&
      embedding->shape.front() <= kSizeMax) {
    return static_cast<int>(embedding->shape.front());
  }
  return fields.integer("vocab_size", detail::kSizes);
}

/// eos ends a text, eot a turn of a chat, eom a message in it; any may be left out.
std::vector<std::uint32_t> read_eos(const Gguf& gguf, Fields& fields) {
  std::vector<std::uint32_t> eos;
  for (const char* const key : {"tokenizer.ggml.eos_token_id", "tokenizer.ggml.eot_token_id",
                                "tokenizer.ggml.eom_token_id"}) {
    const formats::GgufValue* const value = gguf.value(key);
    if (value == nullptr) continue;
    const auto token = gguf.integer(key);
    if (!token || !detail::kTokens.contains(*token)) {
      fields.fail_with(std::string(key) + " is " + to_string(*value) +
                       "; accepted is an integer, " + to_string(detail::kTokens));
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

tl::expected<ModelConfig, FileError> read_gguf_config(const Gguf& gguf) {
  const Architecture* const architecture = architecture_of(gguf);
  if (architecture == nullptr) return tl::unexpected(unknown_architecture(gguf));
  Fields fields(gguf, architecture->name);
  ModelConfig model;
  model.family = architecture->family;
  model.vocabulary_size = read_vocabulary_size(fields);
  model.hidden_size = fields.integer("embedding_length", detail::kSizes);
  model.layers = fields.integer("block_count", detail::kLayerCounts);
  model.positions = fields.integer("context_length", detail::kPositionCounts);
  model.norm_eps =
      static_cast<float>(fields.number("attention.layer_norm_rms_epsilon", detail::kEpsilons));
  const GroupedQueryConfig attention = read_attention(fields, *architecture, model.hidden_size);
  model.attention = attention;
  model.attention_scale = static_cast<float>(1 / std::sqrt(double{1} * attention.head_size));
  model.rope = read_rope(fields, *architecture, attention.head_size, model.positions);
  if (architecture->experts) {
    model.experts = read_experts(fields, model.layers);
  } else {
    fields.integer("expert_count", {0, 0}, 0);
    model.ffn_size = fields.integer("feed_forward_length", detail::kSizes);
  }
  model.tied_head = gguf.find("output.weight") == nullptr;
  model.eos = read_eos(gguf, fields);
  if (fields.fault()) return tl::unexpected(*fields.fault());
  if (auto valid = validate(model); !valid) {
    return tl::unexpected(
        FileError{gguf.file().path(), std::move(valid.error()), {}, std::nullopt});
  }
  return model;
}

}  // namespace forge
