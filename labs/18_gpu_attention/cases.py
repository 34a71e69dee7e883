"""Tiles of one to four queries over contexts of up to three segments of 256 keys."""

from counts import at_most


def tile(queries=1, more=0, length=1, window=0, head_size=8, block_size=16):
    return {
        "queries": queries,
        "more": more,
        "length": length,
        "window": window,
        "head_size": head_size,
        "block_size": block_size,
    }


def length(random):
    return random.choice([random.randint(1, 40), random.randint(250, 262), random.randint(257, 600)])


def any_range(random):
    window = random.randint(1, 600)
    begin = random.choice([random.randint(-100, 700), 256 - random.randint(-1, 4), 512 - random.randint(-1, 4)])
    case = tile(
        queries=random.randint(1, 4),
        more=random.randint(0, 1),
        length=max(1, begin + window),
        window=random.choice([0, window, window]),
    )
    return {name: case[name] for name in ("queries", "more", "length", "window")}


def any_tile(random, sizes):
    return tile(
        queries=random.randint(1, 4),
        more=random.randint(0, 1),
        length=length(random),
        window=random.choice([0, 0, random.randint(1, 40), random.randint(200, 300)]),
        head_size=random.choice(sizes),
        block_size=random.choice([1, 8, 16]),
    )


def small_heads(random):
    return any_tile(random, [1, 4, 8, 8, 40, 128])


def any_heads(random):
    return any_tile(random, [8, 64, 96, 128, 256])


RANGES = [
    {"queries": 1, "more": 0, "length": 10, "window": 0},
    {"queries": 3, "more": 1, "length": 10, "window": 0},
    {"queries": 1, "more": 0, "length": 600, "window": 100},
    {"queries": 4, "more": 1, "length": 300, "window": 44},
    # The last query's first position is in another segment than the first one's.
    {"queries": 4, "more": 1, "length": 300, "window": 46},
]
FIRST = {
    "range_of": RANGES,
    "attend_range": [
        tile(length=1, head_size=1),
        tile(length=4),
        tile(queries=2, length=40),
        tile(length=257),
        tile(queries=3, length=600),
        tile(queries=2, length=40, head_size=128),
        tile(queries=4, more=1, length=254),
        # Query 0 sees the first segment, the last queries do not.
        tile(queries=4, more=1, length=257, window=3),
    ],
    "attend_components": [
        tile(queries=4, length=10, head_size=64),
        tile(queries=4, length=10, head_size=128),
        tile(queries=4, length=10, head_size=256),
        tile(queries=4, length=10, head_size=96),
    ],
}
RANDOM = {"range_of": any_range, "attend_range": small_heads, "attend_components": any_heads}


def describe(case):
    queries, more, first = case["queries"], case["more"], case["length"]
    of = "heads of a row" if more == 0 else "rows"
    said = [f"queries   {queries}, {of}: they attend over {', '.join(str(first + n * more) for n in range(queries))} positions"]
    if case["window"]:
        said.append(f"window    {case['window']}: of these, a query sees so many at the end")
    if "head_size" in case:
        said.append(f"heads     of {case['head_size']} components, in blocks of {case['block_size']} slots")
    return said


difference = at_most("reads of shared memory")
