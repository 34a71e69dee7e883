"""Makes the checkpoints of this folder and their golden.json files; README.md says what is in them.

Usage: make_models.py            writes one folder per model, and measured.md
       make_models.py --check    makes all of it elsewhere, exits 1 unless it is the same: every
                                 byte but float32_error and measured.md, which measure this
                                 processor's float32 kernels

Needs the packages of requirements.txt. Takes about a minute.
"""

import json
from pathlib import Path

import torch
import transformers
from safetensors.torch import save_file
from transformers import AutoConfig, AutoModelForCausalLM, Mxfp4Config

import gguf_sibling
import golden_files
import weights
from families import FAMILIES
from family import TOKENS, VOCABULARY
from reference import Reference, build

HERE = Path(__file__).resolve().parent
POSITIONS = (0, 1, 23, 47, 48, 69, 70, 71)  # 47 and 48: the last trained position and the next
CHUNKS = (17, 1, 30, 24)
CONTINUATION = 16
TOP = 5
SHARD_SIZE = "40KB"

# What a run is worth is decided here: a reference with closer calls than these is not made.
LOGIT_MARGIN_MIN = 1e-4  # between the largest logit and the next, wherever an argmax is stored
ROUTING_MARGIN_MIN = 1e-5  # between the scores of the last expert taken and the first left
FEATURE_EFFECT_MIN = 1e-2  # change of some logit when a feature is taken away
SELF_ERROR_MAX = 1e-11  # reference in chunks or with a cache against the reference in one pass


def rounded(values, digits=9):
    """Numbers, nested lists of them or tensors, to `digits` significant digits."""
    if isinstance(values, torch.Tensor):
        values = values.tolist()
    if isinstance(values, list):
        return [rounded(value, digits) for value in values]
    return float(f"{values:.{digits}g}")


def difference(a, b):
    return float((a - b).abs().max())


def margin(logits):
    best = logits.topk(2, dim=-1).values
    return float((best[..., 0] - best[..., 1]).min())


def require(holds, text):
    if not holds:
        raise SystemExit(f"make_models.py: {text}")


# Families whose checkpoints on the hub have layer_types.
LAYER_TYPES_ON_HUB = ("smollm3", "gemma2", "gemma3_text", "olmo3", "gpt_oss")


def published(keys):
    """The keys of a config.json as checkpoints on the hub have them, from before transformers 5."""
    scaling = keys.pop("rope_parameters")
    if "full_attention" in scaling:
        local = scaling["sliding_attention"]
        scaling = scaling["full_attention"]
        if keys["model_type"] == "gemma3_text":
            keys["rope_local_base_freq"] = local["rope_theta"]
    keys["rope_theta"] = scaling.pop("rope_theta")
    kind = scaling.pop("rope_type")
    family = keys["model_type"]
    old_name = "type" if family.startswith("deepseek") else "rope_type"
    if "partial_rotary_factor" in scaling:
        keys["partial_rotary_factor"] = scaling.pop("partial_rotary_factor")
    if family == "phi3":
        scaling.pop("original_max_position_embeddings", None)  # it has a key of its own
    keys["rope_scaling"] = None if kind == "default" else {old_name: kind, **scaling}
    keys["torch_dtype"] = keys.pop("dtype")
    keys.pop("transformers_version", None)
    if family not in LAYER_TYPES_ON_HUB:
        keys.pop("layer_types", None)
    if family == "qwen3_moe":
        keys["num_experts"] = keys.pop("num_local_experts")
    if family.startswith("deepseek"):
        for key in ("head_dim", "qk_head_dim", "rope_interleave"):
            keys.pop(key, None)
        keys["moe_layer_freq"] = 1
        keys["scoring_func"] = "softmax"
    if family == "deepseek_v3":
        keys["scoring_func"] = "sigmoid"
        keys["topk_method"] = "noaux_tc"
    return dict(sorted(keys.items()))


def write_json(path, value, **options):
    path.write_text(json.dumps(value, **options) + "\n", encoding="utf-8")


def save(model, folder, **options):
    model.save_pretrained(folder, **options)
    (folder / "generation_config.json").unlink()  # settings of a sampler, not of the model


def write_published_config(folder):
    config = AutoConfig.from_pretrained(folder)
    path = folder / "config_published.json"
    keys = json.loads((folder / "config.json").read_text(encoding="utf-8"))
    write_json(path, published(keys), indent=2)
    read_back = AutoConfig.for_model(**json.loads(path.read_text())).to_dict()
    for parameters in (read_back["rope_parameters"], *read_back["rope_parameters"].values()):
        if isinstance(parameters, dict):
            parameters.pop("type", None)
    for key, value in config.to_dict().items():
        if key not in ("_name_or_path", "transformers_version"):
            require(read_back[key] == value, f"{path}: {key} is read as {read_back[key]}")


def write_checkpoints(out, family, model):
    folder = out / family.name
    save(model, folder)
    write_published_config(folder)
    folders = [folder]
    if family.bfloat16_grid:
        folders += [out / f"{family.name}_sharded", out / f"{family.name}_bf16"]
        save(model, folders[1], max_shard_size=SHARD_SIZE)
        narrow = build(family.config(), torch.bfloat16)
        narrow.load_state_dict(model.state_dict())
        save(narrow, folders[2])
    if family.gguf:
        write_gguf(folder, family, model)
    if family.mxfp4_grid:
        write_mxfp4(out / f"{family.name}_mxfp4", family, model)
    for path in folders:
        require_same_tensors(AutoModelForCausalLM.from_pretrained(path), model, path.name)


def write_mxfp4(folder, family, model):
    """The experts in MXFP4, in both formats, as gpt-oss is published; the rest in float32."""
    state = {name: tensor.contiguous() for name, tensor in model.state_dict().items()}
    codes = {}
    for name in [name for name in state if weights.is_mxfp4(family, name)]:
        codes[name] = weights.draw_mxfp4(family, name, state[name].shape)
        low, high = codes[name][0].to(torch.uint8).unflatten(-1, (-1, 2)).unbind(-1)
        state[f"{name}_blocks"] = low | high << 4
        state[f"{name}_scales"] = (codes[name][1] + 127).to(torch.uint8)
        del state[name]
    folder.mkdir()
    save_file(state, folder / "model.safetensors", {"format": "pt"})
    config = json.loads((folder.with_name(family.name) / "config.json").read_text(encoding="utf-8"))
    config["quantization_config"] = {
        "modules_to_not_convert": ["model.layers.*.self_attn", "model.layers.*.mlp.router"],
        "quant_method": "mxfp4",
    }
    write_json(folder / "config.json", config, indent=2)
    plain = {name: tensor.numpy() for name, tensor in model.state_dict().items()}
    codes = {name: (c.numpy(), e.numpy()) for name, (c, e) in codes.items()}
    gguf_sibling.write(folder / "model.gguf", family.name, model.config, plain, codes=codes)
    read = Mxfp4Config(dequantize=True)
    read_back = AutoModelForCausalLM.from_pretrained(
        folder, quantization_config=read, dtype=torch.float32
    )
    require_same_tensors(read_back, model, folder.name)


def write_gguf(folder, family, model):
    state = {name: tensor.numpy() for name, tensor in model.state_dict().items()}
    gguf_sibling.write(folder / "model.gguf", family.name, model.config, state)
    if gguf_sibling.is_deepseek(model.config) or family.mxfp4_grid:
        return  # transformers does not read these
    read_back = AutoModelForCausalLM.from_pretrained(folder, gguf_file="model.gguf")
    require_same_tensors(read_back, model, f"{family.name}/model.gguf")


def require_same_tensors(read_back, model, what):
    mine = model.state_dict()
    for name, tensor in read_back.state_dict().items():
        require(torch.equal(tensor.float(), mine[name]), f"{what}: {name} is not what was written")


def feature_effects(family, state, tokens, logits):
    effects = {}
    for feature in family.features:
        without = Reference(family.config(**(family.reference | feature.config)), state)
        without.take_away(feature)
        effects[feature.name] = difference(without.logits(tokens), logits)
        require(
            effects[feature.name] > FEATURE_EFFECT_MIN,
            f"{family.name}: {feature.name} changes the logits by {effects[feature.name]:.1e} only",
        )
    return effects


def measure(family, state, tokens):
    """The reference's results and how far other ways to the same numbers are from them."""
    reference = Reference(family.config(**family.reference), state)
    logits = reference.logits(tokens)
    chosen, rows = reference.greedy(tokens, CONTINUATION)
    whole = reference.logits(tokens + chosen)
    narrow = Reference(family.config(**family.reference), state, torch.float32, wide=False)
    cast = Reference(family.config(**family.reference), state, torch.float64, wide=False)
    results = {
        "logits": logits,
        "hidden": reference.hidden(tokens),
        "chosen": chosen,
        "rows": rows,
        "float32": difference(narrow.logits(tokens + chosen), whole),
        "cast": difference(cast.logits(tokens + chosen), whole),
        "chunks": difference(reference.logits_in_chunks(tokens, CHUNKS), logits),
        "decode": difference(rows, whole[TOKENS - 1 : -1]),
        "logit_margin": min(margin(logits), margin(rows)),
        "routing_margin": reference.routing_margin(tokens + chosen),
        "effects": feature_effects(family, state, tokens, logits),
        "squares": {name: rounded(of) for name, of in reference.input_squares(tokens).items()},
    }
    require_decided(family.name, results)
    return results


def require_decided(name, results):
    for key in ("chunks", "decode"):
        error = results[key]
        require(error < SELF_ERROR_MAX, f"{name}: in {key} the reference differs by {error:.1e}")
    gap, routing = results["logit_margin"], results["routing_margin"]
    require(gap > LOGIT_MARGIN_MIN, f"{name}: two largest logits are {gap:.1e} apart")
    if routing is not None:
        require(routing > ROUTING_MARGIN_MIN, f"{name}: two scores are {routing:.1e} apart")


def golden(tokens, results):
    logits, top = results["logits"], results["rows"].topk(TOP, dim=-1)
    torch_version = torch.__version__.partition("+")[0]  # without the CUDA it was built for
    return {
        "made_by": f"transformers {transformers.__version__}, torch {torch_version}, float64",
        "tokens": tokens,
        "argmax": logits.argmax(dim=-1).tolist(),
        "logsumexp": rounded(logits.logsumexp(dim=-1)),
        "positions": list(POSITIONS),
        "logits": rounded(logits[list(POSITIONS)]),
        "hidden": rounded(results["hidden"]),
        "greedy": {
            "tokens": results["chosen"],
            "top_tokens": top.indices.tolist(),
            "top_logits": rounded(top.values),
        },
        "float32_error": rounded(results["float32"], 2),
        "logit_margin": rounded(results["logit_margin"], 2),
        "routing_margin": results["routing_margin"] and rounded(results["routing_margin"], 2),
    }


def make(out, family):
    """Writes the folders of one model; returns its lines for the two tables of measured.md."""
    model = build(family.config(), torch.float32)
    weights.fill(model, family)
    tokens = weights.prompt(family, VOCABULARY, TOKENS)
    write_checkpoints(out, family, model)
    results = measure(family, model.state_dict(), tokens)
    write_json(out / family.name / "golden.json", golden(tokens, results), separators=(",", ":"))
    if family.input_squares:
        write_json(out / family.name / "input_squares.json", results["squares"], separators=(",", ":"))
    routing = results["routing_margin"]
    numbers = [
        f"{sum(p.numel() for p in model.parameters())}",
        f"{float(results['logits'].std()):.2f}",
        *(f"{results[key]:.1e}" for key in ("float32", "cast", "chunks", "decode", "logit_margin")),
        "" if routing is None else f"{routing:.1e}",
    ]
    effects = (f"{name} {effect:.2g}" for name, effect in results["effects"].items())
    return f"| {family.name} | {' | '.join(numbers)} |", f"| {family.name} | {'; '.join(effects)} |"


MEASURED = """# Measured by make_models.py

Columns: parameters; standard deviation of the logits; largest difference of any logit, at any of
the {positions} positions of prompt and greedy continuation, between the float64 reference and the
same model in float32, and between it and model.double(), where transformers casts to float32
inside; largest difference between the reference in one pass and in chunks of {chunks}
tokens, and in decode with a cache; smallest gap between the largest logit and the next; smallest
gap between the score of the last expert or group that a router took and the first that it left.

| model | parameters | spread | float32 | double() | chunks | decode | logit gap | routing gap |
| --- | --- | --- | --- | --- | --- | --- | --- | --- |
{numbers}

Largest change of any logit of the prompt when a feature is taken away: what a forward pass that
forgets it gets wrong.

| model | change |
| --- | --- |
{effects}
"""


def make_all(out):
    lines = []
    for family in FAMILIES:
        lines.append(make(out, family))
        print(lines[-1][0], lines[-1][1], sep="\n")
    numbers, effects = ("\n".join(column) for column in zip(*lines))
    text = MEASURED.format(
        positions=TOKENS + CONTINUATION,
        chunks=", ".join(map(str, CHUNKS)),
        numbers=numbers,
        effects=effects,
    )
    (out / "measured.md").write_text(text, encoding="utf-8")


def made_files(root):
    """Everything that make_all writes: the files of the models' folders, and measured.md."""
    names = tuple(family.name for family in FAMILIES)
    folders = [path for path in root.iterdir() if path.is_dir() and path.name.startswith(names)]
    found = {path.relative_to(root) for folder in folders for path in folder.iterdir()}
    return found | ({Path("measured.md")} if (root / "measured.md").exists() else set())


if __name__ == "__main__":
    golden_files.run("Makes the small models and their golden logits.", HERE, make_all, made_files)
