#include "forge/model/config_digest.h"

#include <bit>
#include <concepts>
#include <type_traits>

#include "forge/core/digest.h"

namespace forge::model {
namespace {

/// Adds fields one by one. A struct is taken apart by a structured binding, which does not compile
/// once the struct has a field more.
class Fields {
 public:
  template <class... Values>
  Fields& all(const Values&... values) {
    (add(values), ...);
    return *this;
  }

  std::uint64_t value() const { return digest_.value(); }

 private:
  template <class Number>
  requires std::integral<Number> || std::is_enum_v<Number>
  void add(Number number) { digest_.add(static_cast<std::uint64_t>(number)); }
  void add(float number) { digest_.add(std::bit_cast<std::uint32_t>(number)); }
  void add(double number) { digest_.add(std::bit_cast<std::uint64_t>(number)); }

  template <class Value>
  void add(const std::vector<Value>& list) {
    add(list.size());
    for (const Value value : list) add(value);
  }
  template <class Value>
  void add(const std::optional<Value>& value) {
    add(value.has_value());
    if (value) add(*value);
  }
  template <class... Kinds>
  void add(const std::variant<Kinds...>& value) {
    add(value.index());
    std::visit([&](const auto& kind) { add(kind); }, value);
  }

  void add(std::monostate) {}
  void add(const LinearRope& rope) {
    const auto& [factor] = rope;
    all(factor);
  }
  void add(const Llama3Rope& rope) {
    const auto& [factor, low_freq_factor, high_freq_factor, original_positions] = rope;
    all(factor, low_freq_factor, high_freq_factor, original_positions);
  }
  void add(const YarnRope& rope) {
    const auto& [factor, fast, slow, original_positions, attention_factor, truncate] = rope;
    all(factor, fast, slow, original_positions, attention_factor, truncate);
  }
  void add(const TabledRope& rope) {
    const auto& [divisors] = rope;
    all(divisors);
  }
  void add(const RopeConfig& rope) {
    const auto& [size, base, pairing, scaling] = rope;
    all(size, base, pairing, scaling);
  }
  void add(const GroupedQueryConfig& attention) {
    const auto& [heads, kv_heads, size, qkv_bias, output_bias, norm, window] = attention;
    all(heads, kv_heads, size, qkv_bias, output_bias, norm, window);
  }
  void add(const LatentConfig& attention) {
    const auto& [heads, query_rank, kv_rank, nope_size, rope_size, value_size, eps] = attention;
    all(heads, query_rank, kv_rank, nope_size, rope_size, value_size, eps);
  }
  void add(const ExpertsConfig& c) {
    const auto& [experts, per_token, size, shared_size, score, bias, groups, groups_per_token,
                 group_best, normalised, routed_scale, dense_layers] = c;
    all(experts, per_token, size, shared_size, score, bias, groups, groups_per_token, group_best,
        normalised, routed_scale, dense_layers);
  }

  Digest digest_;
};

}  // namespace

std::uint64_t digest_of(const ModelConfig& config) {
  const auto& [family, vocabulary_size, hidden_size, layers, ffn_size, positions, norm_eps, norm,
               attention, attention_scale, rope, experts, tied_head, embedding_multiplier,
               residual_multiplier, logits_divisor, eos] = config;
  static_cast<void>(family);
  return Fields()
      .all(vocabulary_size, hidden_size, layers, ffn_size, positions, norm_eps, norm, attention,
           attention_scale, rope, experts, tied_head, embedding_multiplier, residual_multiplier,
           logits_divisor, eos)
      .value();
}

}  // namespace forge::model
