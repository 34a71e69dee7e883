#include "families.h"

#include <algorithm>

namespace forge::checkpoint::detail {
namespace {

constexpr Family kFamilies[] = {
    {.model_type = "llama",
     .class_name = "LlamaForCausalLM",
     .architecture = "llama",
     .mlp_bias = true,
     .gguf_pairing = model::RopePairing::adjacent},
    {.model_type = "mistral",
     .class_name = "MistralForCausalLM",
     .architecture = "llama",
     .in_gguf = InGguf::unknown,
     .biases = Biases::none,
     .window = Window::always,
     .gguf_pairing = model::RopePairing::adjacent,
     .positions = 131072},
    {.model_type = "qwen2",
     .class_name = "Qwen2ForCausalLM",
     .architecture = "qwen2",
     .biases = Biases::query_key_value,
     .window = Window::if_used,
     .window_layers = WindowLayers::from_max,
     .positions = 32768},
    {.model_type = "qwen3",
     .class_name = "Qwen3ForCausalLM",
     .architecture = "qwen3",
     .query_key_norm = model::QueryKeyNorm::head,
     .window = Window::if_used,
     .window_layers = WindowLayers::from_max,
     .positions = 32768,
     .head_size = 128},
    {.model_type = "qwen3_moe",
     .class_name = "Qwen3MoeForCausalLM",
     .architecture = "qwen3moe",
     .query_key_norm = model::QueryKeyNorm::head,
     .window = Window::if_used,
     .experts = Experts::qwen,
     .positions = 32768},
    {.model_type = "mixtral",
     .class_name = "MixtralForCausalLM",
     .architecture = "llama",
     .in_gguf = InGguf::by_experts,
     .biases = Biases::none,
     .window = Window::always,
     .experts = Experts::mixtral,
     .tensors = Tensors::mixtral,
     .gguf_pairing = model::RopePairing::adjacent,
     .positions = 131072,
     .norm_eps = 1e-5,
     .window_size = 0,
     .rope_base = 1e6},
    {.model_type = "gpt_oss",
     .class_name = "GptOssForCausalLM",
     .architecture = "gpt-oss",
     .biases = Biases::all_unless_denied,
     .window = Window::always,
     .full_period = 2,
     .sinks = true,
     .activation = model::Activation::clamped_swiglu,
     .experts = Experts::gpt_oss,
     .tensors = Tensors::gpt_oss,
     .usual_yarn = true,
     .gguf_truncate = false,
     .positions = 131072,
     .norm_eps = 1e-5,
     .head_size = 64,
     .window_size = 128,
     .rope_base = 150000},
    {.model_type = "qwen2_moe",
     .class_name = "Qwen2MoeForCausalLM",
     .architecture = "qwen2moe",
     .biases = Biases::query_key_value_unless_denied,
     .window = Window::if_used,
     .window_layers = WindowLayers::alternating_before_max,
     .experts = Experts::qwen_shared,
     .tensors = Tensors::qwen_shared,
     .positions = 32768},
    {.model_type = "smollm3",
     .class_name = "SmolLM3ForCausalLM",
     .architecture = "smollm3",
     .mlp_bias = true,
     .window = Window::if_used,
     .window_layers = WindowLayers::unturned,
     .unturned_period = 4,
     .gguf_pairing = model::RopePairing::adjacent,
     .positions = 32768,
     .tied = true,
     .window_size = 0,
     .rope_base = 2e6},
    {.model_type = "phi3",
     .class_name = "Phi3ForCausalLM",
     .architecture = "phi3",
     .biases = Biases::none,
     .window = Window::always,
     .tensors = Tensors::fused,
     .partial_rotary = true,
     .positions = 4096,
     .original_positions = 4096,
     .norm_eps = 1e-5,
     .window_size = 0},
    {.model_type = "deepseek_v2",
     .class_name = "DeepseekV2ForCausalLM",
     .architecture = "deepseek2",
     .latent = true,
     .experts = Experts::deepseek_v2,
     .gguf_pairing = model::RopePairing::adjacent},
    {.model_type = "deepseek_v3",
     .class_name = "DeepseekV3ForCausalLM",
     .architecture = "deepseek2",
     .in_gguf = InGguf::by_sigmoid,
     .latent = true,
     .experts = Experts::deepseek_v3,
     .gguf_pairing = model::RopePairing::adjacent,
     .positions = 4096},
    {.model_type = "olmo2",
     .class_name = "Olmo2ForCausalLM",
     .architecture = "olmo2",
     .norm = model::NormPlacement::after,
     .query_key_norm = model::QueryKeyNorm::row,
     .norm_eps = 1e-5},
    {.model_type = "olmo3",
     .class_name = "Olmo3ForCausalLM",
     .architecture = "olmo2",
     .in_gguf = InGguf::by_window,
     .norm = model::NormPlacement::after,
     .query_key_norm = model::QueryKeyNorm::row,
     .window = Window::always,
     .full_period = 4,
     .window_rope = true,
     .norm_eps = 1e-5,
     .rope_base = 500000},
    {.model_type = "glm4",
     .class_name = "Glm4ForCausalLM",
     .architecture = "glm4",
     .norm = model::NormPlacement::around,
     .biases = Biases::query_key_value_if_said,
     .tensors = Tensors::glm,
     .partial_rotary = true,
     .hf_pairing = model::RopePairing::adjacent,
     .gguf_pairing = model::RopePairing::adjacent,
     .positions = 131072,
     .norm_eps = 1.5625e-7,
     .head_size = 128,
     .rotary_factor = 0.5},
    {.model_type = "gemma2",
     .class_name = "Gemma2ForCausalLM",
     .architecture = "gemma2",
     .norm = model::NormPlacement::around,
     .window = Window::always,
     .full_period = 2,
     .scaled_embedding = true,
     .caps = true,
     .query_scalar = true,
     .activation = model::Activation::gelu_tanh,
     .tensors = Tensors::gemma,
     .norms_from_one = true,
     .positions = 8192,
     .head_size = 256,
     .tied = true,
     .score_cap = 50,
     .logits_cap = 30},
    {.model_type = "gemma3_text",
     .class_name = "Gemma3ForCausalLM",
     .architecture = "gemma3",
     .norm = model::NormPlacement::around,
     .query_key_norm = model::QueryKeyNorm::head,
     .window = Window::always,
     .full_period = 6,
     .period_said = true,
     .scaled_embedding = true,
     .caps = true,
     .query_scalar = true,
     .activation = model::Activation::gelu_tanh,
     .tensors = Tensors::gemma,
     .norms_from_one = true,
     .window_rope = true,
     .positions = 131072,
     .head_size = 256,
     .tied = true,
     .rope_base = 1e6,
     .window_rope_base = 10000},
    {.model_type = "granite",
     .class_name = "GraniteForCausalLM",
     .architecture = "granite",
     .mlp_bias = true,
     .multipliers = true,
     .gguf_pairing = model::RopePairing::adjacent},
};

}  // namespace

std::span<const Family> families() { return kFamilies; }

const Family* family_with(std::string_view Family::*name, std::string_view value) {
  const auto* const found = std::ranges::find(kFamilies, value, name);
  return found == std::end(kFamilies) ? nullptr : found;
}

const Family& family_in_gguf(const Family& family, const model::ModelConfig& model) {
  const auto* const grouped = std::get_if<model::GroupedQueryConfig>(&model.attention);
  const auto told = [&](InGguf how) {
    switch (how) {
      case InGguf::by_experts:
        return model.experts.has_value();
      case InGguf::by_window:
        return grouped != nullptr && grouped->sliding_window > 0;
      case InGguf::by_sigmoid:
        return model.experts && model.experts->score == model::ExpertScore::sigmoid;
      default:
        return false;
    }
  };
  const auto* const found = std::ranges::find_if(kFamilies, [&](const Family& other) {
    return other.architecture == family.architecture && told(other.in_gguf);
  });
  return found != std::end(kFamilies) ? *found : *family_told(family.architecture, InGguf::first);
}

const Family* family_told(std::string_view architecture, InGguf how) {
  const auto* const found = std::ranges::find_if(kFamilies, [&](const Family& family) {
    return family.architecture == architecture && family.in_gguf == how;
  });
  return found == std::end(kFamilies) ? nullptr : found;
}

const Family& family_in_json(const Family& family, const model::ModelConfig& model) {
  const auto* const grouped = std::get_if<model::GroupedQueryConfig>(&model.attention);
  if (family.window != Window::never || grouped == nullptr || grouped->sliding_window == 0) {
    return family;
  }
  const Family* const sibling = family_told(family.architecture, InGguf::unknown);
  return sibling == nullptr ? family : *sibling;
}

bool may_have_window(std::string_view architecture) {
  return std::ranges::any_of(kFamilies, [&](const Family& family) {
    return family.architecture == architecture && family.window != Window::never;
  });
}

std::string known(std::string_view Family::*name, char quote) {
  std::string all;
  for (const Family& family : kFamilies) {
    if (family_with(name, family.*name) != &family) continue;  // another one's name too
    all.append(all.empty() ? "" : ", ").append(1, quote).append(family.*name).append(1, quote);
  }
  return all;
}

}  // namespace forge::checkpoint::detail
