#include "checkpoint/read_hf_config.h"

#include <algorithm>
#include <cmath>

#include "forge/checkpoint/gguf_config.h"
#include "forge/checkpoint/hf_config.h"
#include "forge/core/check.h"
#include "forge/model/rope_frequencies.h"
#include "lora_config.h"

namespace forge::testing {
namespace {

/// Whatever the file says, its error is one line of printable text that is not endless.
void check_error(const formats::FileError& error) {
  const std::string text = to_string(error);
  FORGE_CHECK(error.file == "fuzz" && !error.message.empty() && text.size() < 1000, text);
  FORGE_CHECK(std::all_of(text.begin(), text.end(), [](char c) { return c >= ' ' && c <= '~'; }));
}

}  // namespace

bool read_config_in_every_way(std::string_view text) {
  if (const auto eos = checkpoint::parse_generation_eos(text, "fuzz"); !eos)
    check_error(eos.error());
  const auto config = checkpoint::parse_hf_config(text, "fuzz");
  if (!config) {
    check_error(config.error());
    return false;
  }
  FORGE_CHECK(validate(config->model).has_value());
  for (int layer = 0; layer < config->model.layers; ++layer) is_dense(config->model, layer);
  const auto written = checkpoint::config_text(config->model, quant::WeightType::f32);
  FORGE_CHECK(written.has_value(), written.error());
  FORGE_CHECK(checkpoint::parse_hf_config(*written, "fuzz")->model == config->model, *written);
  checkpoint::check_for_gguf(config->model);
  for (const double frequency : rope_frequencies(config->model.rope)) {
    const double largest_angle = frequency * model::kPositionsMax;
    FORGE_CHECK(frequency > 0 && largest_angle < 0x1p30, "frequency=", frequency);
  }
  return true;
}

bool read_lora_config(std::string_view text) {
  const auto config = checkpoint::detail::parse_lora_config(text, "fuzz");
  if (!config) {
    check_error(config.error());
    return false;
  }
  constexpr const char* kModule = "model.layers.1.mlp.down_proj";
  const auto rank = config->rank.of(kModule);
  const auto alpha = config->alpha.of(kModule);
  if (!rank || !alpha) return true;
  FORGE_CHECK(*rank >= 1 && std::isfinite(config->factor(*rank, *alpha)), "rank=", *rank);
  return true;
}

}  // namespace forge::testing
