"""Pools of a few numbers, so that where each of them lies can be followed by hand."""


def shape(random):
    return {
        "type": random.choice(["f32", "f32", "bf16", "f16"]),
        "layers": random.randint(1, 3),
        "heads": random.randint(1, 3),
        "head_size": random.randint(1, 4),
        "block_size": random.randint(1, 4),
    }


def table(random):
    ids = list(range(5))
    random.shuffle(ids)
    return ids[: random.randint(1, 4)]


def plane(random, case):
    return {"layer": random.randrange(case["layers"]), "head": random.randrange(case["heads"])}


def stores(random):
    case = {**shape(random), "blocks": table(random), "tokens": []}
    for _ in range(random.randint(1, 4)):
        position = random.randrange(len(case["blocks"]) * case["block_size"])
        case["tokens"].append({**plane(random, case), "position": position})
    return case


def view(random):
    case = {**shape(random), "blocks": table(random)}
    length = random.randint(1, len(case["blocks"]) * case["block_size"])
    return {**case, **plane(random, case), "length": length}


def copies(random):
    case = {
        "type": random.choice(["f32", "bf16", "f16"]),
        "layers": random.randint(1, 2),
        "head_size": random.randint(1, 3),
        "block_size": random.randint(1, 3),
        "device_blocks": random.randint(1, 4),
        "host_blocks": random.randint(1, 4),
        "host_is_full": random.random() < 0.5,
        "copies": [],
    }
    for _ in range(random.randint(1, 3)):
        here = {"from": random.randrange(case["device_blocks"]), "to": random.randrange(case["host_blocks"])}
        case["copies"].append(here)
    return case


BOOK = {"type": "f32", "layers": 4, "heads": 3, "head_size": 8, "block_size": 4}
SMALL = {"type": "f32", "layers": 1, "heads": 1, "head_size": 3, "block_size": 2}
FIRST = {
    "first_of": [{**SMALL, "layers": 2}, {**SMALL, "heads": 2}, BOOK],
    "store": [
        {**SMALL, "blocks": [0], "tokens": [{"layer": 0, "head": 0, "position": 0}]},
        {**SMALL, "blocks": [0], "tokens": [{"layer": 0, "head": 0, "position": 1}]},
        {**SMALL, "blocks": [1, 0], "tokens": [{"layer": 0, "head": 0, "position": 3}]},
        {**SMALL, "type": "f16", "blocks": [1, 0], "tokens": [{"layer": 0, "head": 0, "position": 3}]},
        {**BOOK, "blocks": [7, 2, 5], "tokens": [{"layer": 1, "head": 0, "position": 6}]},
    ],
    "view": [
        {**SMALL, "blocks": [1, 0], "layer": 0, "head": 0, "length": 3},
        {**SMALL, "type": "bf16", "blocks": [1, 0], "layer": 0, "head": 0, "length": 3},
        {**BOOK, "blocks": [7, 2, 5], "layer": 1, "head": 0, "length": 7},
    ],
    "copy": [
        {
            "type": "f32",
            "layers": 1,
            "head_size": 2,
            "block_size": 2,
            "device_blocks": 3,
            "host_blocks": 2,
            "host_is_full": False,
            "copies": [{"from": 2, "to": 0}],
        },
        {
            "type": "f16",
            "layers": 2,
            "head_size": 2,
            "block_size": 2,
            "device_blocks": 2,
            "host_blocks": 3,
            "host_is_full": True,
            "copies": [{"from": 0, "to": 2}],
        },
    ],
}
RANDOM = {"first_of": shape, "store": stores, "view": view, "copy": copies}
