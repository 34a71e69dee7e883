"""Texts of two letters in blocks of one to three, so that prefixes are shared, part, and meet again."""

NO_LIMIT = 0  # of unused blocks


def text(random, shortest, longest):
    return "".join(random.choice("aab") for _ in range(random.randint(shortest, longest)))


def changed(random, of):
    """A text that begins as this one does, as a rule."""
    if not of:
        return of
    at = random.randrange(len(of))
    return random.choice([of, of[: at + 1], of + text(random, 1, 3), of[:at] + "c" + of[at + 1 :]])


def sequences(random, block_size, whole, salts=(0,)):
    """The first blocks of each are published; all full ones, if `whole`."""
    texts = [text(random, 1, 7)]
    for _ in range(random.randint(1, 3)):
        texts.append(changed(random, random.choice(texts)))
    chosen = []
    for of in texts:
        full = len(of) // block_size
        chosen.append([of, full if whole else random.randint(0, full), random.choice(salts)])
    return chosen


def world(random, block_size, its_sequences, unused_max, calls):
    blocks = sum(-(-len(of) // block_size) for of, _, _ in its_sequences) + random.randint(0, 2)
    return {"blocks": blocks, "block_size": block_size, "unused_max": unused_max, "sequences": its_sequences, "calls": calls}


def matches(random):
    block_size = random.choice([1, 2, 2, 3])
    there = sequences(random, block_size, True, (0, 0, 7))
    calls = []
    for _ in range(random.randint(1, 4)):
        of, _, salt = random.choice(there)
        calls.append({"match": [changed(random, of), random.choice([salt, salt, salt, 7])]})
    return world(random, block_size, there, NO_LIMIT, calls)


def releases(random):
    block_size = random.choice([1, 2, 2, 3])
    there = sequences(random, block_size, random.random() < 0.7)
    calls, pins = [], 0
    left = list(range(1, len(there) + 1))
    random.shuffle(left)
    while left:
        what = random.choice(["free", "free", "pin", "unpin"])
        if what == "free":
            calls.append({"free": [left.pop()]})
        elif what == "pin" and pins < 2:
            calls.append({"pin": [random.choice(left)]})
            pins += 1
        elif what == "unpin" and pins:
            calls.append({"unpin": []})
            pins -= 1
    return world(random, block_size, there, random.choice([1, 1, 2, 3, NO_LIMIT, NO_LIMIT]), calls + [{"unpin": []}] * pins)


def needs(random):
    block_size = random.choice([1, 2, 3])
    there = sequences(random, block_size, True)
    calls = []
    for _ in range(random.randint(2, 4)):
        seq = random.randint(1, len(there))
        full = there[seq - 1][1]
        shared = random.randint(0, full)
        copied = random.randint(0, 1) if shared < full else 0
        tokens = (shared + copied) * block_size + random.randint(0, 4)
        calls.append({"needed": [seq, shared, copied, tokens]})
        calls.append({"free": [random.randint(1, len(there))]})
    return world(random, block_size, there, NO_LIMIT, calls)


def publications(random):
    block_size = random.choice([1, 2, 2, 3])
    there = sequences(random, block_size, False, (0, 0, 0, 7))
    calls = []
    for _ in range(random.randint(1, 5)):
        seq = random.randint(1, len(there))
        publish = {"publish": [seq, random.randint(0, len(there[seq - 1][0]))]}
        calls.append(random.choice(6 * [publish] + [{"publish": [seq, len(there[seq - 1][0])]}, {"free": [seq]}, {"clear": []}]))
    return world(random, block_size, there, NO_LIMIT, calls)


def describe(case):
    limit = f", at most {case['unused_max']} unused" if case["unused_max"] != NO_LIMIT else ""
    lines = [f"{case['blocks']} blocks{limit}; slots of a block: {case['block_size']}"]
    for number, (of, published, salt) in enumerate(case["sequences"], 1):
        salted = f", salt {salt}" if salt else ""
        lines.append(f"sequence {number} has '{of}', {published} blocks of it published{salted}")
    calls = [" ".join([name, *map(str, values)]) for call in case["calls"] for name, values in call.items()]
    return [*lines, *("; ".join(calls[at : at + 6]) for at in range(0, len(calls), 6))]


def case(blocks, block_size, its_sequences, *calls, unused_max=NO_LIMIT):
    return {"blocks": blocks, "block_size": block_size, "unused_max": unused_max, "sequences": its_sequences, "calls": list(calls)}


def match(of, salt=0):
    return {"match": [of, salt]}


def publish(seq, valid):
    return {"publish": [seq, valid]}


def free(seq):
    return {"free": [seq]}


FIRST = {
    "match_prefix": [
        case(8, 2, [["abcde", 2, 0]], match("abcdef"), match("abxx"), match("xbcd")),
        case(8, 2, [["abcd", 2, 0]], match("abcd"), match("abc"), match("ab")),
        case(8, 1, [["ab", 2, 0]], match("ab"), match("abc")),
        case(8, 2, [["abcd", 2, 7]], match("abcde"), match("abcde", 7)),
        case(8, 2, [["abcd", 2, 0], ["cdab", 2, 0]], match("abcdab"), match("cdcdab")),
    ],
    "release": [
        case(4, 2, [["abcde", 2, 0]], free(1)),
        case(6, 2, [["abcd", 2, 0], ["abxy", 2, 0]], free(1), free(2)),
        case(4, 2, [["abcdef", 3, 0]], free(1), unused_max=1),
        case(4, 2, [["abcd", 2, 0]], {"pin": [1]}, free(1), {"unpin": []}),
    ],
    "blocks_needed": [
        case(6, 2, [["abcd", 2, 0]], {"needed": [1, 2, 0, 5]}),
        case(6, 2, [["abcd", 2, 0]], free(1), {"needed": [1, 2, 0, 5]}),
        case(6, 2, [["abcd", 2, 0]], {"needed": [1, 1, 1, 4]}, free(1), {"needed": [1, 1, 1, 4]}),
    ],
    "publish": [
        case(6, 2, [["abcde", 0, 0]], publish(1, 5)),
        case(6, 2, [["abcdef", 0, 0]], publish(1, 3), publish(1, 4)),
        case(6, 2, [["abcd", 0, 0], ["abcd", 0, 0]], publish(1, 4), publish(2, 4)),
        case(6, 2, [["abcd", 2, 0], ["abcd", 0, 0]], free(1), publish(2, 4)),
        case(6, 2, [["abcd", 1, 0]], {"clear": []}, publish(1, 4)),
        case(6, 2, [["abcd", 0, 7], ["abcd", 0, 0]], publish(1, 4), publish(2, 4)),
    ],
}
RANDOM = {"match_prefix": matches, "release": releases, "blocks_needed": needs, "publish": publications}
