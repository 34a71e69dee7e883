"""Makes the golden blocks: bytes of each block format, and the numbers that they stand for.

Usage: python3 -m venv VENV && VENV/bin/pip install gguf==0.19.0
       VENV/bin/python make_blocks.py          writes NAME.blocks and NAME.floats beside itself

NAME.blocks is blocks one after another, NAME.floats their numbers as little-endian float32. The
numbers come from the PyPI package gguf (gguf.quants.dequantize, NumPy code of the llama.cpp
authors), an implementation that shares nothing with this project. The bytes are random, so that
every code and every scale occurs; the first blocks have the f16 scales that are special.
"""

import random
from pathlib import Path

import numpy
from gguf import GGMLQuantizationType, quants

# zeros, smallest and largest subnormals, smallest normal, largest, infinities, NaN
SPECIAL = [0x0000, 0x8000, 0x0001, 0x83FF, 0x0400, 0x7BFF, 0xFBFF, 0x7C00, 0xFC00, 0x7E00]

# name: blocks, bytes of a block, where its f16 scales are
FORMATS = {
    "Q8_0": (96, 34, [0]),
    "Q4_0": (96, 18, [0]),
    "Q4_1": (96, 20, [0, 2]),
    "Q5_0": (96, 22, [0]),
    "Q5_1": (96, 24, [0, 2]),
    "Q4_K": (32, 144, [0, 2]),
    "Q5_K": (32, 176, [0, 2]),
    "Q6_K": (16, 210, [208]),
    "Q2_K": (32, 84, [80, 82]),
    "Q3_K": (32, 110, [108]),
    "IQ4_NL": (96, 18, [0]),
    "IQ4_XS": (32, 136, [0]),
    "MXFP4": (255, 17, []),
}


def random_blocks(name, seed):
    count, size, scales = FORMATS[name]
    generator = random.Random(f"{name} {seed}")
    noise = numpy.frombuffer(generator.randbytes(count * size), numpy.uint8)
    blocks = noise.reshape(count, size).copy()
    for i, bits in enumerate(SPECIAL):
        for k, at in enumerate(scales):  # each of two scales is special where the other is not
            blocks[i + k * len(SPECIAL), at : at + 2] = [bits & 0xFF, bits >> 8]
    if name == "Q6_K":
        every_scale = list(range(256))
        generator.shuffle(every_scale)
        blocks[:, 192:208] = numpy.array(every_scale, numpy.uint8).reshape(16, 16)
    if name == "MXFP4":  # every scale but 255, a NaN in the specification and 2^127 in ggml
        blocks[:, 0] = range(255)
    return blocks


def numbers_of(name, blocks):
    with numpy.errstate(all="ignore"):  # infinities make NaNs
        return quants.dequantize(blocks, GGMLQuantizationType[name]).astype("<f4")


def has_every_scale(name, blocks):
    """Whether each 6-bit scale and each offset occurs in a block without infinities."""
    if name not in ("Q4_K", "Q5_K"):
        return True
    finite = numpy.isfinite(numbers_of(name, blocks)).all(axis=1)
    scales, offsets = quants.Q4_K.get_scale_min(blocks[finite, 4:16])
    return len(numpy.unique(scales)) == 64 and len(numpy.unique(offsets)) == 64


def main():
    folder = Path(__file__).parent
    for name in FORMATS:
        seed = 0
        while not has_every_scale(name, blocks := random_blocks(name, seed)):
            seed += 1
        floats = numbers_of(name, blocks)
        (folder / f"{name}.blocks").write_bytes(blocks.tobytes())
        (folder / f"{name}.floats").write_bytes(floats.tobytes())
        nans = numpy.isnan(floats).sum()
        print(f"{name}: {len(blocks)} blocks, seed {seed}, {nans} NaNs of {floats.size} numbers")


if __name__ == "__main__":
    main()
