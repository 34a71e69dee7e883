"""Blocks by their parts: d and m as numbers, bytes in base 16, what is missing at their end 0; scales
that are missing are 1. None is 0, and d is never made smaller (it is no integer): all numbers of such a
block are 0, and hide what is wrong."""

import textwrap


def hex_bytes(random, count):
    return "".join(random.choice("0123456789abcdef") for _ in range(2 * count))


def step(random):
    return random.choice([1.0, 0.5, -0.25, 0.01, 0.3])


def numbers(random, count, least, most):
    return [random.randint(least, most) for _ in range(count)]


def q4_0(random):
    return {"d": step(random), "codes": hex_bytes(random, 16)}


def q5(random):
    m = {} if random.random() < 0.5 else {"m": step(random)}
    return {"d": step(random), **m, "high": hex_bytes(random, 4), "codes": hex_bytes(random, 16)}


def q4_k(random):
    return {
        "d": step(random),
        "m": step(random),
        "scales": numbers(random, 8, 1, 63),
        "offsets": numbers(random, 8, 0, 63),
        "codes": hex_bytes(random, 128),
    }


def q6_k(random):
    return {
        "d": step(random),
        "scales": [number or 1 for number in numbers(random, 16, -128, 127)],
        "low": hex_bytes(random, 128),
        "high": hex_bytes(random, 64),
    }


FIRST = {
    "unpack_q4_0": [
        {"d": 1.0, "codes": "98"},
        {"d": 0.5, "codes": "0123456789abcdef0123456789abcdef"},
    ],
    "unpack_codes": [
        {"d": 1.0, "m": 0.0, "high": "", "codes": "21436587"},
        {"d": 1.0, "m": 0.0, "high": "0600"},
        {"d": 1.0, "m": 0.0, "high": "00001080"},
        {"d": 0.5, "high": "8f00ff01", "codes": "0123456789abcdef0123456789abcdef"},
    ],
    "unpack_q4_k": [
        {"d": 1.0, "m": 1.0, "codes": "21436587"},
        {"d": 1.0, "m": 1.0, "codes": "00" * 32 + "21436587"},
        {"d": 1.0, "m": 0.5, "scales": list(range(1, 9)), "offsets": list(range(8, 0, -1)), "codes": "11" * 128},
    ],
    "unpack_quarter": [
        {"d": 1.0, "low": "21436587", "high": ""},
        {"d": 1.0, "low": "00" * 32 + "21436587", "high": ""},
        {"d": 1.0, "low": "", "high": "e4"},
        {"d": 1.0, "scales": [1, 2, 3, 4, 5, 6, 7, 8] * 2, "low": "10" * 128, "high": "aa" * 64},
    ],
}
RANDOM = {"unpack_q4_0": q4_0, "unpack_codes": q5, "unpack_q4_k": q4_k, "unpack_quarter": q6_k}


def describe(case):
    """Bytes in rows of 16, each with the number of its first."""
    lines = []
    for name, value in case.items():
        if not isinstance(value, str):
            rest = {"scales": "  then 1", "offsets": "  then 0"}.get(name, "")
            lines.append(f"  {name:<9}  {value}{rest}")
            continue
        digits = value + "0" * (len(value) % 2)
        pairs = textwrap.wrap(digits, 2)
        rows = [f"{at:>3}: {' '.join(pairs[at : at + 16])}" for at in range(0, len(pairs), 16)] or ["  0:"]
        lines += [f"  {name if at == 0 else '':<9}  {row}" for at, row in enumerate(rows)]
        lines[-1] += "  then 00"
    return lines
