"""Small pools, so that blocks run out, and sequences that come back, so that the order of free blocks shows."""


def sequence(random):
    return random.choice([1, 1, 1, 2, 2, 2, 3, 4])


def world(random, cached, calls):
    return {"blocks": random.randint(3, 8), "block_size": random.choice([1, 2, 2, 3, 4]), "cached": cached, "calls": calls}


def appends(random):
    """Of blocks that nobody uses some may be cached; they are there to be taken, too."""
    calls = [{"add": [1]}]
    for _ in range(random.randint(2, 7)):
        calls.append(random.choice([{"add": [sequence(random)]}] + 4 * [{"append": [sequence(random), random.randint(0, 9)]}]))
    return world(random, random.choice([0, 0, 1, 3]), calls)


def rollbacks(random):
    """What has been published may not be taken back, unless the index has been cleared."""
    calls = [{"add": [1, random.randint(1, 7)]}]
    for _ in range(random.randint(2, 7)):
        seq = sequence(random)
        calls.append(
            random.choice(
                [{"add": [seq, random.randint(0, 9)]}, {"publish": [seq]}, {"clear": []}]
                + 5 * [{"rollback": [seq, random.randint(0, 7)]}]
            )
        )
    return world(random, 0, calls)


def frees(random):
    """Some are added without a token, in the place that another one left."""
    calls = []
    for _ in range(random.randint(3, 9)):
        seq = sequence(random)
        calls.append(
            random.choice(
                2 * [{"add": [seq, random.randint(0, 9)]}] + [{"add": [seq]}, {"publish": [seq]}] + 4 * [{"free": [seq]}]
            )
        )
    return world(random, 0, calls)


def describe(case):
    cached = f", {case['cached']} of them cached" if case["cached"] else ""
    lines = [f"{case['blocks']} blocks{cached}; slots of a block: {case['block_size']}"]
    calls = [" ".join([name, *map(str, values)]) for call in case["calls"] for name, values in call.items()]
    return [*lines, *("; ".join(calls[at : at + 6]) for at in range(0, len(calls), 6))]


def case(blocks, block_size, *calls, cached=0):
    return {"blocks": blocks, "block_size": block_size, "cached": cached, "calls": list(calls)}


def append(seq, tokens):
    return {"append": [seq, tokens]}


def rollback(seq, tokens):
    return {"rollback": [seq, tokens]}


FIRST = {
    "append": [
        case(6, 4, {"add": [1]}, append(1, 3), append(1, 1), append(1, 1)),
        case(3, 4, {"add": [1]}, append(1, 5), append(1, 8), append(1, 7)),
        case(3, 4, append(1, 1)),
        case(3, 2, {"add": [1]}, append(1, 4), append(1, 1), cached=2),
    ],
    "rollback": [
        case(6, 4, {"add": [1, 9]}, rollback(1, 1), rollback(1, 5), rollback(1, 3)),
        case(6, 4, {"add": [1, 3]}, rollback(1, 4), rollback(2, 1)),
        case(6, 4, {"add": [1, 9]}, {"publish": [1]}, rollback(1, 1), rollback(1, 1)),
        case(6, 4, {"add": [1, 9]}, {"publish": [1]}, {"clear": []}, rollback(1, 6)),
    ],
    "free": [
        case(6, 4, {"add": [1, 9]}, {"add": [2, 3]}, {"free": [1]}, {"add": [3, 12]}),
        case(6, 4, {"add": [1, 3]}, {"free": [1]}, {"free": [1]}),
        case(6, 4, {"add": [1, 3]}, {"free": [1]}, {"add": [2]}),
        case(6, 4, {"add": [1, 9]}, {"publish": [1]}, {"free": [1]}),
    ],
}
RANDOM = {"append": appends, "rollback": rollbacks, "free": frees}
