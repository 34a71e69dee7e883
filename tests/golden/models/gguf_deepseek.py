"""What llama.cpp's converter writes for DeepSeek's models (architecture deepseek2).

Facts from llama.cpp's convert_hf_to_gguf.py. The converter has had two layouts: DeepSeek-V2-Lite is
written in the older one (2024), with kv_b_proj as it is and no word about scores; V3 in today's,
with kv_b_proj taken apart by heads, its keys transposed, and metadata of attention over latents,
which has one KV head.
"""

import gguf
import numpy as np


def is_split(config):
    return config.model_type == "deepseek_v3"


def kv_heads(config):
    return 1 if is_split(config) else config.num_key_value_heads


def add_metadata(writer, config):
    head_size = config.qk_nope_head_dim + config.qk_rope_head_dim
    rank = config.kv_lora_rank
    if config.q_lora_rank is not None:
        writer.add_q_lora_rank(config.q_lora_rank)
    writer.add_kv_lora_rank(rank)
    writer.add_key_length(rank + config.qk_rope_head_dim if is_split(config) else head_size)
    writer.add_value_length(rank if is_split(config) else config.v_head_dim)
    if is_split(config):
        writer.add_key_length_mla(head_size)
        writer.add_value_length_mla(config.v_head_dim)
    add_experts(writer, config)
    add_rope(writer, config)


def add_experts(writer, config):
    writer.add_leading_dense_block_count(config.first_k_dense_replace)
    writer.add_expert_feed_forward_length(config.moe_intermediate_size)
    writer.add_expert_count(config.n_routed_experts)
    writer.add_expert_used_count(config.num_experts_per_tok)
    writer.add_expert_shared_count(config.n_shared_experts)
    writer.add_expert_weights_scale(config.routed_scaling_factor)
    if is_split(config):
        writer.add_expert_gating_func(gguf.ExpertGatingFuncType.SIGMOID)
        writer.add_expert_weights_norm(config.norm_topk_prob)
        writer.add_expert_group_count(config.n_group)
        writer.add_expert_group_used_count(config.topk_group)


def add_rope(writer, config):
    rope = config.rope_parameters
    writer.add_rope_dimension_count(config.qk_rope_head_dim)
    writer.add_rope_scaling_type(gguf.RopeScalingType.YARN)
    writer.add_rope_scaling_factor(rope["factor"])
    writer.add_rope_scaling_orig_ctx_len(rope["original_max_position_embeddings"])
    writer.add_rope_scaling_yarn_log_mul(0.1 * rope["mscale_all_dim"])
    if is_split(config):
        writer.add_rope_scaling_yarn_beta_fast(rope["beta_fast"])
        writer.add_rope_scaling_yarn_beta_slow(rope["beta_slow"])


def converted(config, name, tensor):
    """The tensors that the converter makes of one, by the names it has for them on the way."""
    if name.endswith("e_score_correction_bias"):
        yield name.replace("_bias", ".bias"), tensor
    elif name.endswith("experts.gate_up_proj"):  # fused by transformers 5, not in checkpoints
        gate, up = np.split(tensor, 2, axis=1)
        yield name.replace("gate_up_proj", "gate_proj.weight"), gate
        yield name.replace("gate_up_proj", "up_proj.weight"), up
    elif name.endswith("experts.down_proj"):
        yield name + ".weight", tensor
    elif name.endswith("kv_b_proj.weight") and is_split(config):
        heads = tensor.reshape(config.num_attention_heads, -1, config.kv_lora_rank)
        keys, values = np.split(heads, [config.qk_nope_head_dim], axis=1)
        yield name.replace("kv_b_proj", "k_b_proj"), keys.swapaxes(1, 2)
        yield name.replace("kv_b_proj", "v_b_proj"), values
    else:
        yield name, tensor
