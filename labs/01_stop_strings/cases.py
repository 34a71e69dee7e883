"""Texts of two or three letters, so that stop strings overlap with themselves and with each other."""


def text(random, letters, shortest, longest):
    return "".join(random.choice(letters) for _ in range(random.randint(shortest, longest)))


def pieces(random, whole):
    parts = []
    while whole:
        length = random.randint(1, 4)
        parts.append(whole[:length])
        whole = whole[length:]
    return parts


def one_stop(random):
    stop = text(random, "ab", 2, 5)
    return {"stops": [stop], "pieces": pieces(random, text(random, "ab", 0, 9) + random.choice(["", stop, "a"]))}


def several_stops(random):
    stops = [text(random, "abc", 1, 4) for _ in range(random.randint(2, 4))]
    return {"stops": stops, "pieces": pieces(random, text(random, "abc", 0, 12))}


def open_end(random):
    stops = [text(random, "ab", 2, 4) for _ in range(random.randint(1, 2))]
    begun = pieces(random, text(random, "abc", 0, 5) + stops[0][:-1])
    return {"stops": stops, "pieces": begun, "again": pieces(random, stops[0][1:] + text(random, "ab", 0, 3))}


FIRST = {
    "advance": [
        {"stops": ["aab"], "pieces": ["aaab"]},
        {"stops": ["abab"], "pieces": ["aab", "abc"]},
    ],
    "push": [
        {"stops": [" green. The"], "pieces": ["It is", " green", ".", " The", " rest"]},
        {"stops": ["bc", "abc"], "pieces": ["xabcx"]},
    ],
    "finish": [
        {"stops": ["stop"], "pieces": ["do not st"]},
        {"stops": ["b"], "pieces": ["abc"]},
        {"stops": ["stop"], "pieces": ["do not st"], "again": ["op"]},
    ],
}
RANDOM = {"advance": one_stop, "push": several_stops, "finish": open_end}
