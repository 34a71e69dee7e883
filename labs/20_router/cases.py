"""Stories of a few requests whose prompts begin alike, in letters, with small blocks."""

RULES = ["turn", "load", "prefix", "both"]


def stores(replica, text, salt=0):
    return {"replica": replica, "stores": text, "salt": salt}


def forgets(replica, text, salt=0):
    return {"replica": replica, "forgets": text, "salt": salt}


def send(text, new=2, salt=0):
    return {"send": text, "new": new, "salt": salt}


def asks(text, salt=0):
    return {"asks": text, "salt": salt}


def story(rule, steps, replicas=2, block_size=2):
    return {"rule": rule, "block_size": block_size, "replicas": replicas, "steps": steps}


def text(random, longest):
    """Few different ones, of which many begin alike."""
    return ("aaaa" + random.choice(["", "bb", "bbcc"]) + "".join(random.choice("ab") for _ in range(longest)))[
        : random.randint(1, longest)
    ]


def cache_story(random, block_size, salts):
    steps = []
    for _ in range(random.randint(1, 4)):
        salt = random.choice(salts)
        known = text(random, 9)
        steps.append(stores(random.randrange(2), known, salt))
        if len(known) > block_size and random.random() < 0.5:
            whole = len(known) // block_size
            gone = known[: block_size * random.randint(1, whole)]
            steps.append(forgets(steps[-1]["replica"], gone, salt))
        if random.random() < 0.6:
            steps.append(asks(known[: random.randint(1, len(known))] + random.choice(["", "a", "ab"]), random.choice(salts)))
    steps.append(asks(text(random, 9), random.choice(salts)))
    return story("load", steps, block_size=block_size)


def names(random):
    return cache_story(random, random.randint(1, 3), [0, 0, 7])


def caches(random):
    return cache_story(random, random.randint(1, 3), [0])


def requests(random, rules=RULES):
    replicas = random.randint(2, 4)
    steps, running, sent = [], [], 0
    steps += [stores(at, text(random, 8)) for at in random.sample(range(replicas), 2)]
    for _ in range(random.randint(3, 9)):
        kind = random.choice(["send", "send", "send", "stores", "end"])
        if kind == "stores":
            steps.append(stores(random.randrange(replicas), text(random, 8)))
        elif kind == "end" and running:
            steps.append({"end": running.pop(random.randrange(len(running)))})
        else:
            steps.append(send(text(random, 8), new=random.choice([1, 2, 2, 4, 8])))
            running.append(sent)
            sent += 1
    return story(random.choice(rules), steps, replicas, random.choice([1, 2]))


def comparisons(random):
    return requests(random, RULES[1:])


FIRST = {
    "hashes_of": [
        story("load", [stores(0, "abcd"), asks("abcdx")]),
        story("load", [stores(0, "abcd"), asks("abxd")]),
        story("load", [stores(0, "abab"), stores(1, "xyab"), asks("ababab")]),
        story("load", [stores(0, "abcd", salt=7), asks("abcdx"), asks("abcdx", salt=7)]),
    ],
    "cached_tokens": [
        story("load", [stores(0, "abcd"), asks("abcdx")]),
        story("load", [stores(0, "abcd"), asks("abcd")]),
        story("load", [stores(0, "abcdef"), forgets(0, "abcd"), asks("abcdefx")]),
    ],
    "is_better": [
        story("load", [send("abc"), send("ab"), send("ab"), send("a")]),
        story("prefix", [stores(1, "ab"), send("abc"), send("abc"), send("xy")]),
        story("prefix", [stores(0, "abcd"), stores(1, "abcdef"), send("abcdefx"), send("abcdex")]),
        story("both", [stores(1, "ab"), send("abc", new=1), send("abc", new=1), send("abc", new=1)]),
        story("both", [stores(1, "abcd"), send("abcdx", new=9), send("abcdx", new=1)]),
    ],
    "send": [
        story("load", [send("abc", new=4)]),
        story("turn", [send("a"), send("ab"), send("abc")]),
        story("prefix", [stores(1, "ab"), send("abc"), send("abc")]),
        story("load", [send("abc"), {"end": 0}, send("ab"), send("a")]),
    ],
}
RANDOM = {"hashes_of": names, "cached_tokens": caches, "is_better": comparisons, "send": requests}


def describe(case):
    said = [f"rule {case['rule']}; replicas: {case['replicas']}; tokens of a block: {case['block_size']}"]
    count = 0
    for step in case["steps"]:
        salt = f", salt {step['salt']}" if step.get("salt") else ""
        if "stores" in step:
            said.append(f"  replica {step['replica']} stores the blocks of \"{step['stores']}\"{salt}")
        elif "forgets" in step:
            said.append(f"  replica {step['replica']} forgets the last block of \"{step['forgets']}\"{salt}")
        elif "send" in step:
            said.append(f"  request {count} comes: \"{step['send']}\", new tokens: {step['new']}{salt}")
            count += 1
        elif "end" in step:
            said.append(f"  request {step['end']} ends")
        else:
            said.append(f"  who has \"{step['asks']}\"?{salt}")
    return said
