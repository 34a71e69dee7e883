#include "gpu/fast_families.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "families.h"
#include "forge/checkpoint/hf_config.h"
#include "gpu/golden_folder.h"

namespace forge::testing {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;

int rounded_up(int size, int multiple) { return (size + multiple - 1) / multiple * multiple; }

void round_up(Json& config, const char* key, int multiple) {
  if (config.contains(key)) config[key] = rounded_up(config[key].get<int>(), multiple);
}

/// Heads of whole steps of the tensor core, rows of whole pieces of 16 bytes (fast_shapes.cc);
/// contexts of several spans.
void set_sizes(Json& config) {
  config["max_position_embeddings"] = 1024;
  for (const char* const key : {"hidden_size", "intermediate_size", "moe_intermediate_size",
                                "shared_expert_intermediate_size", "q_lora_rank"}) {
    if (config[key].is_null()) {
      config.erase(key);
    } else {
      round_up(config, key, 8);
    }
  }
  if (!config.contains("kv_lora_rank")) {
    const int heads = config["num_attention_heads"];
    if (!config.contains("head_dim")) config["head_dim"] = config["hidden_size"].get<int>() / heads;
    return round_up(config, "head_dim", 16);
  }
  const int turning = config["qk_rope_head_dim"];
  config["kv_lora_rank"] = rounded_up(config["kv_lora_rank"].get<int>() + turning, 16) - turning;
  round_up(config, "qk_nope_head_dim", 8);
  round_up(config, "v_head_dim", 8);
}

}  // namespace

std::vector<FastShape> family_shapes() {
  std::vector<FastShape> shapes;
  for (const auto& folder : fs::directory_iterator(golden("models"))) {
    if (!fs::exists(folder.path() / "config_published.json")) continue;
    const std::string path = (folder.path() / "config.json").string();
    Json config = Json::parse(std::ifstream(path));
    set_sizes(config);
    shapes.push_back({folder.path().filename().string(),
                      checkpoint::parse_hf_config(config.dump(), path).value().model});
  }
  std::ranges::sort(shapes, {}, &FastShape::name);
  return shapes;
}

std::vector<std::string> families_without(const std::vector<FastShape>& shapes) {
  std::vector<std::string> missing;
  for (const checkpoint::detail::Family& family : checkpoint::detail::families()) {
    const bool is_there = std::ranges::any_of(
        shapes, [&](const FastShape& shape) { return shape.config.family == family.model_type; });
    if (!is_there) missing.emplace_back(family.model_type);
  }
  return missing;
}

}  // namespace forge::testing
