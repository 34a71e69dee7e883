"""Models with norms after the sub-layers, or before and after."""

from family import EPSILON, NORMS, PLAIN, Family, Feature, rope, yarn

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

GEMMA_FEATURES = (
    EPSILON,
    Feature("norm weights", weights={r"norm\.weight$": 0.0}),
    Feature("norms after the sub-layers", weights={r"post_.*_layernorm\.weight$": 0.0}),
    Feature("query_pre_attn_scalar", {"query_pre_attn_scalar": 10}),
    Feature("GELU", {"hidden_activation": "silu"}),
)

NORM_FAMILIES = (
    Family(
        "olmo2",
        "Olmo2Config",
        {},
        (*PLAIN, Feature("Q and K norm weights", weights={r"[qk]_norm\.weight$": 1.0})),
        input_squares=True,
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
        input_squares=True,
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
        input_squares=True,
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
        input_squares=True,
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
        input_squares=True,
    ),
)
