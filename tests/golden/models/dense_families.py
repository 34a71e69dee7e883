"""Models of dense layers with norms before the sub-layers."""

from family import EPSILON, NORMS, ORIGINAL_LENGTH, PLAIN, Family, Feature, rope, yarn

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


DENSE_FAMILIES = (
    Family(
        "llama",
        "LlamaConfig",
        {"num_hidden_layers": 3},
        PLAIN,
        bfloat16_grid=True,
        gguf=True,
        input_squares=True,
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
