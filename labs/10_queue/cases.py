"""Small numbers, so that there are ties, and in places large ones, at which 32 bits are not enough."""

PRIORITIES = ["high", "normal", "low"]


def request(ident, levels, preemptions=0):
    return {"id": ident, "levels_below_high": levels, "preemptions": preemptions}


def places(random):
    first = random.choice([0, 0, 0, 1 << 33])
    ids = sorted(random.sample(range(1, 13), random.randint(2, 5)))
    requests = [request(first + ident, random.randint(0, 2), random.choice([0, 0, 0, 1])) for ident in ids]
    return {"head_start": random.choice([0, 1, 3, 4, 64]), "requests": requests}


def bounds(random):
    return {"head_start": random.choice([0, 1, 2, random.randint(3, 100), random.randint(0, 1 << 16)])}


def served(random):
    tokens = random.choice([random.randint(0, 20), random.randint(0, 5000), random.randint(1 << 22, 1 << 26)])
    return {"tokens": tokens, "weight": random.choice([1, 2, 3, 7, 999, 1000, random.randint(1, 1000)])}


def candidate(ident, place, client, user, resumes=0):
    return {"id": ident, "resumes": resumes, "client": client, "user": user, "place": place}


def share(random):
    return [random.choice([0, 500, 1000]), random.randint(1, 3)]


def turns(random):
    """Some are of one client, and then its share is theirs."""
    clients = [share(random) for _ in range(2)]
    return {
        "candidates": [
            candidate(ident, random.randint(3, 6), random.choice(clients), share(random), random.choice([0, 0, 0, 1]))
            for ident in random.sample(range(1, 10), random.randint(2, 4))
        ]
    }


def kept(random):
    blocks = random.randint(1, 40)
    return {
        "running": random.choice([0, 1, 2, 5, 12]),
        "blocks": blocks,
        "watermark": random.randint(0, random.choice([0, blocks])),
        "pressure": random.choice([100, 100, 85, 50, random.randint(1, 99)]),
    }


def describe_request(of):
    before = ", was preempted" if of["preemptions"] else ""
    return f"request {of['id']}, {PRIORITIES[of['levels_below_high']]}{before}"


def had(share):
    return f"{share[0] / 1000:g} tokens (turn {share[1]})"


def describe_candidate(of):
    began = "has been in the batch" if of["resumes"] else "is new"
    return f"request {of['id']} {began}; its client had {had(of['client'])}, its user {had(of['user'])}; place {of['place']}"


def describe(case):
    if "candidates" in case:
        return [describe_candidate(of) for of in case["candidates"]]
    if "requests" in case:
        return [f"head start {case['head_start']}", *map(describe_request, case["requests"])]
    return [", ".join(f"{name} {value}" for name, value in case.items())]


FIRST = {
    "admission_key": [
        {"head_start": 4, "requests": [request(1, 0), request(2, 0)]},
        {"head_start": 4, "requests": [request(1, 2), request(2, 1), request(3, 0)]},
        {"head_start": 4, "requests": [request(10, 2), request(17, 0), request(18, 0)]},
        {"head_start": 4, "requests": [request(3, 2, preemptions=1), request(4, 0)]},
        {"head_start": 4, "requests": [request(3 * number + place, 2 - place + 1) for number in range(3) for place in (1, 2, 3)]},
    ],
    "overtakers_max": [{"head_start": 4}, {"head_start": 64}, {"head_start": 0}],
    "served_by": [
        {"tokens": 1, "weight": 1},
        {"tokens": 7, "weight": 3},
        {"tokens": 16, "weight": 1000},
        {"tokens": 1 << 23, "weight": 1},
    ],
    "has_turn_before": [
        {"candidates": [candidate(1, 1, [2000, 1], [2000, 1]), candidate(2, 2, [1000, 2], [1000, 2])]},
        {"candidates": [candidate(1, 1, [2000, 1], [2000, 1], resumes=1), candidate(2, 2, [1000, 2], [1000, 2])]},
        {"candidates": [candidate(1, 9, [0, 1], [0, 1], resumes=1), candidate(2, 2, [1000, 2], [1000, 2], resumes=1)]},
        {
            "candidates": [
                candidate(11, 15, [17663, 5], [3000, 7]),
                candidate(12, 16, [17663, 5], [10000, 6]),
                candidate(15, 15, [31991, 8], [9000, 2]),
            ]
        },
        {"candidates": [candidate(1, 1, [1000, 4], [0, 1]), candidate(2, 2, [1000, 3], [5000, 2])]},
    ],
    "blocks_kept_free": [
        {"running": 1, "blocks": 10, "watermark": 2, "pressure": 100},
        {"running": 0, "blocks": 10, "watermark": 2, "pressure": 50},
        {"running": 1, "blocks": 10, "watermark": 2, "pressure": 85},
        {"running": 3, "blocks": 10, "watermark": 1, "pressure": 50},
    ],
}
RANDOM = {
    "admission_key": places,
    "overtakers_max": bounds,
    "served_by": served,
    "has_turn_before": turns,
    "blocks_kept_free": kept,
}
