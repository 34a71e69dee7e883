"""Models with attention over latents: DeepSeek."""

import math

from family import EPSILON, Family, Feature, rope, yarn

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

LATENT_FAMILIES = (
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
)
