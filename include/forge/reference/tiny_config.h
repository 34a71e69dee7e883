// TinyConfig: the shape of a decoder-only Transformer, and the seed of its weights.
//
// A value: two models of equal configuration are the same model, bit for bit, on
// every machine.
//
// Legend, used by all of reference/: T tokens (rows) of a batch, V vocabulary, d hidden size,
// H query heads, Hkv KV heads, D head size, F inner size of the MLP.
#pragma once

#include <cstdint>
#include <string>
#include <tl/expected.hpp>

#include "forge/core/range.h"
#include "forge/model/model_config.h"

namespace forge::reference {

struct TinyConfig {
  int vocabulary_size = 320;  ///< V, 2 .. 2^20
  int hidden_size = 64;       ///< d, 1 .. 65536
  int layers = 4;             ///< 1 .. 1024
  int heads = 4;              ///< H, 1 .. 1024; a multiple of kv_heads
  int kv_heads = 2;           ///< Hkv, 1 .. 1024
  int head_size = 16;         ///< D, even, 2 .. 256
  int ffn_size = 128;         ///< F, 1 .. 2^20
  double rope_base = 10000;   ///< above 1, up to 1e9
  float norm_eps = 1e-5F;     ///< above 0, up to 1
  std::uint64_t seed = 1;     ///< of the weights

  int query_size() const { return heads * head_size; }
  int kv_size() const { return kv_heads * head_size; }
  /// Query heads that share a KV head.
  int group_size() const { return heads / kv_heads; }
  model::RopeConfig rope() const { return {.size = head_size, .base = rope_base}; }

  friend bool operator==(const TinyConfig&, const TinyConfig&) = default;
};

/// Errors: the first field, in the order declared, that is out of range.
tl::expected<void, ConfigError> validate(const TinyConfig& config);

}  // namespace forge::reference
