"""Weights of the small models: random, the same bytes on every machine.

A tensor is a function of its model's and its own name alone: it is drawn as integers by a generator
seeded with their CRC-32, and scaled by one float32 multiplication. Integers leave no room for the
vectorised logarithms of randn, which may differ in the last bit between processors.
"""

import math
import zlib

import torch

# A sum of TERMS integers, each uniform in [-UNIFORM, UNIFORM]: nearly normal and bounded by 2^17,
# so that float32 holds it exactly.
UNIFORM = 2**15
TERMS = 4
DEVIATION = math.sqrt(TERMS * ((2 * UNIFORM + 1) ** 2 - 1) / 12)

# Gains over 1 / sqrt(inputs). Above 1 where a nonlinearity follows, so that attention is neither
# uniform nor one-hot, silu bends and the router is decided.
GAINS = (
    (("q_proj.weight", "k_proj.weight", "q_b_proj.weight", "kv_b_proj.weight"), 1.5),
    (("gate_proj.weight", "up_proj.weight", "gate_up_proj", "down_proj.weight", "down_proj"), 1.5),
    (("gate.weight", "router.weight"), 1.5),
    (("lm_head.weight",), 2.5),
)


def mean_and_deviation(name, shape, tied, from_one):
    if name.endswith("norm.weight") and from_one:
        return 0.0, 0.25  # to which the model adds one
    if name.endswith("norm.weight"):
        return 1.0, 0.25  # bounded by 1 +- 0.87: no weight is zero or negative
    if name.endswith("e_score_correction_bias"):
        return 0.0, 0.2
    if name.endswith("sinks"):
        return 0.5, 1.0
    if name.endswith("bias"):
        return 0.0, 0.5
    if name.endswith("embed_tokens.weight"):
        return 0.0, 2.5 / math.sqrt(shape[-1]) if tied else 1.0
    gain = next((gain for ends, gain in GAINS if name.endswith(ends)), 1.0)
    return 0.0, gain / math.sqrt(shape[-1])


E2M1 = (0.0, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0)
FP4_VALUES = torch.tensor(E2M1 + tuple(-x for x in E2M1))
MXFP4_BLOCK = 32


def generator_of(family, name):
    return torch.Generator().manual_seed(zlib.crc32(f"{family.name}/{name}".encode()))


def is_mxfp4(family, name):
    return family.mxfp4_grid and name.endswith(("experts.gate_up_proj", "experts.down_proj"))


def draw_mxfp4(family, name, shape):
    """Codes [experts, outputs, inputs / 32, 32] and exponents [experts, outputs, inputs / 32] of a
    tensor [experts, inputs, outputs]."""
    experts, inputs, outputs = shape
    generator = generator_of(family, name)
    blocks = (experts, outputs, inputs // MXFP4_BLOCK)
    codes = torch.randint(0, 16, (*blocks, MXFP4_BLOCK), generator=generator)
    lowest = -3 if name.endswith("gate_up_proj") else -7  # the gate meets the limit of 7
    return codes, torch.randint(lowest, lowest + 3, blocks, generator=generator)


def draw(family, name, shape, tied):
    """The tensor `name` of `family`, in float32."""
    if is_mxfp4(family, name):
        codes, exponents = draw_mxfp4(family, name, shape)
        numbers = FP4_VALUES[codes] * torch.exp2(exponents.to(torch.float32)).unsqueeze(-1)
        return numbers.reshape(shape[0], shape[2], shape[1]).transpose(1, 2).contiguous()
    generator = generator_of(family, name)
    terms = torch.randint(-UNIFORM, UNIFORM + 1, (TERMS, *shape), generator=generator)
    from_one = family.config_class.startswith("Gemma")
    mean, deviation = mean_and_deviation(name, shape, tied, from_one)
    scale = torch.tensor(deviation / DEVIATION, dtype=torch.float32)
    tensor = terms.sum(dim=0).to(torch.float32) * scale + mean
    if from_one and name.endswith("norm.weight"):
        tensor = (tensor * 2**16).round() / 2**16  # one is added and taken away without rounding
    return tensor.to(torch.bfloat16).to(torch.float32) if family.bfloat16_grid else tensor


def fill(model, family):
    """Gives every tensor of `model` its values; a tied head is the embedding."""
    tied = model.config.tie_word_embeddings
    for name, tensor in model.state_dict().items():
        if not (tied and name == "lm_head.weight"):
            tensor.copy_(draw(family, name, tensor.shape, tied))


def prompt(family, vocabulary, count):
    generator = torch.Generator().manual_seed(zlib.crc32(f"{family.name}/prompt".encode()))
    return torch.randint(0, vocabulary, (count,), generator=generator).tolist()
