// What config.json says of single layers: which of them have a window.
#include <gtest/gtest.h>

#include "checkpoint/checkpoint_edit.h"
#include "forge/checkpoint/hf_config.h"

namespace forge::checkpoint {
namespace {

using nlohmann::json;
using testing::golden;
using testing::json_file;

TEST(HfLayers, layers_with_a_window_where_no_list_says_them) {
  const auto full_layers = [](const char* name, const json& changes, int layers) {
    json config = json_file(golden(name) + "/config_published.json");
    config.erase("layer_types");
    config["num_hidden_layers"] = layers;
    config.update(changes);
    const auto read = parse_hf_config(config.dump(), "config.json");
    EXPECT_TRUE(read) << to_string(read.error());
    return std::get<model::GroupedQueryConfig>(read.value().model.attention).full_layers;
  };
  using Layers = std::vector<bool>;
  EXPECT_EQ(full_layers("gemma2", json::object(), 3), (Layers{false, true, false}));
  EXPECT_EQ(full_layers("gemma2", {{"sliding_window_pattern", 3}}, 3), (Layers{false, true, false}))
      << "a key of Gemma 3's";
  EXPECT_EQ(full_layers("gemma3", {{"sliding_window_pattern", 3}}, 3),
            (Layers{false, false, true}));
  EXPECT_EQ(full_layers("gemma3", json::object(), 5), Layers());
  EXPECT_EQ(full_layers("olmo3", json::object(), 5), (Layers{false, false, false, true, false}));
  EXPECT_EQ(full_layers("qwen2_windows", {{"max_window_layers", 2}}, 3),
            (Layers{true, true, false}));
  EXPECT_EQ(full_layers("qwen2_moe", {{"mlp_only_layers", json::array()}}, 5),
            (Layers{false, true, false, true, true}));
  EXPECT_EQ(full_layers("smollm3", {{"no_rope_layers", {1, 0, 1}}}, 3),
            (Layers{true, false, true}));
}

}  // namespace
}  // namespace forge::checkpoint
