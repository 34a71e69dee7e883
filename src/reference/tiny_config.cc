#include "forge/reference/tiny_config.h"

#include "forge/numerics/attention.h"

namespace forge::reference {
namespace {

tl::unexpected<ConfigError> error(const char* field, std::string value, std::string accepted) {
  return tl::unexpected(ConfigError{field, std::move(value), std::move(accepted)});
}

}  // namespace

tl::expected<void, ConfigError> validate(const TinyConfig& c) {
  auto in_range = forge::validate({{"vocabulary_size", c.vocabulary_size, {2, 1 << 20}},
                                   {"hidden_size", c.hidden_size, {1, 65536}},
                                   {"layers", c.layers, {1, 1024}},
                                   {"heads", c.heads, {1, 1024}},
                                   {"kv_heads", c.kv_heads, {1, 1024}},
                                   {"head_size", c.head_size, {2, numerics::kHeadSizeMax}},
                                   {"ffn_size", c.ffn_size, {1, 1 << 20}}});
  if (!in_range) return in_range;
  if (c.heads % c.kv_heads != 0) {
    return error("heads", std::to_string(c.heads),
                 "a multiple of kv_heads, " + std::to_string(c.kv_heads));
  }
  if (c.head_size % 2 != 0)
    return error("head_size", std::to_string(c.head_size), "an even number");
  if (!(c.rope_base > 1 && c.rope_base <= 1e9)) {
    return error("rope_base", std::to_string(c.rope_base), "above 1, up to 1e9");
  }
  if (!(c.norm_eps > 0 && c.norm_eps <= 1)) {
    return error("norm_eps", std::to_string(c.norm_eps), "above 0, up to 1");
  }
  return {};
}

}  // namespace forge::reference
