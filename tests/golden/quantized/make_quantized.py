"""Makes the quantized models of this folder and golden.json; README.md says what is in them.

Usage: make_quantized.py            writes one folder per form, and golden.json
       make_quantized.py --check    makes all of it elsewhere, exits 1 unless it is the same: every
                                    byte but float32_error, which measures this processor

Needs the packages of requirements.txt. Takes half a minute.
"""

import json
import os
import shutil
import sys
import zlib
from pathlib import Path

os.environ |= {"GPTQMODEL_DISABLE_PACK_EXT": "1", "TORCHDYNAMO_DISABLE": "1"}  # nothing is compiled

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "models"))

import compressed_tensors  # noqa: E402
import gptqmodel  # noqa: E402
import torch  # noqa: E402
import transformers  # noqa: E402
from safetensors.torch import save_file  # noqa: E402
from transformers import AutoModelForCausalLM, CompressedTensorsConfig  # noqa: E402

import golden_files  # noqa: E402
import weights  # noqa: E402
from family import Family  # noqa: E402
from forms import Compressed, FineGrained, Gptq  # noqa: E402
from reference import Reference, build  # noqa: E402

VOCABULARY = 48
TOKENS = 24
POSITIONS = (0, 11, 23)
NUMBERS = 6

# The sizes of the models: hidden, intermediate, heads of 16 of queries, of keys and values.
SMALL = (32, 64, 2, 2)
GROUPS = (64, 96, 4, 2)
BLOCKS = (64, 256, 2, 1)
RAGGED = (136, 136, 2, 1)
FUSED = "_fused"  # of names: Q, K and V are one tensor, and gate and up, as Phi-3 has them


def float8(scale_dtype, **weights_options):
    options = {"num_bits": 8, "symmetric": True, **weights_options}
    return Compressed("float-quantized", options, scale_dtype=scale_dtype)


def packed(bits, symmetric, dtype=torch.bfloat16, **weights_options):
    options = {"num_bits": bits, "symmetric": symmetric, **weights_options}
    return Compressed("pack-quantized", options, dtype, dtype)


BLOCK = {"strategy": "block", "block_structure": [128, 128]}
ROWS = {"strategy": "channel"}
IN_GROUPS = {"strategy": "group", "group_size": 32}

FORMS = {
    "fp8_blocks": (FineGrained((128, 128)), BLOCKS),
    "fp8_blocks_ragged": (float8(torch.float32, **BLOCK), RAGGED),
    "fp8_rows": (float8(torch.bfloat16, **ROWS), SMALL),
    "gptq_4": (Gptq(4, "gptq"), GROUPS),
    "gptq_v2_4_ordered": (Gptq(4, "gptq_v2", ordered=True), GROUPS),
    "gptq_8": (Gptq(8, "gptq", ordered=True), SMALL),
    "gptq_v2_8": (Gptq(8, "gptq_v2"), SMALL),
    "packed_4": (packed(4, True, **IN_GROUPS), GROUPS),
    "packed_4_zeros": (packed(4, False, torch.float16, **IN_GROUPS), GROUPS),
    "packed_8": (packed(8, True, **IN_GROUPS), SMALL),
    "packed_8_zeros": (packed(8, False, **ROWS), SMALL),
    "fp8_blocks_fused": (float8(torch.float32, **BLOCK), RAGGED),
    "fp8_rows_fused": (float8(torch.bfloat16, **ROWS), SMALL),
    "gptq_4_fused": (Gptq(4, "gptq", ordered=True), GROUPS),
    "packed_4_zeros_fused": (packed(4, False, torch.float16, **IN_GROUPS), GROUPS),
}


def require(holds, text):
    if not holds:
        raise SystemExit(f"make_quantized.py: {text}")


def family_of(name, sizes):
    hidden, intermediate, heads, kv_heads = sizes
    arguments = {
        "vocab_size": VOCABULARY,
        "hidden_size": hidden,
        "intermediate_size": intermediate,
        "num_hidden_layers": 1,
        "num_attention_heads": heads,
        "num_key_value_heads": kv_heads,
        "head_dim": 16,
        "tie_word_embeddings": True,
    }
    if name.endswith(FUSED):
        return Family(name, "Phi3Config", arguments | {"pad_token_id": None}, ())
    return Family(name, "LlamaConfig", arguments, ())


def is_quantized(name):
    return name.endswith("_proj.weight")


def quantized(name, form, family):
    """The tensors of the file, and the float32 weights that they stand for."""
    model = build(family.config(), torch.float32)
    weights.fill(model, family)
    stored, plain = {}, {}
    for key, tensor in model.state_dict().items():
        if is_quantized(key):
            parts, plain[key] = form.quantize(f"{name}/{key}", tensor.clone())
            stored |= {key.removesuffix(".weight") + part: one for part, one in parts.items()}
        else:
            narrow = tensor.to(form.dtype)
            plain[key] = narrow.float()
            if key != "lm_head.weight":  # which is the embedding
                stored[key] = narrow
    for key, tensor in plain.items():
        require(tensor.dtype == torch.float32 and bool(tensor.isfinite().all()), f"{name}: {key}")
    return stored, plain


def write(folder, form, family, stored):
    folder.mkdir()
    tensors = {key: tensor.contiguous() for key, tensor in stored.items()}
    save_file(tensors, folder / "model.safetensors", {"format": "pt"})
    config = family.config()
    config.dtype = form.dtype
    config.architectures = [family.config_class.replace("Config", "ForCausalLM")]
    keys = config.to_dict() | {"quantization_config": form.config()}
    del keys["_name_or_path"]
    text = json.dumps(keys, indent=2, sort_keys=True, default=str)
    (folder / "config.json").write_text(text + "\n", encoding="utf-8")


def read_by_its_package(folder, form):
    """The matrices of the folder, as the package reads them, in the type of its choice."""
    if isinstance(form, Gptq):
        for file in ("tokenizer.json", "tokenizer_config.json"):  # it wants some tokenizer
            shutil.copyfile(HERE.parent / "models" / "tales" / file, folder / file)
        backend = gptqmodel.BACKEND.GPTQ_TORCH
        read = gptqmodel.GPTQModel.load(str(folder), backend=backend, device="cpu", dtype=form.dtype)
        modules = [(name, one) for name, one in read.model.named_modules() if hasattr(one, "qweight")]
        return {f"{name}.weight": one.dequantize_weight().T for name, one in modules}
    options = {}
    if isinstance(form, Compressed):
        options = {"quantization_config": CompressedTensorsConfig(run_compressed=False)}
    read = AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32, **options)
    return {key: tensor for key, tensor in read.state_dict().items() if is_quantized(key)}


def require_read_alike(folder, form, plain):
    read = read_by_its_package(folder, form)
    names = {key for key in plain if is_quantized(key)}
    require(set(read) == names, f"{folder.name}: its package reads {sorted(read)}")
    for key, tensor in read.items():  # products in the type of the scales
        narrow = plain[key].to(form.scale_dtype).float()
        require(torch.equal(tensor.float(), narrow), f"{folder.name}: {key} is read otherwise")


def rounded(values, digits=9):
    """Numbers, or nested lists of them, to `digits` significant digits."""
    if isinstance(values, list):
        return [rounded(value, digits) for value in values]
    return float(f"{values:.{digits}g}")


def matrices(plain):
    """Of each matrix the CRC-32 of all its rows as float32, and the start of one row."""
    out = {}
    for key in filter(is_quantized, plain):
        tensor = plain[key]
        row = zlib.crc32(key.encode()) % tensor.shape[0]
        out[key] = {
            "crc32": zlib.crc32(tensor.contiguous().numpy().astype("<f4").tobytes()),
            "row": row,
            "numbers": rounded(tensor[row, :NUMBERS].tolist()),
        }
    return out


def golden(family, plain):
    tokens = weights.prompt(family, VOCABULARY, TOKENS)
    logits = Reference(family.config(), plain).logits(tokens)
    narrow = Reference(family.config(), plain, torch.float32, wide=False).logits(tokens)
    best = logits.topk(2, dim=-1).values
    gap = float((best[:, 0] - best[:, 1]).min())
    require(gap > 1e-4, f"{family.name}: two largest logits are {gap:.1e} apart")
    return {
        "tokens": tokens,
        "matrices": matrices(plain),
        "positions": list(POSITIONS),
        "logits": rounded(logits[list(POSITIONS)].tolist()),
        "argmax": logits.argmax(dim=-1).tolist(),
        "float32_error": rounded(float((narrow - logits).abs().max()), 2),
    }


def make_all(out):
    torch_version = torch.__version__.partition("+")[0]
    versions = {
        "compressed-tensors": compressed_tensors.__version__,
        "gptqmodel": gptqmodel.__version__,
        "transformers": transformers.__version__,
        "torch": torch_version,
    }
    made_by = [f"{package} {version}" for package, version in versions.items()]
    made = {"made_by": ", ".join([*made_by, "float64"])}
    for name, (form, sizes) in FORMS.items():
        family = family_of(name, sizes)
        stored, plain = quantized(name, form, family)
        write(out / name, form, family, stored)
        if not (isinstance(form, Gptq) and name.endswith(FUSED)):  # which has gate and up apart
            require_read_alike(out / name, form, plain)
        made[name] = golden(family, plain)
        print(name, made[name]["float32_error"])
    text = json.dumps(made, separators=(",", ":"))
    (out / "golden.json").write_text(text + "\n", encoding="utf-8")


def made_files(root):
    files = [f"{form}/{name}" for form in FORMS for name in ("config.json", "model.safetensors")]
    return {Path(file) for file in [*files, "golden.json"] if (root / file).exists()}


if __name__ == "__main__":
    golden_files.run("Makes the quantized models and golden.json.", HERE, make_all, made_files)
