#include "families.h"

#include <algorithm>

namespace forge::checkpoint::detail {
namespace {

constexpr Family kFamilies[] = {
    {.model_type = "llama",
     .class_name = "LlamaForCausalLM",
     .architecture = "llama",
     .gguf_pairing = model::RopePairing::adjacent},
    {.model_type = "mistral",
     .class_name = "MistralForCausalLM",
     .architecture = "llama",
     .biases = Biases::none,
     .window = Window::always,
     .gguf_pairing = model::RopePairing::adjacent,
     .positions = 131072},
    {.model_type = "qwen2",
     .class_name = "Qwen2ForCausalLM",
     .architecture = "qwen2",
     .biases = Biases::query_key_value,
     .window = Window::if_used,
     .positions = 32768},
    {.model_type = "qwen3",
     .class_name = "Qwen3ForCausalLM",
     .architecture = "qwen3",
     .query_key_norm = model::QueryKeyNorm::head,
     .window = Window::if_used,
     .positions = 32768,
     .head_size = 128},
    {.model_type = "qwen3_moe",
     .class_name = "Qwen3MoeForCausalLM",
     .architecture = "qwen3moe",
     .query_key_norm = model::QueryKeyNorm::head,
     .window = Window::if_used,
     .experts = Experts::qwen,
     .positions = 32768},
    {.model_type = "deepseek_v2",
     .class_name = "DeepseekV2ForCausalLM",
     .architecture = "deepseek2",
     .latent = true,
     .experts = Experts::deepseek_v2,
     .gguf_pairing = model::RopePairing::adjacent},
    {.model_type = "deepseek_v3",
     .class_name = "DeepseekV3ForCausalLM",
     .architecture = "deepseek2",
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
    {.model_type = "granite",
     .class_name = "GraniteForCausalLM",
     .architecture = "granite",
     .multipliers = true,
     .gguf_pairing = model::RopePairing::adjacent},
};

}  // namespace

const Family* family_with(std::string_view Family::*name, std::string_view value) {
  const auto* const found = std::ranges::find(kFamilies, value, name);
  return found == std::end(kFamilies) ? nullptr : found;
}

const Family* with_window(std::string_view architecture) {
  const auto* const found = std::ranges::find_if(kFamilies, [&](const Family& family) {
    return family.architecture == architecture && family.window != Window::never;
  });
  return found == std::end(kFamilies) ? nullptr : found;
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
