"""Long prompts beside sequences that decode."""

from schedules import describe, request  # noqa: F401  describe is the judge's


def crowd(draw, **settings):
    first = [request(draw.randint(1, 4), draw.randint(2, 8)) for _ in range(draw.randint(0, 3))]
    later = [request(draw.randint(4, 24), draw.randint(1, 3)) for _ in range(draw.randint(1, 3))]
    steps = [{"submit": first}] + [{"submit": [each]} if draw.random() < 0.7 else {} for each in later]
    missing = later[sum(1 for step in steps[1:] if step) :]
    steps.append({"submit": missing})
    return {
        "blocks": 60,
        "block_size": draw.choice([1, 2, 4]),
        "batch": draw.randint(3, 6),
        "tokens": draw.choice([8, 12, 20]),
        "chunk": draw.choice([3, 5, 8, 64]),
        **settings,
        "steps": steps,
    }


def with_priority(draw):
    return crowd(draw, decode_priority=draw.choice([0, 25, 50, 90, 99, 100]))


def with_preemptions(draw):
    return crowd(draw, blocks=draw.randint(28, 36), block_size=1)


def scarce(draw):
    return crowd(
        draw,
        blocks=draw.randint(30, 40),
        block_size=1,
        watermark=draw.randint(0, 6),
        memory_pressure=draw.choice([100, 90, 70, 50]),
    )


LONG = {"blocks": 40, "tokens": 8, "chunk": 4, "steps": [{"submit": [request(2, 5)]}, {"submit": [request(20, 2)]}]}
FIRST = {
    "prompt_budget": [{**LONG, "chunk": 64}, {**LONG, "chunk": 64, "decode_priority": 50}],
    "prompt_chunk": [LONG],
    "blocks_kept_free": [{**LONG, "blocks": 23, "watermark": 2}],
}
RANDOM = {"prompt_budget": with_priority, "prompt_chunk": with_preemptions, "blocks_kept_free": scarce}
