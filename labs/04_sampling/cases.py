"""Rows of 1 to 12 logits, with ties and with tokens that are ruled out (null)."""


def row(random, longest=12, ruled_out=0.15):
    ties = random.random() < 0.5
    shift = random.choice([0, 0, -8, 5])
    logits = []
    for _ in range(random.randint(1, longest)):
        logit = random.randint(0, 3) if ties else round(random.uniform(-2, 2), 2)
        logits.append(None if random.random() < ruled_out else logit + shift)
    if all(logit is None for logit in logits):
        logits[0] = 0.5
    return logits


def position(random):
    return random.choice([random.randint(0, 40), random.randint(0, 40), 2**32 + random.randint(0, 40)])


def seed(random):
    return random.choice([random.randint(0, 9), random.randint(0, 9), 2**40 + random.randint(0, 9)])


def positions(random, count):
    return [position(random) for _ in range(count)]


def draw(random):
    return {"seed": seed(random), "stream": random.randint(1, 3), "positions": positions(random, 2)}


def picks(random):
    return {
        "logits": row(random),
        "temperature": random.choice([0, 0.3, 1, 1, 2, 20]),
        "seed": seed(random),
        "positions": positions(random, 6),
    }


def long_row(random):
    return {"logits": row(random), "times": random.choice([1, 1, 3, 30, 100])}


def likely(random):
    return {"logits": row(random), "count": random.randint(0, 6), "before": random.choice([0, 0, 2])}


THINGS = [-1.536, -1.663, -1.795, -2.091, -2.46, -2.594, -2.594, -2.661]
FIRST = {
    "uniform": [
        {"seed": 0, "stream": 1, "positions": [0, 1, 2]},
        {"seed": 7, "stream": 3, "positions": [3, 2**32 + 3]},
    ],
    "pick": [
        {"logits": THINGS, "temperature": 0, "seed": 0, "positions": [3]},
        {"logits": [1, 3, 2, 3], "temperature": 0, "seed": 0, "positions": [0, 1]},
        {"logits": THINGS, "temperature": 1, "seed": 0, "positions": [3, 4, 5, 6, 7, 3]},
        {"logits": [-2, -2, -2, -2, -2], "temperature": 1, "seed": 1, "positions": [0, 1, 2, 3, 4, 5, 6, 7]},
        {"logits": [0, 0, 0, 0, 0, 0], "temperature": 1, "seed": 2, "positions": [0, 1, 2, 3, 4, 5, 6, 7]},
    ],
    "log_softmax": [
        {"logits": [0, 0]},
        {"logits": THINGS},
        {"logits": THINGS, "times": 32},
        {"logits": THINGS, "times": 40},
    ],
    "append_likely": [
        {"logits": THINGS, "count": 3, "before": 0},
        {"logits": [0, 2, 1, 2, 2], "count": 2, "before": 0},
        {"logits": [None, 2, None, 1], "count": 4, "before": 0},
        {"logits": THINGS, "count": 2, "before": 2},
    ],
}
RANDOM = {"uniform": draw, "pick": picks, "log_softmax": long_row, "append_likely": likely}
