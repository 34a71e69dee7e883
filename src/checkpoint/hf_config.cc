#include "forge/checkpoint/hf_config.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <utility>

#include "forge/formats/json_tree.h"
#include "hf_parts.h"

namespace forge::checkpoint {
namespace {

using detail::ConfigFields;
using formats::FileError;

/// Of the attention's projections: as attention_bias says, or what the family always has.
enum class Biases : std::uint8_t { all_if_said, none, query_key_value };

/// A window of sliding_window tokens: never, on all layers, or where use_sliding_window says.
enum class Window : std::uint8_t { never, always, if_used };

/// What a family has; left out: what Llama has. Defaults are those of the family's configuration
/// class in transformers.
struct Family {
  std::string_view model_type;
  int positions = 2048;    ///< where max_position_embeddings is left out
  double norm_eps = 1e-6;  ///< where rms_norm_eps is
  model::NormPlacement norm = model::NormPlacement::before;
  model::QueryKeyNorm query_key_norm = model::QueryKeyNorm::none;
  Biases biases = Biases::all_if_said;
  Window window = Window::never;
  int head_size = 0;  ///< where head_dim is left out; 0: hidden size / heads
  bool latent = false;
  bool multipliers = false;
  model::ExpertsConfig (*experts)(const ConfigFields& fields, int layers) = nullptr;
};

constexpr Family kFamilies[] = {
    {.model_type = "llama"},
    {.model_type = "mistral",
     .positions = 131072,
     .biases = Biases::none,
     .window = Window::always},
    {.model_type = "qwen2",
     .positions = 32768,
     .biases = Biases::query_key_value,
     .window = Window::if_used},
    {.model_type = "qwen3",
     .positions = 32768,
     .query_key_norm = model::QueryKeyNorm::head,
     .window = Window::if_used,
     .head_size = 128},
    {.model_type = "qwen3_moe",
     .positions = 32768,
     .query_key_norm = model::QueryKeyNorm::head,
     .window = Window::if_used,
     .experts = detail::read_qwen_experts},
    {.model_type = "deepseek_v2",
     .biases = Biases::none,
     .latent = true,
     .experts = detail::read_deepseek_v2_experts},
    {.model_type = "deepseek_v3",
     .positions = 4096,
     .biases = Biases::none,
     .latent = true,
     .experts = detail::read_deepseek_v3_experts},
    {.model_type = "olmo2",
     .norm_eps = 1e-5,
     .norm = model::NormPlacement::after,
     .query_key_norm = model::QueryKeyNorm::row},
    {.model_type = "granite", .multipliers = true},
};

const Family* family_of(const ConfigFields& fields) {
  const std::string type = fields.text("model_type");
  std::string known;
  for (const Family& family : kFamilies) {
    if (family.model_type == type) return &family;
    known += (known.empty() ? "\"" : ", \"") + std::string(family.model_type) + "\"";
  }
  fields.fail("model_type", known);
  return nullptr;
}

/// Whether sliding_window is there for the layers: for all or for none.
bool window_is_on(const ConfigFields& fields, const Family& family, int layers) {
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
  if (family.window == Window::always || family.experts != nullptr) return true;
  constexpr int kFirstDefault = 28;
  const int first = fields.integer("max_window_layers", {0, model::kLayersMax}, kFirstDefault);
  if (first != 0 && first < layers) {
    fields.fail("max_window_layers",
                "0, or " + std::to_string(layers) + " and more: a window for all layers or none");
  }
  return first == 0;
}

model::GroupedQueryConfig read_grouped_query(const ConfigFields& fields, const Family& family,
                                             const model::ModelConfig& model) {
  model::GroupedQueryConfig attention;
  attention.heads = fields.integer("num_attention_heads", model::kHeadCounts);
  attention.kv_heads = fields.integer("num_key_value_heads", model::kHeadCounts, attention.heads);
  if (fields.has("head_dim")) {
    attention.head_size = fields.integer("head_dim", model::kHeadSizes);
  } else if (family.head_size != 0) {
    attention.head_size = family.head_size;
  } else {
    if (model.hidden_size % attention.heads != 0) {
      fields.fail("head_dim", "an integer, as hidden_size is no multiple of num_attention_heads");
    }
    attention.head_size = std::max(1, model.hidden_size / attention.heads);
  }
  const bool said = fields.boolean("attention_bias", false);
  if (said && family.biases == Biases::none) fields.fail("attention_bias", "false");
  attention.output_bias = said && family.biases == Biases::all_if_said;
  attention.qkv_bias = attention.output_bias || family.biases == Biases::query_key_value;
  attention.query_key_norm = family.query_key_norm;
  if (window_is_on(fields, family, model.layers)) {
    constexpr int kWindowDefault = 4096;
    attention.sliding_window =
        fields.integer("sliding_window", model::kPositionCounts,
                       fields.is_null("sliding_window") ? 0 : kWindowDefault);
  }
  return attention;
}

model::LatentConfig read_latent(const ConfigFields& fields) {
  if (fields.boolean("attention_bias", false)) fields.fail("attention_bias", "false");
  return {.heads = fields.integer("num_attention_heads", model::kHeadCounts),
          .query_rank = fields.integer("q_lora_rank", model::kSizes, 0),
          .kv_rank = fields.integer("kv_lora_rank", model::kSizes),
          .nope_size = fields.integer("qk_nope_head_dim", model::kHeadSizes),
          .rope_size = fields.integer("qk_rope_head_dim", model::kHeadSizes),
          .value_size = fields.integer("v_head_dim", model::kHeadSizes)};
}

void read_attention(const ConfigFields& fields, const Family& family, model::ModelConfig& model) {
  detail::HfRope rope = detail::read_hf_rope(fields, model.positions);
  model.rope.base = rope.base;
  model.rope.scaling = std::move(rope.scaling);
  if (family.latent) {
    const model::LatentConfig latent = read_latent(fields);
    model.attention = latent;
    model.rope.size = latent.rope_size;
    model.rope.pairing = fields.boolean("rope_interleave", true) ? model::RopePairing::adjacent
                                                                 : model::RopePairing::halves;
    model.attention_scale = static_cast<float>(
        rope.latent_scale / std::sqrt(double{1} * latent.nope_size + latent.rope_size));
    return;
  }
  const model::GroupedQueryConfig grouped = read_grouped_query(fields, family, model);
  model.attention = grouped;
  model.rope.size = grouped.head_size;
  model.attention_scale = static_cast<float>(1 / std::sqrt(double{1} * grouped.head_size));
}

void read_feed_forward(const ConfigFields& fields, const Family& family,
                       model::ModelConfig& model) {
  if (fields.has("hidden_act")) fields.one_of("hidden_act", {"silu"});
  if (fields.boolean("mlp_bias", false)) fields.fail("mlp_bias", "false");
  if (family.experts != nullptr) model.experts = family.experts(fields, model.layers);
  const bool all_experts = model.experts && std::none_of(model.experts->dense_layers.begin(),
                                                         model.experts->dense_layers.end(),
                                                         [](bool dense) { return dense; });
  if (!all_experts) model.ffn_size = fields.integer("intermediate_size", model::kSizes);
}

/// Each once, in the order of the file.
void add_eos(const ConfigFields& fields, std::vector<std::uint32_t>& eos) {
  for (const std::int64_t token : fields.integers("eos_token_id", model::kTokens)) {
    const auto id = static_cast<std::uint32_t>(token);
    if (std::find(eos.begin(), eos.end(), id) == eos.end()) eos.push_back(id);
  }
}

HfConfig read_config(const ConfigFields& fields, const Family& family) {
  HfConfig config;
  model::ModelConfig& model = config.model;
  model.family = family.model_type;
  model.vocabulary_size = fields.integer("vocab_size", model::kSizes);
  model.hidden_size = fields.integer("hidden_size", model::kSizes);
  model.layers = fields.integer("num_hidden_layers", model::kLayerCounts);
  model.positions =
      fields.integer("max_position_embeddings", model::kPositionCounts, family.positions);
  model.norm_eps =
      static_cast<float>(fields.number("rms_norm_eps", model::kEpsilons, family.norm_eps));
  model.norm = family.norm;
  model.tied_head = fields.boolean("tie_word_embeddings", false);
  read_attention(fields, family, model);
  read_feed_forward(fields, family, model);
  if (family.multipliers) {
    const auto scale = [&](const char* key) {
      return static_cast<float>(fields.number(key, model::kScales, 1));
    };
    model.embedding_multiplier = scale("embedding_multiplier");
    model.residual_multiplier = scale("residual_multiplier");
    model.attention_scale = scale("attention_multiplier");
    model.logits_divisor = scale("logits_scaling");
  }
  add_eos(fields, model.eos);
  config.quantization = detail::read_hf_quantization(fields);
  return config;
}

tl::unexpected<FileError> error(const std::string& path, std::string message) {
  return tl::unexpected(FileError{.file = path, .message = std::move(message)});
}

tl::expected<nlohmann::json, FileError> parse_object(std::string_view text,
                                                     const std::string& path) {
  auto json = formats::parse_json_tree(text, path);
  if (!json || json->is_object()) return json;
  return error(path, "is not a JSON object");
}

/// A thousand times the size of a usual one.
constexpr std::uint64_t kConfigBytesMax = std::uint64_t{4} << 20;

}  // namespace

tl::expected<HfConfig, FileError> parse_hf_config(std::string_view text, const std::string& path) {
  const auto json = parse_object(text, path);
  if (!json) return tl::unexpected(json.error());
  std::string fault;
  const ConfigFields fields(*json, "", fault);
  const Family* const family = family_of(fields);
  if (family == nullptr) return error(path, std::move(fault));
  HfConfig config = read_config(fields, *family);
  if (fields.failed()) return error(path, std::move(fault));
  if (const auto valid = validate(config.model); !valid) {
    const auto names = detail::hf_key_names(fields, family->latent);
    return error(path, detail::with_keys(valid.error(), names));
  }
  return config;
}

tl::expected<std::vector<std::uint32_t>, FileError> parse_generation_eos(std::string_view text,
                                                                         const std::string& path) {
  const auto json = parse_object(text, path);
  if (!json) return tl::unexpected(json.error());
  std::string fault;
  const ConfigFields fields(*json, "", fault);
  std::vector<std::uint32_t> eos;
  add_eos(fields, eos);
  if (fields.failed()) return error(path, std::move(fault));
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

}  // namespace forge::checkpoint
