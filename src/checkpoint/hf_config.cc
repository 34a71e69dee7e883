#include "forge/checkpoint/hf_config.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <utility>

#include "config_difference.h"
#include "fields.h"
#include "forge/formats/json_tree.h"
#include "hf_parts.h"

namespace forge::checkpoint {
namespace {

using detail::Family;
using detail::Field;
using detail::read_fields;
using detail::Reading;
using detail::write_fields;
using formats::FileError;
using model::ModelConfig;

constexpr std::tuple kSizes{
    Field{"vocab_size", &ModelConfig::vocabulary_size, model::kSizes},
    Field{"hidden_size", &ModelConfig::hidden_size, model::kSizes},
    Field{"num_hidden_layers", &ModelConfig::layers, model::kLayerCounts},
    Field{"max_position_embeddings", &ModelConfig::positions, model::kPositionCounts,
          detail::Absent::usual},
    Field{"rms_norm_eps", &ModelConfig::norm_eps, model::kEpsilons, detail::Absent::usual},
    Field{"tie_word_embeddings", &ModelConfig::tied_head, detail::TrueOrFalse{},
          detail::Absent::usual}};

/// Of the dense MLP, where there is one.
constexpr std::tuple kDense{Field{"intermediate_size", &ModelConfig::ffn_size, model::kSizes}};

constexpr std::tuple kMultipliers{
    Field{"embedding_multiplier", &ModelConfig::embedding_multiplier, model::kScales,
          detail::Absent::usual},
    Field{"residual_multiplier", &ModelConfig::residual_multiplier, model::kScales,
          detail::Absent::usual},
    Field{"attention_multiplier", &ModelConfig::attention_scale, model::kScales,
          detail::Absent::usual},
    Field{"logits_scaling", &ModelConfig::logits_divisor, model::kScales, detail::Absent::usual}};

/// Of clamped_swiglu.
constexpr std::tuple kSwiglu{
    Field{"swiglu_alpha", &ModelConfig::swiglu_alpha, model::kClamps, detail::Absent::usual},
    Field{"swiglu_limit", &ModelConfig::swiglu_limit, model::kClamps, detail::Absent::usual}};

constexpr const char* kLogitsCap = "final_logit_softcapping";

/// Each once, in the order of the file.
void read_eos(const json::Fields& fields, std::vector<std::uint32_t>& eos) {
  for (const std::int64_t token : fields.integers("eos_token_id", model::kTokens)) {
    const auto id = static_cast<std::uint32_t>(token);
    if (std::find(eos.begin(), eos.end(), id) == eos.end()) eos.push_back(id);
  }
}

void write_eos(const std::vector<std::uint32_t>& eos, detail::hf::Sink& out) {
  if (eos.size() == 1) {
    out.set("eos_token_id", eos.front());
  } else if (!eos.empty()) {
    out.set("eos_token_id", eos);
  }
}

/// The key that a family's code reads; transformers leaves the other one unread.
const char* activation_key(const Family& family) {
  return family.activation == model::Activation::gelu_tanh ? "hidden_activation" : "hidden_act";
}

void read_activation(const json::Fields& fields, Reading& reading) {
  const char* const key = activation_key(reading.family);
  reading.model.activation = reading.family.activation;
  if (reading.family.activation == model::Activation::clamped_swiglu) {
    if (fields.has(key)) fields.one_of(key, {"silu"});  // which is not what it computes
    detail::set_usual_swiglu(reading.model);
    return read_fields(fields, kSwiglu, reading.model, reading.names);
  }
  if (!fields.has(key)) return;
  const std::string_view name = fields.one_of(key, {"silu", "gelu_pytorch_tanh"});
  reading.model.activation =
      name == "silu" ? model::Activation::silu : model::Activation::gelu_tanh;
}

void write_activation(const ModelConfig& model, const Family& family, detail::hf::Sink& out) {
  const bool silu = model.activation != model::Activation::gelu_tanh;
  if (model.activation == model::Activation::clamped_swiglu) write_fields(out, kSwiglu, model);
  out.set(activation_key(family), silu ? "silu" : "gelu_pytorch_tanh");
}

void read_model(const json::Fields& fields, Reading& reading) {
  const Family& family = reading.family;
  ModelConfig& model = reading.model;
  model = {.family = std::string(family.model_type),
           .positions = family.positions,
           .norm_eps = static_cast<float>(family.norm_eps),
           .norm = family.norm,
           .tied_head = family.tied};
  read_fields(fields, kSizes, model, reading.names);
  detail::hf::read_attention(fields, reading);
  read_activation(fields, reading);
  model.mlp_bias = fields.boolean("mlp_bias", false);
  if (model.mlp_bias && !family.mlp_bias) fields.fail("mlp_bias", "false");
  detail::hf::read_experts(fields, reading);
  if (has_dense_layers(model)) read_fields(fields, kDense, model, reading.names);
  if (family.multipliers) {
    model.attention_scale = 1;
    read_fields(fields, kMultipliers, model, reading.names);
  }
  if (family.scaled_embedding) {
    model.embedding_multiplier = std::sqrt(static_cast<float>(model.hidden_size));
  }
  model.logits_cap = detail::hf::read_cap(fields, kLogitsCap, family, family.logits_cap);
  read_eos(fields, model.eos);
}

void write_model(const ModelConfig& model, const Family& family, detail::hf::Sink& out) {
  write_fields(out, kSizes, model);
  detail::hf::write_attention(model, family, out);
  write_activation(model, family, out);
  if (family.mlp_bias) out.set("mlp_bias", model.mlp_bias);
  if (model.experts) detail::hf::write_experts(*model.experts, family, out);
  if (has_dense_layers(model)) write_fields(out, kDense, model);
  if (family.multipliers) write_fields(out, kMultipliers, model);
  detail::hf::write_cap(model.logits_cap, kLogitsCap, family, out);
  write_eos(model.eos, out);
}

/// The model as it is to be found in config.json: GGUF has other names for some of the same.
tl::expected<ModelConfig, std::string> as_in_json(ModelConfig model, const Family& family) {
  model.family = family.model_type;
  // Whoever writes the rows of Q and K puts them in that order.
  if (!family.latent) detail::set_pairing(model, family.hf_pairing);
  if (const auto* const tabled = std::get_if<model::TabledRope>(&model.rope.scaling)) {
    const auto llama3 = detail::hf::llama3_of(model.rope, *tabled);
    if (!llama3) {
      return tl::unexpected(std::string(
          "config.json has no key for the divisors of rope_freqs.weight, which are not those of "
          "llama3 scaling with low_freq_factor 1, high_freq_factor 4 and "
          "original_max_position_embeddings 8192"));
    }
    model.rope.scaling = *llama3;
  }
  return model;
}

const char* torch_name(quant::WeightType type) {
  if (type == quant::WeightType::f16) return "float16";
  return type == quant::WeightType::bf16 ? "bfloat16" : "float32";
}

tl::unexpected<FileError> error(const std::string& path, std::string message) {
  return tl::unexpected(FileError{.file = path, .message = std::move(message)});
}

/// A thousand times the size of a usual one.
constexpr std::uint64_t kConfigBytesMax = std::uint64_t{4} << 20;

}  // namespace

tl::expected<HfConfig, FileError> parse_hf_config(std::string_view text, const std::string& path) {
  const auto tree = formats::parse_json_object(text, path);
  if (!tree) return tl::unexpected(tree.error());
  json::Fault fault;
  const json::Fields fields(*tree, "", fault);
  const Family* const family = detail::family_with(&Family::model_type, fields.text("model_type"));
  if (family == nullptr) {
    fields.fail("model_type", detail::known(&Family::model_type, '"'));
    return error(path, fault.message);
  }
  Reading reading{*family, {}, {}};
  read_model(fields, reading);
  const HfQuantization quantization = detail::hf::read_quantization(fields);
  if (fields.failed()) return error(path, fault.message);
  if (const auto valid = validate(reading.model); !valid) {
    return error(path, detail::with_keys(valid.error(), reading.names));
  }
  return HfConfig{std::move(reading.model), quantization, std::move(reading.notes)};
}

tl::expected<std::vector<std::uint32_t>, FileError> parse_generation_eos(std::string_view text,
                                                                         const std::string& path) {
  const auto tree = formats::parse_json_object(text, path);
  if (!tree) return tl::unexpected(tree.error());
  json::Fault fault;
  const json::Fields fields(*tree, "", fault);
  std::vector<std::uint32_t> eos;
  read_eos(fields, eos);
  if (fields.failed()) return error(path, fault.message);
  return eos;
}

tl::expected<HfConfig, FileError> read_hf_config(const std::string& directory) {
  const std::filesystem::path folder(directory);
  const std::string path = (folder / "config.json").string();
  const auto file = formats::open_json(path, kConfigBytesMax);
  if (!file) return tl::unexpected(file.error());
  auto config = parse_hf_config(text_of(*file), path);
  const std::string generation_path = (folder / "generation_config.json").string();
  std::error_code ignored;  // whoever opens it will say what is wrong, as of a link to nothing
  const auto status = std::filesystem::symlink_status(generation_path, ignored);
  if (!config || !std::filesystem::exists(status)) return config;
  const auto generation = formats::open_json(generation_path, kConfigBytesMax);
  if (!generation) return tl::unexpected(generation.error());
  const auto eos = parse_generation_eos(text_of(*generation), generation_path);
  if (!eos) return tl::unexpected(eos.error());
  for (const std::uint32_t token : *eos) {
    std::vector<std::uint32_t>& all = config->model.eos;
    if (std::find(all.begin(), all.end(), token) == all.end()) all.push_back(token);
  }
  return config;
}

tl::expected<std::string, std::string> config_text(const ModelConfig& config,
                                                   quant::WeightType type) {
  const Family* const known = detail::family_of(config);
  if (known == nullptr) {
    return tl::unexpected("models of family " + config.family +
                          " cannot be written as config.json; accepted are " +
                          detail::known(&Family::model_type, '"'));
  }
  const Family* const family = &detail::family_in_json(*known, config);
  const auto model = as_in_json(config, *family);
  if (!model) return tl::unexpected(model.error());
  detail::hf::Sink out;
  out.set("architectures", std::vector{std::string(family->class_name)});
  out.set("model_type", family->model_type);
  write_model(*model, *family, out);
  out.set("torch_dtype", torch_name(type));
  std::string text = out.object.dump(2) + "\n";
  // What has no key must not be lost without a word, so the text is read again.
  const auto read = parse_hf_config(text, "config.json");
  const auto lost = read ? detail::difference(*model, read->model) : read.error().message;
  if (lost) return tl::unexpected("config.json cannot say this model: " + *lost);
  return text;
}

std::string config_with_type(const std::string& text, quant::WeightType type) {
  auto config = nlohmann::ordered_json::parse(text);
  config.erase("quantization_config");
  config[config.contains("dtype") ? "dtype" : "torch_dtype"] = torch_name(type);
  return config.dump(2) + "\n";
}

}  // namespace forge::checkpoint
