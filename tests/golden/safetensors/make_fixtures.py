"""Writes the files of this folder with the reference implementation of SafeTensors.

Usage: make_fixtures.py            writes them into this folder
       make_fixtures.py --check    exits 1 unless the folder holds exactly these files

Needs the packages `safetensors` (PyPI; made with 0.8.0), numpy and ml_dtypes. NAME.txt says what
`safetensors` reads in a file: each tensor's name, dtype, shape and bytes, then the metadata;
tests/formats/safetensors_fixtures_test.cc wants the same of our reader.

  types.safetensors    every dtype that Forge reads, a scalar, a tensor of no elements, names and
                       metadata that JSON has to escape
  sharded/             three tensors in two files, with an index as transformers writes it
"""

import filecmp
import json
import sys
import tempfile
from pathlib import Path

import ml_dtypes
import numpy as np
import safetensors
from safetensors.numpy import save_file

FOLDER = Path(__file__).resolve().parent
INDEX = "model.safetensors.index.json"

TYPES = {
    "f32": np.array([[0.0, -1.5, 3.25], [1e-40, np.inf, 65504.0]], np.float32),
    "f16": np.array([1.0, -2.0, 6e-8, 65504.0], np.float16),
    "bf16": np.array([[1.0, -0.5], [3.0, 2.0**100]], ml_dtypes.bfloat16),
    "i8": np.array([-128, 0, 127], np.int8),
    "u8": np.array([[0, 1, 127, 128, 255]], np.uint8),
    "i32": np.array([-(2**31), 2**31 - 1], np.int32),
    "i64": np.array([-(2**63), 2**63 - 1], np.int64),
    "scalar": np.array(42.0, np.float32),
    "no elements": np.zeros((0, 4), np.float32),
    'gewichte."größe"\n': np.array([7, 8], np.uint8),
}
METADATA = {"format": 'a "b" \\ c\n'}  # one key: the package writes several in any order

SHARDS = {
    "model-00001-of-00002.safetensors": {
        "model.embed.weight": np.array([[1.0, 2.0], [3.0, 4.0]], np.float32),
        "model.norm.weight": np.array([5.0, 6.0], np.float32),
    },
    "model-00002-of-00002.safetensors": {
        "lm_head.weight": np.array([[7.0, 8.0], [9.0, 10.0]], np.float32),
    },
}

FILES = ["types.safetensors", "types.txt", "sharded.txt", f"sharded/{INDEX}"] + [
    f"sharded/{name}" for name in SHARDS
]


def tensors_of(path):
    """A file's tensors as pairs of name and line."""
    for name, read in safetensors.deserialize(path.read_bytes()):
        line = f"{json.dumps(name)} {read['dtype']}{read['shape']} {bytes(read['data']).hex()}"
        yield name, line.rstrip()


def write_listing(path, tensors, metadata):
    lines = [line for _, line in sorted(tensors, key=lambda item: item[0].encode())]
    lines += [f"{json.dumps(key)} = {json.dumps(value)}" for key, value in metadata.items()]
    path.write_text("\n".join(lines) + "\n", encoding="ascii")


def write_all(folder):
    save_file(TYPES, folder / "types.safetensors", METADATA)
    write_listing(folder / "types.txt", tensors_of(folder / "types.safetensors"), METADATA)

    sharded = folder / "sharded"
    sharded.mkdir(exist_ok=True)
    tensors, weight_map = [], {}
    for name, shard in SHARDS.items():
        save_file(shard, sharded / name, {"format": "pt"})
        tensors += tensors_of(sharded / name)
        weight_map.update({tensor: name for tensor in shard})
    total = sum(array.nbytes for shard in SHARDS.values() for array in shard.values())
    index = {"metadata": {"total_size": total}, "weight_map": dict(sorted(weight_map.items()))}
    (sharded / INDEX).write_text(json.dumps(index, indent=2) + "\n")
    write_listing(folder / "sharded.txt", tensors, {"format": "pt"})


def main():
    if sys.argv[1:] != ["--check"]:
        write_all(FOLDER)
        return 0
    with tempfile.TemporaryDirectory() as scratch:
        write_all(Path(scratch))
        _, different, missing = filecmp.cmpfiles(scratch, FOLDER, FILES, shallow=False)
    for name in different + missing:
        print(f"{FOLDER / name} is not what the packages write", file=sys.stderr)
    return 1 if different + missing else 0


if __name__ == "__main__":
    sys.exit(main())
