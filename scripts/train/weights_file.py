"""Weights as the SafeTensors file of a Llama checkpoint, F32, the same bytes for the same weights."""

import json

import numpy as np

NAMES = {"attention_norm": "input_layernorm", "query": "self_attn.q_proj", "key": "self_attn.k_proj",
         "value": "self_attn.v_proj", "output": "self_attn.o_proj",
         "mlp_norm": "post_attention_layernorm", "gate": "mlp.gate_proj", "up": "mlp.up_proj",
         "down": "mlp.down_proj"}


def tensors(weights):
    """(name, array), matrices as [outputs, inputs]."""
    yield "model.embed_tokens.weight", np.asarray(weights["embedding"])
    for i, layer in enumerate(weights["layers"]):
        for name, theirs in NAMES.items():
            yield f"model.layers.{i}.{theirs}.weight", np.asarray(layer[name]).T
    yield "model.norm.weight", np.asarray(weights["final_norm"])


def write(path, shape, weights):
    header, data = {"__metadata__": {"shape": json.dumps(shape._asdict())}}, b""
    for name, array in tensors(weights):
        begin = len(data)
        data += np.ascontiguousarray(array, "<f4").tobytes()
        header[name] = {"dtype": "F32", "shape": list(array.shape),
                        "data_offsets": [begin, len(data)]}
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    path.write_bytes(len(text).to_bytes(8, "little") + text + data)
