#include "forge/reference/tiny_config.h"

#include <gtest/gtest.h>

#include <functional>

namespace forge::reference {
namespace {

struct Bad {
  std::function<void(TinyConfig&)> spoil;
  ConfigError error;
};

TEST(TinyConfig, the_default_is_valid) { EXPECT_TRUE(validate(TinyConfig{}).has_value()); }

TEST(TinyConfig, an_invalid_field_is_named_with_its_value_and_the_accepted_range) {
  const Bad cases[] = {
      {[](TinyConfig& c) { c.vocabulary_size = 1; }, {"vocabulary_size", "1", "2 .. 1048576"}},
      {[](TinyConfig& c) { c.hidden_size = 0; }, {"hidden_size", "0", "1 .. 65536"}},
      {[](TinyConfig& c) { c.layers = -3; }, {"layers", "-3", "1 .. 1024"}},
      {[](TinyConfig& c) { c.heads = 5000; }, {"heads", "5000", "1 .. 1024"}},
      {[](TinyConfig& c) { c.kv_heads = 0; }, {"kv_heads", "0", "1 .. 1024"}},
      {[](TinyConfig& c) { c.kv_heads = 3; }, {"heads", "4", "a multiple of kv_heads, 3"}},
      {[](TinyConfig& c) { c.head_size = 257; }, {"head_size", "257", "2 .. 256"}},
      {[](TinyConfig& c) { c.head_size = 15; }, {"head_size", "15", "an even number"}},
      {[](TinyConfig& c) { c.ffn_size = 0; }, {"ffn_size", "0", "1 .. 1048576"}},
      {[](TinyConfig& c) { c.rope_base = 1; }, {"rope_base", "1.000000", "above 1, up to 1e9"}},
      {[](TinyConfig& c) { c.norm_eps = 0; }, {"norm_eps", "0.000000", "above 0, up to 1"}},
  };
  for (const Bad& bad : cases) {
    TinyConfig config;
    bad.spoil(config);
    const auto result = validate(config);
    ASSERT_FALSE(result.has_value()) << bad.error.name;
    EXPECT_EQ(result.error(), bad.error) << to_string(result.error());
  }
}

}  // namespace
}  // namespace forge::reference
