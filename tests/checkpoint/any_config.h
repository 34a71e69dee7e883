// A random valid ModelConfig of a family, with whatever its config.json can say.
#pragma once

#include <rapidcheck.h>

#include <array>
#include <string>

#include "forge/model/model_config.h"

namespace forge::testing {

/// Every family that there is.
inline constexpr std::array kFamilies{
    "llama",       "mistral", "qwen2",   "qwen3",   "qwen3_moe",   "deepseek_v2",
    "deepseek_v3", "olmo2",   "granite", "mixtral", "qwen2_moe",   "smollm3",
    "phi3",        "olmo3",   "glm4",    "gemma2",  "gemma3_text", "gpt_oss"};

/// A list of layers none of which is meant, or a window on no layer, becomes no list and no window,
/// as readers have it.
void make_usual(model::ModelConfig& model);

/// Fractions are floats, so that GGUF can say them too; temperatures of YaRN are the paper's times
/// one.
rc::Gen<model::ModelConfig> any_config(const std::string& family);

}  // namespace forge::testing
