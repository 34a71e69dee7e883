"""The small models: one configuration per family, and the features that each must show.

Every model is a few ten thousand random weights with the features of its family switched on, and
with sizes that differ from one another wherever the family lets them, so that two of them cannot be
mistaken for each other unseen. rms_norm_eps is 1e-3, far above a trained model's, because leaving
out an epsilon of 1e-6 would change no logit by more than rounding does.
"""

import math
from copy import deepcopy
from dataclasses import dataclass, field

import transformers

VOCABULARY = 96
TOKENS = 72  # length of the prompt; longer than every ORIGINAL_LENGTH and sliding window below
ORIGINAL_LENGTH = 48  # original_max_position_embeddings of the models with scaled rope


@dataclass(frozen=True)
class Feature:
    """A feature, and how to take it away: by other values in the configuration, or by filling the
    tensors, or setting the epsilon of the norms, whose names match a regular expression."""

    name: str
    config: dict = field(default_factory=dict)
    weights: dict = field(default_factory=dict)
    epsilons: dict = field(default_factory=dict)


@dataclass(frozen=True)
class Family:
    """A model: folder name, configuration class of transformers, its arguments and its features."""

    name: str
    config_class: str
    arguments: dict
    features: tuple
    reference: dict = field(default_factory=dict)  # of the reference alone; README, "Precision"
    bfloat16_grid: bool = False  # every weight is a bfloat16 value, so a bfloat16 copy is exact
    gguf: bool = False
    mxfp4_grid: bool = False  # the experts' weights are MXFP4 values, so a copy in MXFP4 is exact

    def config(self, **changes):
        shared = {
            "vocab_size": VOCABULARY,
            "hidden_size": 32,
            "intermediate_size": 64,
            "num_hidden_layers": 2,
            "num_attention_heads": 4,
            "num_key_value_heads": 2,
            "rms_norm_eps": 1e-3,
            "max_position_embeddings": 4 * ORIGINAL_LENGTH,
            "bos_token_id": 1,
            "eos_token_id": 2,
            "tie_word_embeddings": False,
            "rope_parameters": rope(),
        }
        merged = deepcopy(shared | self.arguments | changes)
        return getattr(transformers, self.config_class)(**merged)


def rope(theta=1000.0, kind="default", **scaling):
    """Rope parameters. A theta this small lets the slowest pair turn visibly in TOKENS steps."""
    return {"rope_theta": theta, "rope_type": kind, **scaling}


def yarn(**scaling):
    """YaRN by 4 whose ramp lies inside the pairs: with dimension 16, pairs 0 and 1 keep their
    frequency, 2 and 3 are mixed, 4 to 7 are divided by the factor."""
    fixed = {"factor": 4.0, "original_max_position_embeddings": ORIGINAL_LENGTH}
    ramp = {"beta_fast": 4.0, "beta_slow": 1.0}
    return rope(100.0, "yarn", **(fixed | ramp | scaling))


# Wavelengths at dimension 16 and theta 50: 6.3, 10.2 (high: below 48 / 4); 16.7, 27.2, 44.4
# (medium); 72.5, 118, 193 (low: above 48 / 1).
LLAMA3_ROPE = rope(
    50.0,
    "llama3",
    factor=4.0,
    low_freq_factor=1.0,
    high_freq_factor=4.0,
    original_max_position_embeddings=ORIGINAL_LENGTH,
)

# LongRoPE of half a head of 16. transformers takes the short factors while a text is short; Forge
# takes the long ones for every text, as its context is longer than the training's.
SHORT = [1.0, 1.1, 1.25, 1.5]
LONG = [1.0, 1.7, 3.5, 9.0]


def longrope(short, long, attention_factor=None):
    parameters = rope(100.0, "longrope", partial_rotary_factor=0.5)
    parameters |= {"short_factor": short, "long_factor": long}
    return parameters | ({"attention_factor": attention_factor} if attention_factor else {})


OLMO3_YARN = yarn(beta_fast=3.0) | {"rope_theta": 500000.0}  # the base of both, on the hub


def gemma3_rope(local=50.0, factor=4.0):
    return {
        "full_attention": rope(1000.0, "linear", factor=factor),
        "sliding_attention": rope(local),
    }


GEMMA = {
    "head_dim": 10,
    "query_pre_attn_scalar": 7,
    "sliding_window": 20,
    "tie_word_embeddings": True,
    "pad_token_id": None,
}

EPSILON = Feature("rms_norm_eps", {"rms_norm_eps": 1e-6})
NORMS = Feature("norm weights", weights={r"norm\.weight$": 1.0})
PLAIN = (EPSILON, NORMS, Feature("rope_theta", {"rope_parameters": rope(10000.0)}))

GEMMA_FEATURES = (
    EPSILON,
    Feature("norm weights", weights={r"norm\.weight$": 0.0}),
    Feature("norms after the sub-layers", weights={r"post_.*_layernorm\.weight$": 0.0}),
    Feature("query_pre_attn_scalar", {"query_pre_attn_scalar": 10}),
    Feature("GELU", {"hidden_activation": "silu"}),
)

LATENT = {
    "num_hidden_layers": 3,
    "num_attention_heads": 2,
    "num_key_value_heads": 2,
    "kv_lora_rank": 20,
    "qk_nope_head_dim": 12,
    "v_head_dim": 10,
    "intermediate_size": 40,
    "moe_intermediate_size": 12,
    "first_k_dense_replace": 1,
}


def latent_features(rope_parameters):
    """Features of DeepSeek's attention and shared experts, given the rope parameters in use."""
    unscaled = rope(rope_parameters["rope_theta"])
    ratio = mscale(rope_parameters, "mscale") / mscale(rope_parameters, "mscale_all_dim")
    without = {k: v for k, v in rope_parameters.items() if not k.startswith("mscale")}
    return (
        EPSILON,
        Feature("latent norm weights", weights={r"_a_layernorm\.weight$": 1.0}),
        Feature("latent norm epsilon, 1e-6", epsilons={r"_a_layernorm$": 1e-3}),
        Feature("YaRN", {"rope_parameters": unscaled}),
        Feature("mscale of softmax", {"rope_parameters": without | {"attention_factor": ratio}}),
        Feature("shared experts", weights={r"shared_experts\.down_proj": 0.0}),
    )


def mscale(rope_parameters, key):
    return 0.1 * rope_parameters[key] * math.log(rope_parameters["factor"]) + 1


LITE_YARN = yarn(beta_fast=32.0, mscale=0.707, mscale_all_dim=0.707)
V2_YARN = yarn(mscale=1.0, mscale_all_dim=0.6)
V3_YARN = yarn(mscale=1.0, mscale_all_dim=1.0)

GPT_OSS_YARN = yarn(truncate=False)
GPT_OSS_FEATURES = (
    EPSILON,
    NORMS,
    Feature("sinks", weights={r"sinks$": -100.0}),
    Feature("attention_bias", weights={r"self_attn\.._proj\.bias$": 0.0}),
    Feature("biases of the router", weights={r"router\.bias$": 0.0}),
    Feature("biases of experts", weights={r"experts\..*_bias$": 0.0}),
    Feature("swiglu_limit", {"swiglu_limit": 1000.0}),
    Feature("swiglu_alpha", {"swiglu_alpha": 1.0}),
    Feature("sliding window", {"layer_types": ["full_attention"] * 3}),
    Feature("YaRN", {"rope_parameters": rope(100.0)}),
    Feature("YaRN without truncate", {"rope_parameters": yarn(truncate=True)}),
)

FAMILIES = (
    Family(
        "llama",
        "LlamaConfig",
        {"num_hidden_layers": 3},
        PLAIN,
        bfloat16_grid=True,
        gguf=True,
    ),
    Family(
        "llama3_rope",
        "LlamaConfig",
        {
            "num_key_value_heads": 1,
            "head_dim": 16,
            "tie_word_embeddings": True,
            "rope_parameters": LLAMA3_ROPE,
        },
        (
            EPSILON,
            NORMS,
            Feature("llama3 rope scaling", {"rope_parameters": rope(50.0)}),
            Feature(
                "llama3 medium band",
                {"rope_parameters": LLAMA3_ROPE | {"high_freq_factor": 1.0 + 1e-9}},
            ),
        ),
        gguf=True,
    ),
    Family(
        "mistral",
        "MistralConfig",
        {"head_dim": 12, "sliding_window": None},
        PLAIN,
    ),
    Family(
        "mistral_sliding",
        "MistralConfig",
        {
            "num_attention_heads": 3,
            "num_key_value_heads": 1,
            "head_dim": 16,
            "sliding_window": 20,
        },
        (
            *PLAIN,
            Feature("sliding window", {"sliding_window": None}),
            Feature("sliding window, one token less", {"sliding_window": 19}),
        ),
    ),
    Family(
        "qwen2",
        "Qwen2Config",
        {"tie_word_embeddings": True},
        (*PLAIN, Feature("Q, K and V bias", weights={r"_proj\.bias$": 0.0})),
        gguf=True,
    ),
    Family(
        "qwen3",
        "Qwen3Config",
        {
            "head_dim": 16,
            "tie_word_embeddings": True,
            "rope_parameters": yarn(),
        },
        (
            EPSILON,
            NORMS,
            Feature("Q and K norm weights", weights={r"[qk]_norm\.weight$": 1.0}),
            Feature("YaRN", {"rope_parameters": rope(100.0)}),
            Feature("YaRN attention factor", {"rope_parameters": yarn(attention_factor=1.0)}),
        ),
    ),
    Family(
        "qwen3_moe",
        "Qwen3MoeConfig",
        {
            "num_hidden_layers": 3,
            "head_dim": 10,
            "intermediate_size": 40,
            "moe_intermediate_size": 12,
            "num_experts": 8,
            "num_experts_per_tok": 3,
            "norm_topk_prob": True,
            "mlp_only_layers": [0],
        },
        (
            *PLAIN,
            Feature("norm_topk_prob", {"norm_topk_prob": False}),
            Feature("experts per token", {"num_experts_per_tok": 2}),
        ),
    ),
    Family(
        "qwen3_moe_unnormed",
        "Qwen3MoeConfig",
        {
            "num_hidden_layers": 3,
            "head_dim": 10,
            "intermediate_size": 40,
            "moe_intermediate_size": 12,
            "num_experts": 6,
            "num_experts_per_tok": 2,
            "norm_topk_prob": False,
            "decoder_sparse_step": 2,
        },
        (
            *PLAIN,
            Feature("no norm_topk_prob", {"norm_topk_prob": True}),
            Feature("experts per token", {"num_experts_per_tok": 1}),
        ),
    ),
    Family(
        "llama_biases",
        "LlamaConfig",
        {"head_dim": 6, "attention_bias": True, "mlp_bias": True},
        (
            *PLAIN,
            Feature("attention_bias", weights={r"self_attn\.._proj\.bias$": 0.0}),
            Feature("mlp_bias", weights={r"mlp\..*_proj\.bias$": 0.0}),
        ),
    ),
    Family(
        "llama_dynamic",
        "LlamaConfig",
        {"num_key_value_heads": 1, "rope_parameters": rope(50.0, "dynamic", factor=3.0)},
        (EPSILON, NORMS, Feature("rope_theta", {"rope_parameters": rope(10000.0)})),
    ),
    Family(
        "qwen2_windows",
        "Qwen2Config",
        {
            "num_hidden_layers": 3,
            "num_key_value_heads": 1,
            "use_sliding_window": True,
            "sliding_window": 21,
            "max_window_layers": 1,
        },
        (
            *PLAIN,
            Feature("sliding window", {"use_sliding_window": False}),
            Feature("a layer without the window", {"max_window_layers": 0}),
        ),
    ),
    Family(
        "mixtral",
        "MixtralConfig",
        {
            "head_dim": 10,
            "intermediate_size": 24,
            "num_local_experts": 5,
            "num_experts_per_tok": 2,
            "sliding_window": 23,
        },
        (
            *PLAIN,
            Feature("experts per token", {"num_experts_per_tok": 1}),
            Feature("sliding window", {"sliding_window": None}),
        ),
    ),
    Family(
        "qwen2_moe",
        "Qwen2MoeConfig",
        {
            "num_hidden_layers": 4,
            "intermediate_size": 40,
            "moe_intermediate_size": 12,
            "shared_expert_intermediate_size": 28,
            "num_experts": 6,
            "num_experts_per_tok": 3,
            "norm_topk_prob": False,
            "mlp_only_layers": [3],
            "use_sliding_window": True,
            "sliding_window": 20,
            "max_window_layers": 3,
        },
        (
            *PLAIN,
            Feature("norm_topk_prob", {"norm_topk_prob": True}),
            Feature("Q, K and V bias", weights={r"_proj\.bias$": 0.0}),
            Feature("shared experts", weights={r"shared_expert\.down_proj": 0.0}),
            Feature("gate of shared experts", weights={r"shared_expert_gate": 0.0}),
            Feature("windows by layer", {"layer_types": ["sliding_attention"] * 4}),
        ),
    ),
    Family(
        "gpt_oss",
        "GptOssConfig",
        {
            "hidden_size": 36,
            "intermediate_size": 20,
            "num_hidden_layers": 3,
            "num_attention_heads": 9,
            "num_key_value_heads": 3,
            "head_dim": 12,
            "num_local_experts": 5,
            "num_experts_per_tok": 3,
            "sliding_window": 20,
            "layer_types": ["full_attention", "sliding_attention", "full_attention"],
            "swiglu_alpha": 1.2,
            "swiglu_limit": 2.5,
            "rope_parameters": GPT_OSS_YARN,
        },
        GPT_OSS_FEATURES,
    ),
    Family(
        "gpt_oss_codes",
        "GptOssConfig",
        {
            "intermediate_size": 32,
            "num_hidden_layers": 3,
            "num_attention_heads": 3,
            "num_key_value_heads": 1,
            "head_dim": 16,
            "num_local_experts": 3,
            "num_experts_per_tok": 2,
            "sliding_window": 20,
            "rope_parameters": GPT_OSS_YARN,
        },
        GPT_OSS_FEATURES,
        gguf=True,
        mxfp4_grid=True,
    ),
    Family(
        "smollm3",
        "SmolLM3Config",
        {
            "num_hidden_layers": 5,
            "attention_bias": True,
            "mlp_bias": True,
            "use_sliding_window": True,
            "sliding_window": 20,
            "tie_word_embeddings": True,
            "pad_token_id": None,
        },
        (
            *PLAIN,
            Feature("layers without rope", {"no_rope_layers": [1] * 5}),
            Feature("sliding window", {"use_sliding_window": False}),
            Feature("mlp_bias", weights={r"mlp\..*_proj\.bias$": 0.0}),
        ),
    ),
    Family(
        "phi3",
        "Phi3Config",
        {
            "hidden_size": 40,
            "num_attention_heads": 5,
            "num_key_value_heads": 1,
            "sliding_window": 25,
            "pad_token_id": None,
            "rope_parameters": rope(partial_rotary_factor=0.75),
        },
        (
            EPSILON,
            NORMS,
            Feature("partial_rotary_factor", {"rope_parameters": rope(partial_rotary_factor=1.0)}),
            Feature("sliding window", {"sliding_window": None}),
        ),
    ),
    Family(
        "phi3_long",
        "Phi3Config",
        {
            "hidden_size": 64,
            "num_key_value_heads": 4,
            "original_max_position_embeddings": ORIGINAL_LENGTH,
            "pad_token_id": None,
            "tie_word_embeddings": True,
            "rope_parameters": longrope(SHORT, LONG),
        },
        (
            EPSILON,
            NORMS,
            Feature("long factors", {"rope_parameters": longrope(SHORT, SHORT)}),
            Feature("attention factor", {"rope_parameters": longrope(LONG, LONG, 1.0)}),
        ),
        reference={"rope_parameters": longrope(LONG, LONG)},
    ),
    Family(
        "deepseek_v2_lite",
        "DeepseekV2Config",
        {
            **LATENT,
            "q_lora_rank": None,
            "qk_rope_head_dim": 8,
            "n_routed_experts": 8,
            "n_shared_experts": 2,
            "num_experts_per_tok": 3,
            "topk_method": "greedy",
            "routed_scaling_factor": 1.0,
            "rope_parameters": LITE_YARN,
        },
        latent_features(LITE_YARN),
        gguf=True,
    ),
    Family(
        "deepseek_v2",
        "DeepseekV2Config",
        {
            **LATENT,
            "q_lora_rank": 24,
            "qk_rope_head_dim": 16,
            "n_routed_experts": 12,
            "n_shared_experts": 2,
            "num_experts_per_tok": 3,
            "topk_method": "group_limited_greedy",
            "n_group": 4,
            "topk_group": 2,
            "routed_scaling_factor": 4.0,
            "rope_parameters": V2_YARN,
        },
        (
            *latent_features(V2_YARN),
            Feature("mscale of cos, sin", {"rope_parameters": V2_YARN | {"attention_factor": 1.0}}),
            Feature("group_limited_greedy", {"topk_method": "greedy"}),
            Feature("routed_scaling_factor", {"routed_scaling_factor": 1.0}),
        ),
    ),
    Family(
        "deepseek_v3",
        "DeepseekV3Config",
        {
            **LATENT,
            "q_lora_rank": 24,
            "qk_rope_head_dim": 16,
            "n_routed_experts": 12,
            "n_shared_experts": 1,
            "num_experts_per_tok": 4,
            "n_group": 4,
            "topk_group": 2,
            "norm_topk_prob": True,
            "routed_scaling_factor": 2.5,
            "rope_interleave": True,
            "num_mtp_layers": 0,
            "rope_parameters": V3_YARN,
        },
        (
            *latent_features(V3_YARN),
            Feature("rope_interleave", {"rope_interleave": False}),
            Feature("group limit", {"n_group": 1, "topk_group": 1}),
            Feature("norm_topk_prob", {"norm_topk_prob": False}),
            Feature("routed_scaling_factor", {"routed_scaling_factor": 1.0}),
            Feature("e_score_correction_bias", weights={r"e_score_correction_bias$": 0.0}),
        ),
        gguf=True,
    ),
    Family(
        "olmo2",
        "Olmo2Config",
        {},
        (*PLAIN, Feature("Q and K norm weights", weights={r"[qk]_norm\.weight$": 1.0})),
    ),
    Family(
        "olmo3",
        "Olmo3Config",
        {
            "num_hidden_layers": 3,
            "num_key_value_heads": 1,
            "sliding_window": 20,
            "layer_types": ["full_attention", "sliding_attention", "full_attention"],
            "pad_token_id": None,
            "rope_parameters": {"full_attention": OLMO3_YARN, "sliding_attention": rope(500000.0)},
        },
        (
            *PLAIN[:2],
            Feature("Q and K norm weights", weights={r"[qk]_norm\.weight$": 1.0}),
            Feature("sliding window", {"layer_types": ["full_attention"] * 3}),
            Feature(
                "rope of layers with a window",
                {"rope_parameters": {"full_attention": OLMO3_YARN, "sliding_attention": OLMO3_YARN}},
            ),
        ),
    ),
    Family(
        "glm4",
        "Glm4Config",
        {
            "head_dim": 12,
            "pad_token_id": None,
            "rope_parameters": rope(partial_rotary_factor=0.5),
        },
        (
            EPSILON,
            NORMS,
            Feature("norms after the sub-layers", weights={r"post_(self_attn|mlp)_layernorm": 1.0}),
            Feature("attention_bias", weights={r"_proj\.bias$": 0.0}),
            Feature("partial_rotary_factor", {"rope_parameters": rope(partial_rotary_factor=1.0)}),
        ),
    ),
    Family(
        "gemma2",
        "Gemma2Config",
        {
            **GEMMA,
            "num_hidden_layers": 3,
            "layer_types": ["full_attention", "sliding_attention", "full_attention"],
            "attn_logit_softcapping": 1.5,
            "final_logit_softcapping": 4.0,
        },
        (
            *GEMMA_FEATURES,
            Feature("attn_logit_softcapping", {"attn_logit_softcapping": None}),
            Feature("final_logit_softcapping", {"final_logit_softcapping": None}),
            Feature("sliding window", {"layer_types": ["full_attention"] * 3}),
        ),
    ),
    Family(
        "gemma3",
        "Gemma3TextConfig",
        {
            **GEMMA,
            "num_hidden_layers": 7,
            "num_key_value_heads": 1,
            "rope_parameters": gemma3_rope(),
        },
        (
            *GEMMA_FEATURES,
            Feature("Q and K norm weights", weights={r"[qk]_norm\.weight$": 0.0}),
            Feature("sliding window", {"layer_types": ["full_attention"] * 7}),
            Feature("rope_local_base_freq", {"rope_parameters": gemma3_rope(local=500.0)}),
            Feature("linear scaling", {"rope_parameters": gemma3_rope(factor=1.0)}),
        ),
    ),
    Family(
        "granite",
        "GraniteConfig",
        {
            "embedding_multiplier": 0.3,
            "residual_multiplier": 0.4,
            "attention_multiplier": 0.25,
            "logits_scaling": 2.0,
        },
        (
            *PLAIN,
            Feature("embedding_multiplier", {"embedding_multiplier": 1.0}),
            Feature("residual_multiplier", {"residual_multiplier": 1.0}),
            Feature("attention_multiplier", {"attention_multiplier": 8**-0.5}),
            Feature("logits_scaling", {"logits_scaling": 1.0}),
        ),
    ),
)
