#include "forge/model/model_config.h"

#include <gtest/gtest.h>

#include <functional>

namespace forge {
namespace {

struct Bad {
  std::function<void(ModelConfig&)> spoil;
  ModelConfigError error;
};

TEST(ModelConfig, the_default_is_valid) { EXPECT_TRUE(validate({}).has_value()); }

TEST(ModelConfig, an_invalid_field_is_named_with_its_value_and_the_accepted_range) {
  const Bad cases[] = {
      {[](ModelConfig& c) { c.vocabulary_size = 1; }, {"vocabulary_size", "1", "2 .. 1048576"}},
      {[](ModelConfig& c) { c.hidden_size = 0; }, {"hidden_size", "0", "1 .. 65536"}},
      {[](ModelConfig& c) { c.layers = -3; }, {"layers", "-3", "1 .. 1024"}},
      {[](ModelConfig& c) { c.heads = 5000; }, {"heads", "5000", "1 .. 1024"}},
      {[](ModelConfig& c) { c.kv_heads = 0; }, {"kv_heads", "0", "1 .. 1024"}},
      {[](ModelConfig& c) { c.kv_heads = 3; }, {"heads", "4", "a multiple of kv_heads, 3"}},
      {[](ModelConfig& c) { c.head_size = 257; }, {"head_size", "257", "2 .. 256"}},
      {[](ModelConfig& c) { c.head_size = 15; }, {"head_size", "15", "an even number"}},
      {[](ModelConfig& c) { c.ffn_size = 0; }, {"ffn_size", "0", "1 .. 1048576"}},
      {[](ModelConfig& c) { c.rope_base = 1; }, {"rope_base", "1.000000", "above 1, up to 1e9"}},
      {[](ModelConfig& c) { c.norm_eps = 0; }, {"norm_eps", "0.000000", "above 0, up to 1"}},
  };
  for (const Bad& bad : cases) {
    ModelConfig config;
    bad.spoil(config);
    const auto result = validate(config);
    ASSERT_FALSE(result.has_value()) << bad.error.field;
    EXPECT_EQ(result.error(), bad.error) << to_string(result.error());
  }
}

TEST(ModelConfig, an_error_reads_as_a_sentence) {
  EXPECT_EQ(to_string(ModelConfigError{"layers", "0", "1 .. 1024"}),
            "model layers is 0, accepted: 1 .. 1024");
}

}  // namespace
}  // namespace forge
