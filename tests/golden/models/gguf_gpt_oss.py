"""gpt-oss in GGUF: keys and tensors as llama.cpp's converter writes them."""

import gguf
import numpy as np


def add_metadata(writer, config):
    writer.add_expert_count(config.num_local_experts)
    writer.add_expert_used_count(config.num_experts_per_tok)
    writer.add_expert_feed_forward_length(config.intermediate_size)
    writer.add_sliding_window(config.sliding_window)
    scaling = config.rope_parameters
    writer.add_rope_scaling_type(gguf.RopeScalingType.YARN)
    writer.add_rope_scaling_factor(scaling["factor"])
    writer.add_rope_scaling_orig_ctx_len(scaling["original_max_position_embeddings"])
    writer.add_rope_scaling_yarn_beta_fast(scaling["beta_fast"])
    writer.add_rope_scaling_yarn_beta_slow(scaling["beta_slow"])


def outputs_of(part_name):
    """The outputs of gate_up_proj that are those of gate_proj or up_proj."""
    if ".gate_proj." in part_name:
        return slice(0, None, 2)
    return slice(1, None, 2) if ".up_proj." in part_name else slice(None)


def converted(name, tensor):
    """Experts [E, inputs, outputs] become [E, outputs, inputs], gate and up apart."""
    if name.endswith("self_attn.sinks"):
        return [(f"{name}.weight", tensor)]
    prefix, _, last = name.rpartition(".")
    if not prefix.endswith("experts"):
        return [(name, tensor)]
    is_bias = last.endswith("_bias")
    kind = "bias" if is_bias else "weight"
    rows = tensor if is_bias else tensor.swapaxes(1, 2)
    parts = ("gate_proj", "up_proj") if last.startswith("gate_up") else ("down_proj",)
    names = [f"{prefix}.{part}.{kind}" for part in parts]
    return [(part_name, rows[:, outputs_of(part_name)]) for part_name in names]


def packed(part_name, codes, exponents):
    """MXFP4 of ggml: a byte of scale, then codes j and j + 16 of a block of 32 in byte j."""
    outputs = outputs_of(part_name)
    codes, exponents = codes[:, outputs].astype(np.uint8), exponents[:, outputs]
    scales = (exponents + 127).astype(np.uint8)[..., np.newaxis]
    blocks = np.concatenate((scales, codes[..., :16] | codes[..., 16:] << 4), axis=-1)
    return np.ascontiguousarray(blocks.reshape(*blocks.shape[:2], -1))
