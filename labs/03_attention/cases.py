"""Contexts of a few rows of keys and values that repeat, in blocks of 1 to 5 slots. Segments and merges
are asked in blocks of one slot, in which every layout of keys is the same. So that segments differ, the
keys of segment c are multiplied by a factor of its own. Some are of latents, which have fewer numbers as
values than as keys."""


def number(random, most=2):
    return round(random.uniform(-most, most), 2)


def rows(random, count, size, most=2):
    return [[number(random, most) for _ in range(size)] for _ in range(count)]


def context(random, head_size, heads, length):
    return {
        "q": rows(random, heads, head_size),
        "scale": random.choice([1, 0.5, 0.3]),
        "keys": rows(random, random.choice([3, 5, 7]), head_size, random.choice([1, 3])),
        "values": rows(random, random.choice([2, 4, 5]), head_size),
        "length": length,
    }


def place(random):
    block_size = random.randint(1, 5)
    length = random.randint(1, 10)
    ids = list(range(6))
    random.shuffle(ids)
    return {
        "type": random.choice(["f32", "f16"]),
        "block_size": block_size,
        "head_size": random.randint(1, 4),
        "blocks": ids[: min(len(ids), -(-length // block_size))],
        "length": length,
    }


def as_latents(random, case):
    size = len(case["q"][0])
    return {**case, "type": random.choice(["bf16", "f16"]), "value_size": random.randint(1, size)}


def one_segment(random):
    segment = random.choice([0, 0, 1])
    length = 256 * segment + random.randint(1, 9) + random.choice([0, 0, 40])
    case = context(random, random.randint(1, 4), 1, length)
    case["segment"] = segment
    if random.random() < 0.2:
        return as_latents(random, case)
    if random.random() < 0.5:
        case["first"] = random.randint(0, length - 1)
    if random.random() < 0.4:
        case["cap"] = random.choice([1.5, 3])
    return case


def several_segments(random):
    length = random.choice([2, 3, 257, 258, 260, 515])
    case = context(random, random.randint(1, 3), 1, length)
    if length > 256:
        case["factors"] = [random.choice([0.5, 1, 2]) for _ in range(3)]
    if length < 256 or random.random() < 0.4:
        case["sinks"] = [number(random, 3)]
    return case


def whole(random):
    length = random.choice([1, 2, 4, 9, 255, 256, 257, 300, 512, 520])
    heads = random.randint(1, 3)
    case = {
        "type": random.choice(["f32", "bf16", "f16"]),
        "block_size": random.randint(1, 5),
        "blocks": random.choice([[], [1, 0], [2, 1, 3]]),
        **context(random, random.choice([1, 2, 3, 8]), heads, length),
    }
    if random.random() < 0.2:
        return as_latents(random, case)
    if length > 256 and random.random() < 0.5:
        case["factors"] = [random.choice([0.5, 1, 2]) for _ in range(3)]
    if random.random() < 0.4:
        case["first"] = max(0, length - random.choice([1, 3, 100, 260]))
    if random.random() < 0.3:
        case["cap"] = 2
    if random.random() < 0.4:
        case["sinks"] = [number(random, 3) for _ in range(heads)]
    return case


PAPER = {"q": [[1]], "keys": [[0], [2], [3], [1]], "values": [[10], [20], [30], [40]], "length": 4}
FIRST = {
    "key": [
        {"type": "f32", "block_size": 1, "head_size": 2, "blocks": [0], "length": 1},
        {"type": "f16", "block_size": 2, "head_size": 3, "blocks": [1, 0], "length": 3},
        {"type": "f32", "block_size": 2, "head_size": 3, "blocks": [1, 0], "length": 3},
    ],
    "segment_of": [
        {**PAPER, "segment": 0},
        {**PAPER, "first": 2, "segment": 0},
        {**PAPER, "length": 257, "segment": 1},
        {**PAPER, "length": 259, "segment": 0},
        {**PAPER, "scale": 0.5, "cap": 1, "segment": 0},
    ],
    "merge": [
        {**PAPER, "sinks": [1]},
        {**PAPER, "sinks": [4]},
        {**PAPER, "length": 258},
        {**PAPER, "length": 258, "factors": [1, 2]},
        {**PAPER, "length": 258, "factors": [2, 1]},
        {**PAPER, "length": 514, "factors": [1, 1.5, 1.25]},
    ],
    "attend_all": [
        {"block_size": 2, "blocks": [1, 0], **PAPER},
        {"block_size": 2, "blocks": [1, 0], **PAPER, "length": 256, "q": [[-1]]},
        {"block_size": 2, "blocks": [1, 0], **PAPER, "length": 257},
        {"block_size": 2, "blocks": [1, 0], **PAPER, "q": [[1], [-1]], "sinks": [0, 2]},
        {"block_size": 2, "blocks": [1, 0], **PAPER, "length": 300, "first": 270},
    ],
}
RANDOM = {"key": place, "segment_of": one_segment, "merge": several_segments, "attend_all": whole}
