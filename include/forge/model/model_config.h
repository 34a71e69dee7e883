// ModelConfig: the architecture of a decoder-only Transformer as published checkpoints have it.
//
// One forward pass (transformer.h) serves every family; what tells families apart is a value of
// this type. config.json (hf_config.h) and the metadata of GGUF (gguf_config.h) are read into it.
//
//   embedding * embedding_multiplier
//   -> [ h += residual_multiplier * post_norm?( attention( pre_norm?(h) ) )
//        h += residual_multiplier * post_norm?( mlp( pre_norm?(h) ) ) ] x layers
//   -> final norm -> head -> soft_cap?( logits / logits_divisor )
//
//   family              differs from Llama 2 in
//   Llama 3.x           rope scaling llama3
//   Mistral             head_size; a sliding window in its first version
//   Mixtral             mixture of experts
//   Qwen2, Qwen2.5      biases of Q, K and V
//   Qwen2-MoE           likewise; mixture of experts with shared ones behind a gate
//   Qwen3               norm of each head of Q and K
//   Qwen3-MoE           likewise; mixture of experts
//   DeepSeek-V2, V3     latent attention; mixture of experts with shared ones; YaRN
//   Gemma 2             norms around the sub-layers; soft caps; a window on every other layer; GELU
//   Gemma 3             likewise but for the caps; norm of each head of Q and K; another RoPE on
//                       layers with a window
//   GLM-4               norms around the sub-layers; RoPE on a part of a head
//   OLMo 2              norms after the sub-layers; norm of whole rows of Q and K
//   OLMo 3              likewise; a window on most layers, without the scaling of RoPE
//   Granite             the multipliers
//   SmolLM3             layers without RoPE
//   Phi-3, Phi-4        RoPE on a part of a head; LongRoPE
//   gpt-oss             mixture of experts, with biases everywhere and SwiGLU of clamped inputs;
//                       sinks; a window on every other layer; YaRN
//
// Legend, used by all of transformer/: T rows (tokens) of a batch, V vocabulary, d hidden size,
// H query heads, Hkv KV heads, D head size, F inner size of an MLP, E experts.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <tl/expected.hpp>
#include <variant>
#include <vector>

namespace forge::model {

/// The largest sizes that a configuration may have: far above any published model, and so small
/// that products of two sizes fit into an int64 and a table for each layer into memory.
inline constexpr int kSizeMax = 1 << 20;  ///< vocabulary, hidden size, F, H D, ranks of latents
inline constexpr int kLayersMax = 1024;
inline constexpr int kHeadsMax = 1024;
inline constexpr int kHeadSizeMax = 1024;  ///< parts of a latent head; D: numerics::kHeadSizeMax
inline constexpr int kExpertsMax = 1024;
inline constexpr int kPositionsMax = 1 << 24;

/// The place of a sub-layer's RMSNorm: on what it reads, on what it adds, or one on each.
enum class NormPlacement : std::uint8_t { before, after, around };

/// RMSNorm of queries and keys before RoPE: none, of each head [D], or of all heads' row [H D].
enum class QueryKeyNorm : std::uint8_t { none, head, row };

/// The function of an MLP's gate: x / (1 + exp(-x)) (SwiGLU), GELU in its form with tanh
/// (Hendrycks, Gimpel, arXiv:1606.08415), or SwiGLU of clamped inputs, as numerics/canonical.h
/// defines them.
enum class Activation : std::uint8_t { silu, gelu_tanh, clamped_swiglu };

/// The components of a head that turn together: i and i + D/2, or 2i and 2i + 1.
enum class RopePairing : std::uint8_t { halves, adjacent };

/// Frequencies divided by `factor` (position interpolation; Chen et al., arXiv:2306.15595).
struct LinearRope {
  double factor = 1;
  friend bool operator==(const LinearRope&, const LinearRope&) = default;
};

/// Llama 3.1's scaling: low frequencies divided by `factor`, high ones kept, a ramp between.
struct Llama3Rope {
  double factor = 8;
  double low_freq_factor = 1;
  double high_freq_factor = 4;
  double original_positions = 8192;
  friend bool operator==(const Llama3Rope&, const Llama3Rope&) = default;
};

/// YaRN (Peng et al., arXiv:2309.00071). Cosines and sines are multiplied by attention_factor,
/// which the reader derives from mscale and mscale_all_dim where the checkpoint has those.
struct YarnRope {
  double factor = 1;
  double beta_fast = 32;
  double beta_slow = 1;
  double original_positions = 4096;
  double attention_factor = 1;
  bool truncate = true;  ///< the ends of the ramp are rounded to whole pairs
  friend bool operator==(const YarnRope&, const YarnRope&) = default;
};

/// Divisors of the frequencies, one a pair, from a tensor of the checkpoint (GGUF's
/// rope_freqs.weight): [size / 2].
struct TabledRope {
  std::vector<float> divisors;
  friend bool operator==(const TabledRope&, const TabledRope&) = default;
};

/// Dynamic NTK: a sequence longer than the context that the model was trained for,
/// ModelConfig::positions, would get a larger base. What a token computes must not depend on what
/// follows it, so the context is that which the model is configured for, and within it all
/// sequences have the base as it is: Forge serves no longer ones.
struct DynamicRope {
  double factor = 1;
  friend bool operator==(const DynamicRope&, const DynamicRope&) = default;
};

/// LongRoPE (Ding et al., arXiv:2402.13753): divisors of the frequencies, one a pair [size / 2], of
/// which there are two tables. The long one counts where the context that the model is configured
/// for, ModelConfig::positions, is above original_positions, otherwise the short one: for every
/// sequence, however long it is at the time, where transformers changes the table as one grows.
/// Cosines and sines are multiplied by attention_factor.
struct LongRope {
  std::vector<float> short_divisors;
  std::vector<float> long_divisors;
  double original_positions = 4096;
  double attention_factor = 1;
  bool is_long = false;  ///< the long table counts
  friend bool operator==(const LongRope&, const LongRope&) = default;
};

using RopeScaling = std::variant<std::monostate, LinearRope, Llama3Rope, YarnRope, TabledRope,
                                 DynamicRope, LongRope>;

struct RopeConfig {
  int size = 64;  ///< components of a head that turn, even; they are its first ones
  double base = 10000;
  RopePairing pairing = RopePairing::halves;
  RopeScaling scaling;
  friend bool operator==(const RopeConfig&, const RopeConfig&) = default;
};

/// Grouped-query attention (Ainslie et al., arXiv:2305.13245); multi-head where H = Hkv.
struct GroupedQueryConfig {
  int heads = 1;     ///< H, a multiple of kv_heads
  int kv_heads = 1;  ///< Hkv
  int head_size = 64;
  bool qkv_bias = false;
  bool output_bias = false;
  QueryKeyNorm query_key_norm = QueryKeyNorm::none;
  /// The number of tokens that a query sees, its own included; 0: all.
  int sliding_window = 0;
  /// [layers], true: the window is not on that layer; or empty: it is on all layers.
  std::vector<bool> full_layers = {};
  /// c: a score s becomes c tanh(s / c) before the softmax; 0: it stays as it is.
  float score_cap = 0;
  /// Each head has a score more in its softmax, a weight of the layer, that has no value.
  bool sinks = false;
  friend bool operator==(const GroupedQueryConfig&, const GroupedQueryConfig&) = default;
};

/// Multi-head latent attention (DeepSeek-V2, arXiv:2405.04434, section 2.1). For each token the
/// cache holds one latent [kv_rank] and one rotated key part [rope_size], shared by all heads.
struct LatentConfig {
  int heads = 1;
  int query_rank = 0;   ///< size of the queries' latent; 0: queries come from the hidden state
  int kv_rank = 512;    ///< size of the latent of keys and values
  int nope_size = 128;  ///< components of a head's key that do not turn
  int rope_size = 64;   ///< components that do
  int value_size = 128;
  float latent_norm_eps = 1e-6F;  ///< epsilon of the latents' norms, whatever norm_eps is
  friend bool operator==(const LatentConfig&, const LatentConfig&) = default;
};

using AttentionConfig = std::variant<GroupedQueryConfig, LatentConfig>;

/// The function that turns the router's products into scores.
enum class ExpertScore : std::uint8_t { softmax, sigmoid };

/// Mixture of experts. A token takes its experts_per_token best experts from its groups_per_token
/// best groups. Their weights are their scores, normalized if `normalized`, times routed_scale.
/// With a correction bias, score + bias decides the choice, the score alone the weight.
struct ExpertsConfig {
  int experts = 8;
  int experts_per_token = 2;
  int expert_size = 0;  ///< F of an expert
  int shared_size = 0;  ///< F of the shared experts together; 0: none
  ExpertScore score = ExpertScore::softmax;
  bool correction_bias = false;
  int groups = 1;            ///< groups of equally many experts
  int groups_per_token = 1;  ///< 1 .. groups; all: no limit
  int group_best = 1;        ///< a group's score: the sum of its 1 or 2 best
  bool normalized = false;   ///< the weights of a token's experts sum to one
  float routed_scale = 1;
  std::vector<bool> dense_layers;  ///< [layers], true: that layer has the dense MLP
  /// What the shared experts add is multiplied by 1 / (1 + exp(-w x)), w [d] a weight of the layer.
  bool shared_gate = false;
  bool router_bias = false;  ///< the router's products have biases
  bool expert_bias = false;  ///< the three matrices of each expert have biases, not the shared ones
  friend bool operator==(const ExpertsConfig&, const ExpertsConfig&) = default;
};

struct ModelConfig {
  std::string family;  ///< "llama", "qwen3_moe", ...: model_type of config.json
  int vocabulary_size = 0;
  int hidden_size = 0;
  int layers = 0;
  int ffn_size = 0;   ///< F of the dense MLP; 0 if every layer has experts
  int positions = 0;  ///< longest context
  float norm_eps = 1e-5F;
  NormPlacement norm = NormPlacement::before;
  AttentionConfig attention;
  float attention_scale = 0;  ///< factor of the scores, everything included
  RopeConfig rope;
  std::optional<RopeConfig> window_rope = {};  ///< of layers with a window, where it is another one
  std::vector<bool> unturned_layers = {};      ///< [layers], true: no RoPE there; or empty: on all
  Activation activation = Activation::silu;    ///< of the MLP, and of experts
  float swiglu_alpha = 0;                      ///< of clamped_swiglu; 0 with another activation
  float swiglu_limit = 0;                      ///< likewise
  bool mlp_bias = false;                       ///< the dense MLP's three matrices have biases
  std::optional<ExpertsConfig> experts;
  bool tied_head = false;  ///< the head's weights are the embedding's
  float embedding_multiplier = 1;
  float residual_multiplier = 1;
  float logits_divisor = 1;
  float logits_cap = 0;            ///< c: logits z become c tanh(z / c); 0: they stay as they are
  std::vector<std::uint32_t> eos;  ///< tokens that end a text, each once; may be none

  friend bool operator==(const ModelConfig&, const ModelConfig&) = default;
};

/// True if layer `layer` has the dense MLP, not experts. Requires: 0 <= layer < config.layers.
bool is_dense(const ModelConfig& config, int layer);
bool has_dense_layers(const ModelConfig& config);  ///< at least one

/// The window of layer `layer`; 0: it sees all tokens.
int window_of(const GroupedQueryConfig& attention, int layer);

/// The RoPE of layer `layer`; null: its queries and keys do not turn.
const RopeConfig* rope_of(const ModelConfig& config, int layer);

/// Checks that every number is in its range and that all fit together, so that later code need not
/// check again. Readers of checkpoints return only configurations that pass. Errors: the first
/// field that does not, its value and what is accepted: "heads is 3; accepted is a multiple of
/// kv_heads, 2".
tl::expected<void, std::string> validate(const ModelConfig& config);

}  // namespace forge::model
