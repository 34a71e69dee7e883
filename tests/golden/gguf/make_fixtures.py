"""Writes the GGUF files of this folder, and what they hold as another implementation reads it.

Usage: make_fixtures.py            writes them into this folder
       make_fixtures.py --check    exits 1 unless the folder holds exactly these files

Needs the package `gguf` of ggml-org (PyPI; made with 0.19.0) and numpy. GGUFWriter writes the files,
GGUFReader reads them back, and NAME.txt says what it found; tests/formats/gguf_fixtures_test.cc wants
the same of our reader.

  all_types.gguf   version 3: metadata of every type, arrays of every type, tensors of every readable
                   type with ranks 1 to 4, alignment 64
  version2.gguf    version 2, whose layout is that of 3: the number is changed after writing
"""

import sys
import tempfile
from pathlib import Path

import gguf
import numpy as np
from gguf import GGMLQuantizationType as Stored
from gguf import GGUFValueType as Type

FOLDER = Path(__file__).resolve().parent
FILES = ["all_types.gguf", "all_types.txt", "version2.gguf", "version2.txt"]

NAMES = {
    Type.UINT8: "u8", Type.INT8: "i8", Type.UINT16: "u16", Type.INT16: "i16", Type.UINT32: "u32",
    Type.INT32: "i32", Type.FLOAT32: "f32", Type.BOOL: "boolean", Type.STRING: "text",
    Type.UINT64: "u64", Type.INT64: "i64", Type.FLOAT64: "f64",
}  # fmt: skip

SCALARS = [
    (Type.UINT8, 255), (Type.INT8, -128), (Type.UINT16, 65535), (Type.INT16, -32768),
    (Type.UINT32, 4294967295), (Type.INT32, -2147483648), (Type.FLOAT32, -1.25), (Type.BOOL, True),
    (Type.STRING, "a text"), (Type.UINT64, 18446744073709551615), (Type.INT64, -9223372036854775808),
    (Type.FLOAT64, 0.1),
]  # fmt: skip

ARRAYS = [
    (Type.UINT8, [0, 1, 255]), (Type.INT8, [-128, 0, 127]), (Type.UINT16, [0, 65535]),
    (Type.INT16, [-32768, 32767]), (Type.UINT32, [0, 4294967295]),
    (Type.INT32, [-2147483648, 2147483647]), (Type.FLOAT32, [0.5, -0.25, 65536.0]),
    (Type.BOOL, [True, False, True]), (Type.STRING, ["<s>", "", "hello"]),
    (Type.UINT64, [0, 9223372036854775807]), (Type.INT64, [-9223372036854775808, 1]),
    (Type.FLOAT64, [0.1, 1e300]),
]  # fmt: skip


def write_all_types(path):
    writer = gguf.GGUFWriter(path, "llama")
    writer.add_custom_alignment(64)
    for kind, value in SCALARS:
        writer.add_key_value(f"scalar.{NAMES[kind]}", value, kind)
    for kind, values in ARRAYS:
        writer.add_key_value(f"array.{NAMES[kind]}", values, Type.ARRAY, sub_type=kind)

    random = np.random.default_rng(1)
    plain = random.standard_normal((2, 3, 4, 5)).astype(np.float32)
    writer.add_tensor("plain.f32", plain)
    writer.add_tensor("plain.f16", plain[0].astype(np.float16))
    writer.add_tensor("plain.bf16", gguf.quantize(plain[1], Stored.BF16), raw_dtype=Stored.BF16)
    writer.add_tensor("plain.i8", np.arange(-3, 4, dtype=np.int8))
    writer.add_tensor("plain.i32", np.array([[-2147483648, 2147483647]], dtype=np.int32))
    writer.add_tensor("plain.i64", np.array([-9223372036854775808, 1], dtype=np.int64))
    rows = random.standard_normal((3, 64)).astype(np.float32)
    for kind in (Stored.Q8_0, Stored.Q4_0, Stored.Q5_0, Stored.Q5_1):
        writer.add_tensor(f"block.{kind.name.lower()}", gguf.quantize(rows, kind), raw_dtype=kind)
    # The package cannot quantize to these; the layout of a file does not depend on the bytes.
    for kind in (Stored.Q4_K, Stored.Q5_K, Stored.Q6_K):
        block_bytes = gguf.GGML_QUANT_SIZES[kind][1]
        blocks = random.integers(0, 256, size=(2, 3 * block_bytes), dtype=np.uint8)
        writer.add_tensor(f"block.{kind.name.lower()}", blocks, raw_dtype=kind)
    write(writer)


def write_version2(path):
    writer = gguf.GGUFWriter(path, "llama")
    writer.add_uint32("llama.block_count", 5)
    writer.add_tensor("output_norm.weight", np.array([1.0, 2.0, 3.0], dtype=np.float32))
    write(writer)
    data = bytearray(path.read_bytes())
    assert data[4:8] == b"\x03\0\0\0"
    data[4] = 2
    path.write_bytes(data)


def write(writer):
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def shown(kind, value):
    if kind == Type.STRING:
        return f"'{value}'"
    if kind == Type.BOOL:
        return "true" if value else "false"
    return repr(value)


def listing(path):
    reader = gguf.GGUFReader(path)
    lines = [f"version {reader.fields['GGUF.version'].contents()}"]
    for key, field in reader.fields.items():
        if key.startswith("GGUF."):
            continue
        kind = field.types[-1]
        if field.types[0] != Type.ARRAY:
            lines.append(f"key {key}: {NAMES[kind]} {shown(kind, field.contents())}")
            continue
        values = field.contents()
        text = "".join(" " + shown(kind, value) for value in values)
        lines.append(f"key {key}: array of {len(values)} {NAMES[kind]}:{text}")
    for tensor in reader.tensors:
        shape = ", ".join(str(n) for n in reversed(tensor.shape.tolist()))
        first = tensor.data.tobytes()[:8].hex()
        lines.append(
            f"tensor {tensor.name}: {tensor.tensor_type.name}[{shape}], {tensor.n_bytes} bytes "
            f"at {tensor.data_offset}: {first}"
        )
    return "\n".join(lines) + "\n"


def write_all(folder):
    write_all_types(folder / "all_types.gguf")
    write_version2(folder / "version2.gguf")
    for name in ("all_types", "version2"):
        (folder / f"{name}.txt").write_text(listing(folder / f"{name}.gguf"))


def check():
    with tempfile.TemporaryDirectory() as made:
        write_all(Path(made))
        wrong = [
            name for name in FILES if (Path(made) / name).read_bytes() != (FOLDER / name).read_bytes()
        ]
    if wrong:
        sys.exit(f"not as this script makes them: {', '.join(wrong)}")


if __name__ == "__main__":
    if sys.argv[1:] == ["--check"]:
        check()
    elif sys.argv[1:]:
        sys.exit(__doc__)
    else:
        write_all(FOLDER)
