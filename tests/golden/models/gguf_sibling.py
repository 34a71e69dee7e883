"""Writes a checkpoint as GGUF, F32, with the names, keys and layouts llama.cpp's converter uses.

Facts from llama.cpp's convert_hf_to_gguf.py; names of tensors and keys come from the gguf package.
Where a model has no tokenizer, tokenizer.ggml.model is "none".
"""

import math

import gguf
import numpy as np

import gguf_deepseek
import gguf_gpt_oss
import gguf_tokenizer

ARCHITECTURES = {
    "llama": gguf.MODEL_ARCH.LLAMA,
    "qwen2": gguf.MODEL_ARCH.QWEN2,
    "deepseek_v2": gguf.MODEL_ARCH.DEEPSEEK2,
    "deepseek_v3": gguf.MODEL_ARCH.DEEPSEEK2,
    "gpt_oss": gguf.MODEL_ARCH.GPT_OSS,
}


def is_deepseek(config):
    return ARCHITECTURES[config.model_type] == gguf.MODEL_ARCH.DEEPSEEK2


def paired(rows, heads):
    """Reorders the rows of Q or K within each head from halves to adjacent pairs.

    Rope in the checkpoint turns rows i and i + head_dim / 2 together; rope of a GGUF llama turns
    rows 2 i and 2 i + 1.
    """
    halves = rows.reshape(heads, 2, -1, rows.shape[-1])
    return halves.swapaxes(1, 2).reshape(rows.shape)


def rope_divisors(parameters, head_dim):
    """What llama3 scaling divides each pair's frequency by: the tensor rope_freqs.weight."""
    trained = parameters["original_max_position_embeddings"]
    low, high = parameters["low_freq_factor"], parameters["high_freq_factor"]
    divisors = []
    for pair in range(head_dim // 2):
        wavelength = 2 * math.pi * parameters["rope_theta"] ** (2 * pair / head_dim)
        kept = min(max((trained / wavelength - low) / (high - low), 0.0), 1.0)
        divisors.append(1 / (kept + (1 - kept) / parameters["factor"]))
    return np.array(divisors, dtype=np.float32)


def add_metadata(writer, name, config, head_dim, tokenizer):
    writer.add_type(gguf.GGUFType.MODEL)
    writer.add_name(name)
    writer.add_block_count(config.num_hidden_layers)
    writer.add_context_length(config.max_position_embeddings)
    writer.add_embedding_length(config.hidden_size)
    writer.add_feed_forward_length(config.intermediate_size)
    writer.add_head_count(config.num_attention_heads)
    kv_heads = gguf_deepseek.kv_heads(config) if is_deepseek(config) else config.num_key_value_heads
    writer.add_head_count_kv(kv_heads)
    writer.add_rope_freq_base(config.rope_parameters["rope_theta"])
    writer.add_layer_norm_rms_eps(config.rms_norm_eps)
    if is_deepseek(config):
        gguf_deepseek.add_metadata(writer, config)
    if config.model_type == "gpt_oss":
        gguf_gpt_oss.add_metadata(writer, config)
    if config.model_type in ("llama", "gpt_oss"):
        writer.add_key_length(head_dim)
        writer.add_value_length(head_dim)
        writer.add_rope_dimension_count(head_dim)
    writer.add_file_type(gguf.LlamaFileType.ALL_F32)
    writer.add_quantization_version(gguf.GGML_QUANT_VERSION)
    writer.add_vocab_size(config.vocab_size)  # with a tokenizer, the length of its list says it
    if tokenizer is None:
        writer.add_tokenizer_model("none")
    else:
        gguf_tokenizer.add(writer, tokenizer)
    writer.add_bos_token_id(config.bos_token_id)
    writer.add_eos_token_id(config.eos_token_id)


def converted(config, name, tensor):
    """The tensors that the converter makes of one, with their names."""
    if is_deepseek(config):
        return gguf_deepseek.converted(config, name, tensor)
    if config.model_type == "gpt_oss":
        return gguf_gpt_oss.converted(name, tensor)
    heads = {"q_proj": config.num_attention_heads, "k_proj": config.num_key_value_heads}
    projection = name.split(".")[-2]
    if config.model_type == "llama" and projection in heads:
        tensor = paired(tensor, heads[projection])
    return [(name, tensor)]


def write(path, name, config, state, tokenizer=None, codes=None):
    """`state` holds the checkpoint's tensors, as NumPy arrays by name, in float32; `tokenizer` is
    its tokenizer.json, parsed. `codes` has the codes and exponents of those to be in MXFP4."""
    architecture = ARCHITECTURES[config.model_type]
    head_dim = getattr(config, "head_dim", config.hidden_size // config.num_attention_heads)
    names = gguf.get_tensor_name_map(architecture, config.num_hidden_layers)
    writer = gguf.GGUFWriter(path, gguf.MODEL_ARCH_NAMES[architecture])
    add_metadata(writer, name, config, head_dim, tokenizer)
    if config.rope_parameters["rope_type"] == "llama3":
        writer.add_tensor("rope_freqs.weight", rope_divisors(config.rope_parameters, head_dim))
    for tensor_name, tensor in state.items():
        if config.tie_word_embeddings and tensor_name == "lm_head.weight":
            continue
        for part_name, part in converted(config, tensor_name, tensor):
            target = names.get_name(part_name, try_suffixes=(".weight", ".bias"))
            if codes is None or tensor_name not in codes:
                writer.add_tensor(target, np.ascontiguousarray(part))
                continue
            packed = gguf_gpt_oss.packed(part_name, *codes[tensor_name])
            writer.add_tensor(target, packed, raw_dtype=gguf.GGMLQuantizationType.MXFP4)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
