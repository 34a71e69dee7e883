"""Small memories, in which what was admitted grows until somebody has to give way."""

from schedules import describe, request  # noqa: F401  describe is the judge's


def tight(draw, most_requests=5, **settings):
    """Requests that all fit with their prompts, but not with what they generate."""
    block_size = draw.choice([1, 2, 4])
    requests = [
        request(draw.randint(1, 6), draw.randint(2, 9), draw.choice(["low", "normal", "normal", "high"]))
        for _ in range(draw.randint(2, most_requests))
    ]
    longest = max(len(each["prompt"]) + each["new"] for each in requests)
    steps = [{"submit": requests[: draw.randint(1, len(requests))]}]
    rest = requests[len(steps[0]["submit"]) :]
    steps += [{"submit": [each]} if draw.random() < 0.7 else {} for each in rest]
    steps += [{"submit": [each]} for each in rest[len(steps) - 1 :]]
    return {
        "blocks": -(-longest // block_size) + draw.randint(0, 4),
        "block_size": block_size,
        "batch": draw.randint(2, 6),
        "tokens": draw.choice([8, 16, 64]),
        "chunk": draw.choice([2, 4, 64]),
        "preemption": "recompute",
        **settings,
        "steps": steps,
    }


def with_drafts(draw):
    case = tight(draw)
    for step in case["steps"]:
        step["drafts"] = draw.randint(0, 3)
    case["steps"] += [{"drafts": draw.randint(0, 3)} for _ in range(draw.randint(0, 6))]
    return case


def with_a_host(draw):
    return tight(
        draw,
        preemption=draw.choice(["swap", "auto"]),
        host_blocks=draw.randint(0, 8),
        swap_cost=[draw.randint(0, 4), draw.randint(0, 2)],
    )


def always_swaps(draw):
    return tight(draw, preemption="swap", host_blocks=draw.randint(2, 12))


SIX_BLOCKS = {"blocks": 6, "block_size": 1, "steps": [{"submit": [request(2, 3), request(2, 3)]}]}
FIRST = {
    "choose_victim": [SIX_BLOCKS, {**SIX_BLOCKS, "steps": [{"submit": [request(2, 3, "low"), request(2, 3)]}]}],
    "make_room": [
        SIX_BLOCKS,
        {**SIX_BLOCKS, "steps": [{"submit": [request(2, 3), request(2, 3)], "drafts": 2}]},
        {**SIX_BLOCKS, "blocks": 9, "steps": [{"submit": [request(2, 4)] * 4}]},
        {**SIX_BLOCKS, "blocks": 8, "steps": [{"submit": [request(2, 4)] * 4}]},
    ],
    "preempt": [SIX_BLOCKS, {**SIX_BLOCKS, "preemption": "swap", "host_blocks": 3}],
    "swap_out": [{**SIX_BLOCKS, "preemption": "swap", "host_blocks": 4}],
}
RANDOM = {"choose_victim": tight, "make_room": with_drafts, "preempt": with_a_host, "swap_out": always_swaps}
