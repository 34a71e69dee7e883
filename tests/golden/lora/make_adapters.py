"""Makes the LoRA adapters of this folder, llama_q8_0.gguf and golden.json; README.md says what is in them.

Usage: make_adapters.py

Needs the packages of requirements.txt. Takes about a minute.
"""

import json
import shutil
import sys
import zlib
from pathlib import Path

import gguf
import numpy as np
import peft
import torch
import transformers
from peft import LoraConfig, PeftModel, get_peft_model
from peft.tuners.lora import LoraLayer
from safetensors.torch import load_file, save_file
from transformers import AutoConfig, AutoModelForCausalLM

HERE = Path(__file__).resolve().parent
MODELS = HERE.parent / "models"
sys.path.insert(0, str(MODELS))

import gguf_sibling  # noqa: E402
from reference import Reference  # noqa: E402

POSITIONS = (0, 1, 23, 47, 71)

ADAPTERS = {
    "llama_all": dict(
        base="llama",
        dtype=torch.float32,
        r=3,
        lora_alpha=5,
        target_modules=["q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj", "lm_head"],
        rank_pattern={"k_proj": 5, "^model.layers.1.mlp.down_proj": 1},
        alpha_pattern={"layers.2.self_attn.q_proj": 9, "lm_head": 4},
    ),
    "llama_root": dict(
        base="llama",
        dtype=torch.bfloat16,
        r=7,
        lora_alpha=2,
        target_modules=["q_proj", "down_proj"],
        use_rslora=True,
    ),
    "phi3_fused": dict(
        base="phi3", dtype=torch.float16, r=2, lora_alpha=3, target_modules=["qkv_proj", "gate_up_proj"]
    ),
    "tales_query": dict(
        base="tales", dtype=torch.bfloat16, r=4, lora_alpha=8, target_modules=["q_proj", "v_proj"]
    ),
}

# Of each: the base, whether its weights go through Q8_0, its adapters and their scales.
CASES = {
    "one": ("llama", False, [("llama_all", 1.0)]),
    "several": ("llama", False, [("llama_all", 1.0), ("llama_root", 0.5), ("llama_all", -0.25)]),
    "fused": ("phi3", False, [("phi3_fused", 1.0)]),
    "codes": ("llama", True, [("llama_all", 1.0)]),
}


def numbers_of(name, shape):
    """Random numbers that are bfloat16 and float16 values: a function of the tensor's name alone."""
    random = np.random.RandomState(zlib.crc32(name.encode()))
    deviation = 0.35 if "lora_A" in name else 0.25
    numbers = random.randint(-127, 128, size=shape).astype(np.float32) / 128 * deviation
    return torch.from_numpy(numbers).to(torch.bfloat16).to(torch.float16)


def write_adapter(name, base, dtype, **options):
    model = AutoModelForCausalLM.from_pretrained(MODELS / base)
    adapted = get_peft_model(model, LoraConfig(task_type="CAUSAL_LM", **options))
    folder = HERE / name
    shutil.rmtree(folder, ignore_errors=True)
    adapted.save_pretrained(folder, save_embedding_layers=False)
    (folder / "README.md").unlink()
    path = folder / "adapter_config.json"
    config = json.loads(path.read_text())
    config["base_model_name_or_path"] = base
    config["target_modules"] = sorted(config["target_modules"])  # a set, in any order
    path.write_text(json.dumps(config, indent=2, sort_keys=True) + "\n")
    tensors = load_file(folder / "adapter_model.safetensors")
    drawn = {key: numbers_of(f"{name} {key}", tuple(t.shape)).to(dtype) for key, t in tensors.items()}
    save_file(drawn, folder / "adapter_model.safetensors", metadata={"format": "pt"})


def through_q8_0(state):
    """What Q8_0 leaves of matrices; rows that are in another order have the same blocks."""
    out = {}
    for name, tensor in state.items():
        out[name] = tensor
        if tensor.dim() == 2:
            blocks = gguf.quants.quantize(tensor.numpy(), gguf.GGMLQuantizationType.Q8_0)
            out[name] = torch.from_numpy(gguf.quants.dequantize(blocks, gguf.GGMLQuantizationType.Q8_0))
    return out


def write_q8_0(path, config, state):
    """As gguf_sibling writes F32: here its writer gets blocks in place of matrices."""
    add = gguf.GGUFWriter.add_tensor

    def add_blocks(writer, name, tensor):
        if tensor.ndim != 2:
            return add(writer, name, tensor)
        kind = gguf.GGMLQuantizationType.Q8_0
        return add(writer, name, gguf.quants.quantize(tensor, kind), raw_dtype=kind)

    gguf.GGUFWriter.add_tensor = add_blocks
    try:
        gguf_sibling.write(path, "llama", config, {name: t.numpy() for name, t in state.items()})
    finally:
        gguf.GGUFWriter.add_tensor = add


def merged(base, state, adapters):
    """The weights in float64, merged by PEFT, one adapter after the other."""
    model = AutoModelForCausalLM.from_pretrained(MODELS / base)
    model.load_state_dict(state)
    model.double()
    for name, scale in adapters:
        adapted = PeftModel.from_pretrained(model, HERE / name, autocast_adapter_dtype=False)
        adapted.double()
        for module in adapted.modules():
            if isinstance(module, LoraLayer):
                module.scaling["default"] *= scale
        model = adapted.merge_and_unload()
    return {name: tensor.clone() for name, tensor in model.state_dict().items()}


def rounded(values, digits=9):
    return [rounded(value, digits) if isinstance(value, list) else float(f"{value:.{digits}g}") for value in values]


def case(base, coded, adapters):
    config = AutoConfig.from_pretrained(MODELS / base)
    plain = AutoModelForCausalLM.from_pretrained(MODELS / base).state_dict()
    state = through_q8_0(plain) if coded else plain
    changed = merged(base, state, adapters)
    rows = {}
    for name, tensor in changed.items():
        is_changed = not torch.equal(tensor, state[name].double())
        tensor = tensor.to(torch.bfloat16) if coded and is_changed else tensor
        changed[name] = tensor.to(torch.float32)
        if is_changed:
            row = zlib.crc32(name.encode()) % tensor.shape[0]
            rows[name] = {"row": row, "numbers": rounded(changed[name][row].tolist())}
    tokens = json.loads((MODELS / base / "golden.json").read_text())["tokens"]
    logits = Reference(config, changed).logits(tokens)
    narrow = Reference(config, changed, torch.float32, wide=False).logits(tokens)
    unchanged = Reference(config, state).logits(tokens)
    return {
        "base": base,
        "adapters": [{"path": name, "scale": scale} for name, scale in adapters],
        "tokens": tokens,
        "rows": rows,
        "positions": list(POSITIONS),
        "logits": rounded(logits[list(POSITIONS)].tolist()),
        "argmax": logits.argmax(dim=-1).tolist(),
        "float32_error": float(f"{float((narrow - logits).abs().max()):.2g}"),
        "effect": float(f"{float((unchanged - logits).abs().max()):.2g}"),
    }


def main():
    transformers.logging.set_verbosity_error()
    transformers.logging.disable_progress_bar()
    torch.set_num_threads(1)  # one order of summation
    for name, options in ADAPTERS.items():
        write_adapter(name, **options)
    state = AutoModelForCausalLM.from_pretrained(MODELS / "llama").state_dict()
    write_q8_0(HERE / "llama_q8_0.gguf", AutoConfig.from_pretrained(MODELS / "llama"), state)
    torch_version = torch.__version__.partition("+")[0]
    versions = f"peft {peft.__version__}, transformers {transformers.__version__}, torch {torch_version}"
    golden = {"made_by": f"{versions}, float64"}
    golden |= {name: case(*options) for name, options in CASES.items()}
    (HERE / "golden.json").write_text(json.dumps(golden, separators=(",", ":")) + "\n", encoding="utf-8")
    for name in CASES:
        print(name, golden[name]["effect"], golden[name]["float32_error"], len(golden[name]["rows"]))


if __name__ == "__main__":
    main()
