"""Numbers that repeat, so that long sums are short cases; and servers by the ways in which they sum."""


def numbers(random, count):
    return [round(random.uniform(-2, 2), random.choice([1, 3])) for _ in range(count)]


def length(random):
    return random.choice([random.randint(1, 12), random.randint(20, 80), random.randint(200, 600), 256, 257, 512])


def product(random):
    count = random.choice([3, 7])
    return {"a": numbers(random, count), "b": numbers(random, 5), "n": length(random)}


def one_sum(random):
    return {"x": numbers(random, random.choice([3, 7, 31])), "n": length(random)}


def split(random):
    parts = [random.randint(1, 9) for _ in range(2)]
    return {"a": numbers(random, 7), "b": numbers(random, 5), "n": random.randint(1, 60), "parts": parts}


BITS = ["00000000", "80000000", "3f800000", "3f800001", "bf800000", "7fc00000", "7f800000", "00000001"]


def two_outputs(random):
    a = [random.choice(BITS) for _ in range(random.randint(1, 5))]
    b = [x if random.random() < 0.7 else random.choice(BITS) for x in a]
    return {"a": a, "b": b}


def broken(random):
    return {"axis": random.randrange(4), "seed": random.randint(0, 99)}


def values(random, most):
    chosen = random.sample(range(1, most + 1), random.randint(1, 3))
    return sorted(chosen) if random.random() < 0.7 else chosen


def server(random):
    return {
        "product": random.choice(["canonical", "few_rows", "threads", "spare_threads", "decode", "tiles"]),
        "context": random.choice(["canonical", "canonical", "blocks"]),
        "signed_zero": random.random() < 0.2,
        "seed": random.randint(0, 99),
        "tokens": random.randint(3, 7),
        "grid": {
            "batch": values(random, 6),
            "chunk": values(random, 6),
            "threads": values(random, 8),
            "block_size": values(random, 5),
        },
    }


GRID = {"batch": [1, 2, 5], "chunk": [6, 1], "threads": [1, 4], "block_size": [8, 3]}


def of_way(product="canonical", context="canonical", **others):
    return {"product": product, "context": context, "seed": 1, "tokens": 6, "grid": GRID, **others}


FIRST = {
    "product": [
        {"a": [0.1, 0.2, 0.3], "b": [1], "n": 3},
        {"a": [0.1, 0.2, 0.3], "b": [0.7, -0.9], "n": 40},
        {"a": [0.1, 0.2, 0.3], "b": [1], "n": 600},
        {"a": [1e-30], "b": [-1e-30], "n": 1},  # -0, and 0 added to it is 0
    ],
    "sum": [
        {"x": [0.1, 0.2, 0.3], "n": 3},
        {"x": [0.1, 0.2, 0.3], "n": 32},
        {"x": [0.1, 0.2, 0.3], "n": 96},
    ],
    "split_product": [
        {"a": [1e-30], "b": [-1e-30], "n": 1, "parts": [1]},  # -0, added to 0
        {"a": [0.1, 0.2, 0.3], "b": [1], "n": 4, "parts": [1, 2]},
        {"a": [0.1, 0.7, 0.3, -0.9], "b": [1, 0.3, 0.7], "n": 10, "parts": [1, 2, 3, 4]},
    ],
    "first_difference": [
        {"a": ["3f800000"], "b": ["3f800000"]},
        {"a": ["3f800000", "3f800000"], "b": ["3f800000", "3f800001"]},
        {"a": ["00000000"], "b": ["80000000"]},
        {"a": ["7fc00000", "bf800000"], "b": ["7fc00000", "3f800000"]},
    ],
    "broken_product": [{"axis": axis, "seed": 1} for axis in (2, 3, 1, 0)],
    "witnesses": [
        of_way(),
        of_way("threads"),
        of_way(context="blocks"),
        of_way("few_rows"),
        of_way("decode"),
        of_way("tiles"),
        of_way("spare_threads"),
        of_way(signed_zero=True),
    ],
}
RANDOM = {
    "product": product,
    "sum": one_sum,
    "split_product": split,
    "first_difference": two_outputs,
    "broken_product": broken,
    "witnesses": server,
}

PRODUCTS = {
    "canonical": "a product has the engine's order",
    "few_rows": "a product is split into 4 parts if its step has fewer than 4 rows",
    "threads": "a product is split into as many parts as there are threads",
    "spare_threads": "a product is split into threads / rows parts (at least 1)",
    "decode": "a product is split into 2 parts if its request has one row in the step",
    "tiles": "rows in whole tiles of 4 are fused, the rest of a step's rows are multiplied, then added",
}
CONTEXTS = {
    "canonical": "what a token reads of those before it has the engine's order",
    "blocks": "what a token reads of those before it is added up block by block",
}
AXES = ["batch", "chunk", "threads", "block_size"]


def describe(case):
    if "axis" in case:
        return [f"  the product that depends on {AXES[case['axis']]} alone", f"  numbers    of seed {case['seed']}"]
    if "grid" not in case:
        return [f"  {name:<9}  {value}" for name, value in case.items()]
    ways = [PRODUCTS[case["product"]], CONTEXTS[case["context"]]]
    if case.get("signed_zero"):
        ways.append("its last output is -0 with several threads and 0 with one")
    lines = [f"  {'server' if at == 0 else '':<10} {way}" for at, way in enumerate(ways)]
    lines.append(f"  request    {case['tokens']} tokens, numbers of seed {case['seed']}")
    return lines + [f"  {name:<10} {case['grid'][name]}" for name in AXES]
