#!/usr/bin/env python3
"""Makes weights_digests.txt: the digests of the weights of the models beside it.

Usage: python3 -m venv VENV && VENV/bin/pip install xxhash==4.1.0
       VENV/bin/python weights_digests.py                 writes weights_digests.txt
       VENV/bin/python weights_digests.py --check         exits 1 unless it is the same
       VENV/bin/python weights_digests.py --list FOLDER   prints the list of a model

What the digest is: include/forge/model/weights_digest.h. This is the same, read from the files with
Python's standard library and hashed by the PyPI package xxhash. A line is a folder, or `pieces`,
and its digest; `pieces` is a model that has an embedding and nothing else (see pieces()).
"""

import argparse
import json
import re
import struct
import sys
from pathlib import Path

import xxhash

HERE = Path(__file__).resolve().parent
OUT = HERE / "weights_digests.txt"
PIECE_BYTES = 256 * 1024

# Roles and tensors of a layer, in the order of stored_model.h. What a model does not have is passed
# over.
NETWORK = (("gate", "gate_proj.weight"), ("up", "up_proj.weight"), ("down", "down_proj.weight"))
BIASES = tuple((f"{role}_bias", name.replace("weight", "bias")) for role, name in NETWORK)
MIXTRAL_NETWORK = (("gate", "w1.weight"), ("up", "w3.weight"), ("down", "w2.weight"))
NORMS = {  # of attention and of the network
    "olmo2": ("post_attention_layernorm.weight", "post_feedforward_layernorm.weight"),
    "olmo3": ("post_attention_layernorm.weight", "post_feedforward_layernorm.weight"),
    "gemma2": ("input_layernorm.weight", "pre_feedforward_layernorm.weight"),
    "gemma3_text": ("input_layernorm.weight", "pre_feedforward_layernorm.weight"),
}
SECOND_NORMS = {  # after attention and after the network, where there are others before them
    "gemma2": ("post_attention_layernorm.weight", "post_feedforward_layernorm.weight"),
    "gemma3_text": ("post_attention_layernorm.weight", "post_feedforward_layernorm.weight"),
    "glm4": ("post_self_attn_layernorm.weight", "post_mlp_layernorm.weight"),
}
USUAL_NORMS = ("input_layernorm.weight", "post_attention_layernorm.weight")
GROUPED_QUERY = (
    ("query", "q_proj.weight"),
    ("key", "k_proj.weight"),
    ("value", "v_proj.weight"),
    ("output", "o_proj.weight"),
    ("query_bias", "q_proj.bias"),
    ("key_bias", "k_proj.bias"),
    ("value_bias", "v_proj.bias"),
    ("output_bias", "o_proj.bias"),
    ("query_norm", "q_norm.weight"),
    ("key_norm", "k_norm.weight"),
    ("sinks", "sinks"),
)
LATENT = (
    ("query_down", "q_a_proj.weight"),
    ("query_norm", "q_a_layernorm.weight"),
    ("query_up", "q_b_proj.weight"),
    ("query_up", "q_proj.weight"),  # where there is no latent of queries
    ("kv_down", "kv_a_proj_with_mqa.weight"),
    ("kv_norm", "kv_a_layernorm.weight"),
    ("output", "o_proj.weight"),
    ("kv_up", "kv_b_proj.weight"),
)


def tensors_of(folder):
    """name: (type, shape, bytes) of all SafeTensors files of a folder."""
    tensors = {}
    for path in folder.glob("*.safetensors"):
        data = path.read_bytes()
        (length,) = struct.unpack_from("<Q", data)
        start = 8 + length
        for name, entry in json.loads(data[8:start]).items():
            if name != "__metadata__":
                begin, end = entry["data_offsets"]
                tensors[name] = (entry["dtype"], entry["shape"], data[start + begin : start + end])
    return tensors


def networks_of(layer, tensors):
    """(role, name) of the dense network, or of the router and all experts."""
    pattern = re.escape(layer) + r"(?:mlp|block_sparse_moe)\.experts\.(\d+)\."
    matches = (re.match(pattern, name) for name in tensors)
    pairs = [*NETWORK, *BIASES, ("router", "gate.weight")]
    pairs.append(("router", "router.weight"))
    pairs.append(("correction_bias", "gate.e_score_correction_bias"))
    for expert in sorted({int(found[1]) for found in matches if found}):
        for network in ((*NETWORK, *BIASES), MIXTRAL_NETWORK):
            pairs += [(f"experts.{expert}.{r}", f"experts.{expert}.{n}") for r, n in network]
    for shared in ("shared_experts", "shared_expert"):
        pairs += [(f"shared.{r}", f"{shared}.{n}") for r, n in NETWORK]
    return [*pairs, ("shared_gate", "shared_expert_gate.weight"), ("router_bias", "router.bias")]


def rows_of(tensor, counts):
    """A tensor taken apart into tensors of so many rows."""
    kind, (rows, width), data = tensor
    assert sum(counts) == rows
    parts, row_bytes = [], len(data) // rows
    for count in counts:
        parts.append((kind, [count, width], data[: count * row_bytes]))
        data = data[count * row_bytes :]
    return parts


def taken_apart(config, tensors):
    """The tensors, those of several matrices under the names that other families have for them."""
    apart = {}
    for name, tensor in tensors.items():
        parts = ()
        if name.endswith("qkv_proj.weight"):
            heads, kv_heads = config["num_attention_heads"], config["num_key_value_heads"]
            size = tensor[1][0] // (heads + 2 * kv_heads)
            parts = ("q_proj", "k_proj", "v_proj")
            counts = (heads * size, kv_heads * size, kv_heads * size)
        elif name.endswith("gate_up_proj.weight"):
            parts, counts = ("gate_proj", "up_proj"), (config["intermediate_size"],) * 2
        if not parts:
            apart[name] = tensor
            continue
        stem = name.rsplit(".", 2)[0]
        for part, piece in zip(parts, rows_of(tensor, counts)):
            apart[f"{stem}.{part}.weight"] = piece
    return apart


def mxfp4_rows(codes, scales):
    """Blocks of ggml of one expert, [outputs][inputs / 32]: a scale, codes j and j + 16 in byte j;
    published are codes 2j and 2j + 1 in byte j."""
    blocks = []
    for i, scale in enumerate(scales):
        pairs = codes[16 * i : 16 * (i + 1)]
        one = [code for pair in pairs for code in (pair & 15, pair >> 4)]
        blocks.append(bytes([scale, *(one[j] | one[j + 16] << 4 for j in range(16))]))
    return blocks


def experts_apart(tensors):
    """gpt-oss: rows of each matrix of each expert, and biases, by the names of other families."""
    apart, turns = {}, {"gate_up_proj": ("gate_proj", "up_proj"), "down_proj": ("down_proj",)}
    for name, (kind, shape, data) in tensors.items():
        found = re.match(r"(.*\.experts)\.(gate_up_proj|down_proj)(_bias|_blocks|_scales)?$", name)
        if not found:
            apart[name] = (kind, shape, data)
            continue
        stem, stack, what = found[1], found[2], found[3]
        step, size = len(turns[stack]), len(data) // shape[0]
        for expert in range(shape[0]):
            part = data[expert * size : (expert + 1) * size]
            if what == "_bias":
                columns = [part[4 * i : 4 * i + 4] for i in range(shape[1])]
                out, rest = "bias", []
            elif what == "_blocks":
                scales = tensors[f"{stem}.{stack}_scales"][2]
                blocks = mxfp4_rows(part, scales[expert * size // 16 : (expert + 1) * size // 16])
                wide = shape[2]
                columns = [b"".join(blocks[i : i + wide]) for i in range(0, len(blocks), wide)]
                kind, out, rest = "MXFP4", "weight", [32 * wide]
            elif what is None:
                numbers = [part[4 * i : 4 * i + 4] for i in range(shape[1] * shape[2])]
                columns = [b"".join(numbers[n :: shape[2]]) for n in range(shape[2])]
                out, rest = "weight", [shape[1]]
            else:
                continue
            for turn, matrix in enumerate(turns[stack]):
                rows = columns[turn::step]
                apart[f"{stem}.{expert}.{matrix}.{out}"] = (kind, [len(rows), *rest], b"".join(rows))
    return apart


def plus_one(tensor):
    """The weights of a norm of Gemma's, which its files have less one; in float32."""
    kind, shape, data = tensor
    count = shape[0]
    numbers = struct.unpack(f"<{count}f", as_floats(kind, data))
    return "F32", shape, struct.pack(f"<{count}f", *(1 + number for number in numbers))


def with_roles(folder, tensors):
    """(role, type, shape, bytes), in the order of roles."""
    config = json.loads((folder / "config.json").read_text())
    family = config["model_type"]
    tensors = experts_apart(tensors) if family == "gpt_oss" else taken_apart(config, tensors)
    mlp = "block_sparse_moe" if family == "mixtral" else "mlp"
    attention = LATENT if family.startswith("deepseek") else GROUPED_QUERY
    pairs = [("embedding", "model.embed_tokens.weight")]
    for layer in range(config["num_hidden_layers"]):
        name, role = f"model.layers.{layer}.", f"layers.{layer}."
        attention_norm, network_norm = NORMS.get(family, USUAL_NORMS)
        parts = [("attention_norm", attention_norm)]
        parts += [(f"attention.{r}", f"self_attn.{n}") for r, n in attention]
        parts.append(("ffn_norm", network_norm))
        parts += [(f"feed_forward.{r}", f"{mlp}.{n}") for r, n in networks_of(name, tensors)]
        parts += zip(("attention_post_norm", "ffn_post_norm"), SECOND_NORMS.get(family, ()))
        pairs += [(role + r, name + n) for r, n in parts]
    pairs.append(("final_norm", "model.norm.weight"))
    if not config.get("tie_word_embeddings"):
        pairs.append(("head", "lm_head.weight"))
    if family.startswith("gemma"):
        tensors = {n: plus_one(t) if n.endswith("norm.weight") else t for n, t in tensors.items()}
    found = [(role, *tensors[name]) for role, name in pairs if name in tensors]
    assert len(found) >= len(tensors) - 1, "a tensor has no role"  # a tied head may be stored too
    return found


def as_floats(kind, data):
    """Numbers of F32 or BF16 as F32: a BF16 is the upper half of one."""
    if kind == "BF16":
        return b"".join(b"\0\0" + data[i : i + 2] for i in range(0, len(data), 2))
    assert kind == "F32", kind
    return data


def hash_of_tensor(data):
    pieces = [data[i : i + PIECE_BYTES] for i in range(0, len(data), PIECE_BYTES)]
    return xxhash.xxh3_128_hexdigest(b"".join(xxhash.xxh3_128_digest(piece) for piece in pieces))


def digest_list(tensors):
    lines = []
    for role, kind, shape, data in tensors:
        if len(shape) == 1:
            kind, data = "F32", as_floats(kind, data)
        lines.append(f"{role} {kind} {'x'.join(map(str, shape))} {hash_of_tensor(data)}\n")
    return "".join(lines)


def pieces():
    """An embedding of more than two pieces, whose bytes are a function of their places."""
    data = bytes((i * 131 + (i >> 12)) & 255 for i in range(150 * 1000 * 4))
    return [("embedding", "F32", [150, 1000], data)]


def list_of(folder):
    return digest_list(with_roles(folder, tensors_of(folder)))


def made():
    lists = {"pieces": digest_list(pieces())}
    for config in sorted(HERE.glob("*/config.json")):
        lists[config.parent.name] = list_of(config.parent)
    return "".join(
        f"{name} {xxhash.xxh3_128_hexdigest(text.encode())}\n" for name, text in lists.items()
    )


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--list", metavar="FOLDER")
    arguments = parser.parse_args()
    if arguments.list:
        print(list_of(HERE / arguments.list), end="")
    elif not arguments.check:
        OUT.write_text(made())
    elif OUT.read_text() != made():
        sys.exit(f"{OUT} is not what this script makes")


if __name__ == "__main__":
    main()
