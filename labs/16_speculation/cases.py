"""Distributions over two to four tokens, in parts of which few make a whole."""


def row(random, tokens, most=4):
    while True:
        parts = [random.choice([0, 1, 1, 2, 3]) for _ in range(tokens)]
        if 0 < sum(parts) <= most + 2:
            return parts


def pair(random):
    tokens = random.randint(1, 4)
    return {"p": row(random, tokens), "q": row(random, tokens)}


def weights(random):
    return {"weights": [random.choice([0, 0, 1, 2, 3]) for _ in range(random.randint(1, 5))]}


def some_round(random):
    tokens = random.randint(2, 3)
    drafts = random.choice([1, 1, 2])
    return {
        "model": [row(random, tokens, 2) for _ in range(drafts + 1)],
        "draft": [row(random, tokens, 2) for _ in range(drafts)],
        "eos": random.choice(["", "", "a", "b"]),
    }


def picks(random):
    count = random.randint(0, 4)
    drafts = "".join(random.choice("abc") for _ in range(count))
    same = random.randint(0, count)
    others = "".join(random.choice("abc.") for _ in range(count + 1 - same))
    return {"drafts": drafts, "picks": drafts[:same] + others, "eos": random.choice(["", "", "a", "c"])}


CHAPTER = {"p": [3, 2, 1], "q": [1, 1, 2]}
FIRST = {
    "verify_by_picks": [
        {"drafts": "ab", "picks": "abc", "eos": ""},
        {"drafts": "ab", "picks": "aca", "eos": ""},
        {"drafts": "abc", "picks": "abca", "eos": "b"},
        {"drafts": "ab", "picks": "a.c", "eos": ""},
        {"drafts": "", "picks": "a", "eos": ""},
    ],
    "acceptance_probability": [CHAPTER, {"p": [1, 1], "q": [1, 0]}, {"p": [0, 1], "q": [1, 0]}],
    "draw_by_weight": [{"weights": [1, 1]}, {"weights": [3, 2, 1]}, {"weights": [0, 1, 0]}, {"weights": [0, 0]}],
    "draw_replacement": [CHAPTER, {"p": [1, 1], "q": [1, 1]}, {"p": [1, 0, 1], "q": [0, 1, 1]}],
    "verify_by_rejection": [
        {"model": [[3, 2, 1], [1, 1, 1]], "draft": [[1, 1, 2]], "eos": ""},
        {"model": [[1, 1], [1, 1]], "draft": [[1, 1]], "eos": ""},
        {"model": [[1, 1], [1, 2]], "draft": [[2, 1]], "eos": "a"},
        {"model": [[1, 1], [1, 2], [2, 1]], "draft": [[2, 1], [1, 1]], "eos": ""},
    ],
}
RANDOM = {
    "verify_by_picks": picks,
    "acceptance_probability": pair,
    "draw_by_weight": weights,
    "draw_replacement": pair,
    "verify_by_rejection": some_round,
}


def fractions(parts):
    whole = sum(parts)
    return ", ".join(f"{'abcdef'[at]} {part}/{whole}" for at, part in enumerate(parts))


def describe(case):
    if "weights" in case:
        return [f"weights  {', '.join(f'{name} {weight}' for name, weight in zip('abcdef', case['weights']))}"]
    if "picks" in case:
        said = [f"drafts   {' '.join(case['drafts']) or '(none)'}", f"picks    {' '.join(case['picks'])}"]
        if "." in case["picks"]:
            said.append("         where . is none: the logits are not finite")
    elif "p" in case:
        return [f"p        {fractions(case['p'])}", f"q        {fractions(case['q'])}"]
    else:
        said = [f"model    row {at}: {fractions(parts)}" for at, parts in enumerate(case["model"])]
        said += [f"draft    row {at}: {fractions(parts)}" for at, parts in enumerate(case["draft"])]
    return said + ([f"eos      {case['eos']}"] if case["eos"] else [])
