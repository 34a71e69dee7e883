"""Segments of up to 256 latents, for tiles of one to four heads. What is written must be equal; sectors
and wavefronts may be fewer."""

from counts import at_most


def segment(heads=1, first=0, end=4, latent=8, rope=0, block_size=4, component=0, size=None, kind="f32"):
    return {
        "type": kind,
        "heads": heads,
        "first": first,
        "end": end,
        "latent": latent,
        "rope": rope,
        "block_size": block_size,
        "component": component,
        "size": size or latent + rope - component,
    }


def any_segment(random, most_copied):
    latent, rope = random.choice([8, 16, 24, 40, 64, 96]), random.choice([0, 2, 8, 32])
    component = random.choice([0, 0, 16, 32])
    component = component if component < latent + rope else 0
    first = random.choice([0, 0, 256])
    return segment(
        heads=random.randint(1, 4),
        first=first,
        end=first + random.choice([random.randint(1, 40), random.randint(41, 256), 256]),
        latent=latent,
        rope=rope,
        block_size=random.choice([1, 8, 16]),
        component=component,
        size=min(latent + rope - component, random.choice([most_copied, most_copied, 4, 10])),
        kind=random.choice(["f32", "f32", "bf16"]),
    )


def of_rows(random):
    return any_segment(random, 16)


def of_queries(random):
    return any_segment(random, 64)


def of_all(random):
    """Two of the components are a strip and some of the next one."""
    case = any_segment(random, 16)
    case["end"] = case["first"] + random.choice([1, 33, 70, case["end"] - case["first"]])
    return {**case, "component": 0, "size": 1}


FIRST = {
    "copy_rows": [
        segment(end=64, latent=16, block_size=16),
        segment(end=40, latent=16, block_size=16),
        segment(end=64, latent=24, block_size=16, component=16),
        segment(end=300, first=256, latent=32, block_size=16, component=16),
        segment(end=64, latent=16, block_size=16, kind="bf16"),
    ],
    "stage_strip": [
        segment(heads=4, latent=16),
        segment(heads=3, latent=16),
        segment(heads=2, latent=72, component=64),
        segment(heads=4, latent=64),
    ],
    "score_latents": [
        segment(end=2, latent=8),
        segment(heads=2, end=40, latent=20),
        segment(heads=2, end=34, latent=64, rope=8),
        segment(heads=4, end=300, first=256, latent=40),
        segment(heads=1, end=256, latent=72, kind="bf16"),
    ],
    "sum_latents": [
        segment(end=1, latent=4),
        segment(end=8, latent=4),
        segment(end=13, latent=4, rope=4),
        segment(end=300, first=256, latent=32),
    ],
}
RANDOM = {"copy_rows": of_rows, "stage_strip": of_queries, "score_latents": of_all, "sum_latents": of_all}


def describe(case):
    size, seen = case["latent"] + case["rope"], min(case["end"] - case["first"], 256)
    return [
        f"latents   {seen} of {size} numbers ({case['latent']} and {case['rope']} that turn), {case['type']}, "
        f"from position {case['first']} on",
        f"pool      in blocks of {case['block_size']} slots; the tile has {case['heads']} of four heads",
        f"copied    components {case['component']} to {case['component'] + case['size'] - 1}",
    ]


difference = at_most("sectors read", "wavefronts written")
