"""Vectors of tenths, and launches of rms_norm over a few rows. Bits must be equal; sectors may be fewer."""

from counts import at_most


def tenths(random, size):
    return [random.randint(-99, 99) for _ in range(size)]


def vector(random):
    # Up to a lane's first element, its second, and more than the 16 that are under way at once.
    size = random.choice([random.randint(1, 40), random.randint(41, 200), random.randint(500, 1100)])
    return {"tenths": tenths(random, size)}


def vector_with_eps(random):
    return {"tenths": tenths(random, random.randint(1, 80)), "millionths": random.choice([1, 10, 5000, 1000000])}


def norm(rows=1, size=32, blocks=None, groups=1, gap=0, logit_rows=(), multiplier_tenths=10, accumulate=False):
    return {
        "rows": rows,
        "size": size,
        "blocks": blocks or max(rows, len(logit_rows)),
        "groups": groups,
        "gap": gap,
        "logit_rows": list(logit_rows),
        "multiplier_tenths": multiplier_tenths,
        "accumulate": int(accumulate),
    }


def any_norm(random):
    rows = random.randint(1, 4)
    logit_rows = random.choice([[], [], [random.randrange(rows) for _ in range(random.randint(1, 3))]])
    return norm(
        rows=rows,
        size=random.choice([random.randint(1, 70), 8 * random.randint(1, 20)]),
        blocks=max(rows, len(logit_rows)) + random.randint(0, 2),
        groups=random.choice([1, 1, 2, 3]),
        gap=random.choice([0, 0, 3, 8]),
        logit_rows=logit_rows,
        multiplier_tenths=random.choice([10, 10, 3]),
        accumulate=random.random() < 0.5,
    )


FIRST = {
    "sum_of_squares": [
        {"tenths": [10 * n for n in range(1, 13)]},
        {"tenths": list(range(1, 33))},
        {"tenths": [(7 * n) % 100 for n in range(33)]},
        {"tenths": [(7 * n) % 100 for n in range(512)]},
        {"tenths": [(7 * n) % 100 for n in range(600)]},
    ],
    "sectors": [
        {"tenths": [(7 * n) % 100 for n in range(32)]},
        {"tenths": [(7 * n) % 100 for n in range(64)]},
        {"tenths": [(7 * n) % 100 for n in range(512)]},
    ],
    "norm_scale": [
        {"tenths": [10 * n for n in range(1, 13)], "millionths": 10},
        {"tenths": [1, 0, 2], "millionths": 1000000},
    ],
    "rms_norm": [
        norm(),
        norm(rows=2, size=40),
        norm(rows=2, size=33, blocks=4),
        norm(rows=2, size=8, groups=3),
        norm(rows=3, size=16, logit_rows=[2, 0]),
        norm(rows=2, size=16, accumulate=True, multiplier_tenths=3),
    ],
}
RANDOM = {"sum_of_squares": vector, "sectors": vector, "norm_scale": vector_with_eps, "rms_norm": any_norm}


def number(tenth):
    return f"{tenth // 10}" if tenth % 10 == 0 else f"{tenth / 10:.1f}"


def describe(case):
    if "tenths" not in case:
        return [f"{name:<18} {value}" for name, value in case.items()]
    values = case["tenths"]
    some = [f"x[{i}] = {number(value)}" for i, value in enumerate(values) if value != 0]
    more = f", and {len(some) - 6} more" if len(some) > 6 else ""
    zero = "the others are 0" if some and len(some) < len(values) else "" if some else "all are 0"
    said = [f"size {len(values)}: " + ", ".join(some[:6]) + more + (", " if some and zero else "") + zero]
    if "millionths" in case:
        said.append(f"eps  {case['millionths'] / 1e6:g}")
    return said


difference = at_most("sectors ")
