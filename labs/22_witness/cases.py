"""Runs, half of them changed afterwards (spoiling.h), and those of schedulers with a bug of the museum (runs)."""

import json
import pathlib

HERE = pathlib.Path(__file__).resolve().parent
MUSEUM = HERE.parents[1] / "property_tests/museum"
LEVELS = ("low", "normal", "high")


def text(draw, most, letters="aab"):
    return "".join(draw.choice(letters) for _ in range(draw.randint(1, most)))


def prompts(draw, count, most):
    """Many begin as another one does."""
    texts = [text(draw, most)]
    while len(texts) < count:
        begin = draw.choice(texts)
        cut = begin[: draw.randint(1, len(begin))] + text(draw, 2)
        texts.append(draw.choice([begin, begin, cut[:most], cut[:most], text(draw, most)]))
    return texts


def request(prompt, new, **others):
    return {"prompt": prompt, "new": new, **others}


def steps_of(draw, requests, at_once, drafts, cancels):
    """They come in a few steps, so many at once."""
    steps = []
    while requests:
        count = draw.choice(at_once)
        steps.append({"submit": requests[:count]} if count else {})
        requests = requests[count:]
    steps += [{} for _ in range(draw.randint(0, 6))]
    for step in steps:
        if draw.random() < 0.03:
            step["clear"] = True
        if draw.random() < drafts:
            step["drafts"] = draw.randint(1, 3)
        if draw.random() < cancels:
            step["cancel"] = [draw.randint(1, 6)]
    return steps


def schedule(
    draw,
    *,
    least=1,
    count=5,
    most=7,
    new=5,
    spare=5,
    at_once=(0, 1, 1, 2, 3),
    priorities=("normal",),
    salts=(0,),
    cache=0.7,
    drafts=0.0,
    cancels=0.05,
    **settings,
):
    """From `least` to `count` requests, prompts of up to `most` tokens, and up to `spare` blocks more than
    the longest request takes: mostly so few that somebody has to give way."""
    block_size = draw.choice([1, 2, 2, 3])
    prefix_cache = draw.choice(["radix", "hash"]) if draw.random() < cache else "none"
    requests = []
    for prompt in prompts(draw, draw.randint(least, count), most):
        each = request(prompt, draw.randint(1, new))
        priority, salt = draw.choice(priorities), draw.choice(salts)
        if priority != "normal":
            each["priority"] = priority
        if salt:
            each["salt"] = salt
        if prefix_cache != "none" and draw.random() < 0.1:
            each["session"] = draw.randint(1, 2)
        elif prefix_cache != "none" and draw.random() < 0.1:
            each["cached"] = False
        requests.append(each)
    longest = max(len(each["prompt"]) + each["new"] for each in requests)
    return {
        "blocks": -(-longest // block_size) + draw.randint(0, spare),
        "block_size": block_size,
        "batch": draw.randint(1, 5),
        "tokens": draw.choice([5, 8, 16, 64]),
        "chunk": draw.choice([1, 2, 4, 64]),
        "preemption": draw.choice(["recompute", "swap", "auto"]),
        "host_blocks": draw.randint(0, 6),
        "swap_cost": [draw.randint(0, 2), draw.randint(0, 1)],
        "prefix_cache": prefix_cache,
        **settings,
        "steps": steps_of(draw, requests, at_once, drafts, cancels),
    }


def spoilt(draw, case, **values):
    """Changed afterwards, as a rule, in one of these ways; each with the values that are put in."""
    if draw.random() < 0.75:
        way = draw.choice(list(values))
        case["spoil"] = {way: [draw.randrange(40), draw.choice(values[way])]}
    return case


def of_slices(draw):
    case = schedule(draw, drafts=draw.choice([0, 0.8]))
    few = range(4)
    return spoilt(draw, case, first=range(8), count=few, drafts=[1, 2], more_drafts=[1, 2], samples=[0], cached=few)


def of_tables(draw):
    case = schedule(draw, least=2, cache=0.9, drafts=draw.choice([0, 0.5]), salts=(0, 0, 0, 1))
    places = range(8)
    if draw.random() < 0.6:
        return spoilt(draw, case, block=places)
    return spoilt(draw, case, places=places, salt=[0, 1], use=[0], token=places)


def of_writes(draw):
    case = schedule(draw, least=2, cache=0.9, drafts=draw.choice([0, 0.5]))
    places = range(8)
    return spoilt(draw, case, block=places, places=places, first=places, count=range(2, 5), more_drafts=[1, 2, 3])


def of_hits(draw):
    case = schedule(draw, least=2, cache=0.95, salts=(0, 0, 1), spare=8)
    if draw.random() < 0.6:
        return spoilt(draw, case, cached=range(8))
    return spoilt(draw, case, salt=[0, 1], use=[0], token=range(3))


def of_progress(draw):
    case = schedule(draw, least=2, most=3, new=8, spare=2, cache=0.3, cancels=0.2, batch=5)
    return spoilt(draw, case, idle=[0], preempted=range(1, 5), finished=range(3))


def of_order(draw):
    case = schedule(
        draw,
        least=3,
        count=8,
        most=3,
        at_once=(0, 2, 3, 4),
        priorities=LEVELS,
        cancels=0.3,
        batch=draw.randint(1, 2),
        head_start=draw.randint(1, 4),
    )
    return spoilt(draw, case, priority=range(3), head_start=[0, 1, 3, 5, 9], arrival=range(2, 9))


def of_swaps(draw):
    case = schedule(
        draw,
        least=3,
        count=6,
        most=3,
        new=9,
        spare=3,
        at_once=(2, 3),
        cancels=0.2,
        batch=5,
        preemption=draw.choice(["swap", "swap", "swap", "auto", "recompute"]),
    )
    return spoilt(draw, case, mode=[0], host=range(6), cached=range(6))


RANDOM = {
    "slices": of_slices,
    "tables": of_tables,
    "writes": of_writes,
    "hits": of_hits,
    "progress": of_progress,
    "order": of_order,
    "swaps": of_swaps,
}


def recorded(name):
    """A run of a scheduler with a bug. In a tuple, so that it is not made smaller: it is what it is."""
    return {"run": (json.loads((HERE / "runs" / f"{name}.json").read_text()), name)}


def run(*steps, **settings):
    """Of the project's own scheduler. A list is of requests that come before the step."""
    return {**settings, "steps": [{"submit": step} if isinstance(step, list) else step for step in steps]}


def changed(case, way, place, value=0):
    return {**case, "spoil": {way: [place, value]}}


CHUNKS = run([request("abcde", 3)], blocks=4, block_size=2, chunk=2)
DRAFTS = run({"submit": [request("abc", 9)], "drafts": 2}, {"drafts": 1}, {"drafts": 2}, blocks=6, block_size=2)
TWO = run([request("ab", 4), request("cd", 4)], blocks=6, block_size=1)
THREE = run([request("ab", 5), request("cd", 5), request("ef", 5)], blocks=8, block_size=1)
GONE = run([request("ab", 5), request("cd", 5)], {}, {}, {"cancel": [2]}, [request("ef", 5), request("gh", 5)], blocks=7, block_size=1, preemption="swap", host_blocks=3)
SWAPPED = {**TWO, "preemption": "swap", "host_blocks": 3}
CACHED = run([request("abcd", 1)], [request("abcx", 2)], blocks=8, block_size=2, prefix_cache="radix")
SHARED = run([request("abcde", 4)], [request("abcdf", 3)], blocks=8, block_size=2, prefix_cache="radix")
WHOLE = run([request("abcd", 4)], [request("abcd", 3)], blocks=8, block_size=2, prefix_cache="radix")
SALTED = run([request("abcd", 3, salt=1)], [request("abce", 3), request("abcf", 3, salt=1)], blocks=8, block_size=2, prefix_cache="radix")
COMES_BACK = run([request("abc", 5), request("def", 5)], blocks=5, block_size=2, prefix_cache="radix")
# 2 and 3 compute the same block; that of 3 is given up in step 2 and 2 has it in step 3, but 3 has no
# slice there, so its plan does not say so before step 4.
TWICE = run(
    [request("ba", 3)],
    [request("aa", 3), request("aaa", 1)],
    {"drafts": 1},
    blocks=5,
    block_size=2,
    batch=3,
    tokens=3,
    chunk=1,
    prefix_cache="radix",
)
QUEUE = run([request("a", 3), *(request("b", 2, priority=level) for level in LEVELS)], blocks=9, block_size=1, batch=1, head_start=2)
ALIKE = run([request("a", 3), request("b", 2), request("c", 2)], [request("d", 2)], blocks=9, block_size=1, batch=2)
# 2 gives way, and 3, which is urgent, comes in before it comes back.
OVERTAKES = run([request("ab", 4), request("cd", 4)], {}, [request("e", 2, priority="high")], blocks=6, block_size=1)

FIRST = {
    "slices": [
        CHUNKS,
        recorded("chunk_forgotten"),
        CACHED,
        recorded("whole_prompt_cached"),
        recorded("slice_from_before_the_hit"),
        DRAFTS,
        changed(DRAFTS, "more_drafts", 2, 1),
        recorded("stale_drafts_after_preemption"),
        TWO,
        SWAPPED,
        changed(CHUNKS, "samples", 1),
        changed(CHUNKS, "drafts", 1, 1),
    ],
    "tables": [
        TWO,
        changed(TWO, "block", 2, 0),
        SHARED,
        recorded("double_free_after_preemption_and_hit"),
        changed(SHARED, "token", 1, 1),
        changed(SHARED, "places", 1, 0),
        changed(SHARED, "use", 1),
        SALTED,
        recorded("salt_left_out"),
        changed(TWO, "block", 1, 0),
        changed(run([request("abcd", 2), request("xycd", 2)], blocks=8, block_size=2, prefix_cache="radix"), "block", 3, 1),
        TWICE,
    ],
    "writes": [
        TWO,
        SHARED,
        changed(SHARED, "block", 5, 2),
        WHOLE,
        recorded("shared_block_written"),
        recorded("published_before_commit"),
        recorded("slice_from_before_the_hit"),
        recorded("stale_drafts_after_preemption"),
    ],
    "hits": [
        TWO,
        SHARED,
        CACHED,
        changed(CACHED, "cached", 1, 3),
        changed(TWO, "cached", 1, 1),
        recorded("published_before_commit"),
        SALTED,
        recorded("salt_left_out"),
        changed(SHARED, "use", 1),
        COMES_BACK,
        changed(COMES_BACK, "cached", 2, 4),
        SWAPPED,
    ],
    "progress": [
        CHUNKS,
        recorded("lost_wakeup"),
        changed(TWO, "idle", 3),
        recorded("preemption_livelock"),
        TWO,
        THREE,
        changed(CHUNKS, "preempted", 2, 1),
        changed(TWO, "preempted", 1, 2),
        changed(run([request("a", 3), *[request("bc", 2)] * 2], blocks=9, block_size=1, chunk=1), "preempted", 1, 3),
    ],
    "order": [
        ALIKE,
        QUEUE,
        recorded("priority_inversion_at_the_batch_cap"),
        changed(QUEUE, "head_start", 0, 0),
        changed(QUEUE, "head_start", 0, 9),
        TWO,
        OVERTAKES,
        changed(OVERTAKES, "priority", 2, 0),
        run([request("a", 3), request("b", 2)], {"cancel": [2]}, blocks=9, block_size=1, batch=1),
    ],
    "swaps": [
        SWAPPED,
        changed(SWAPPED, "mode", 0),
        TWO,
        changed(TWO, "mode", 0),
        {**SWAPPED, "host_blocks": 2},
        changed(SWAPPED, "host", 0, 2),
        changed(SWAPPED, "cached", 2, 2),
        {**THREE, "preemption": "swap", "host_blocks": 4},
        GONE,
        recorded("host_blocks_kept_after_swap_in"),
        recorded("aborted_while_swapped"),
    ],
}

CHANGES = {
    "first": "a slice begins at {value}",
    "count": "a slice has {value} tokens",
    "drafts": "{value} of the tokens of a slice are called drafts",
    "more_drafts": "a slice has {value} drafts more",
    "samples": "a slice samples that did not, or the other way round",
    "idle": "a step runs nothing",
    "block": "a table has block {value} in the place of another",
    "places": "two blocks of a table have changed places",
    "cached": "an admission says that {value} tokens are cached",
    "mode": "who was swapped is dropped, or the other way round",
    "preempted": "a step preempts {value} of those that run in it",
    "finished": "somebody is retired {value} + 1 steps later",
    "salt": "{seq} has salt {value}",
    "use": "{seq} does without the prefix cache",
    "token": "{seq} has z at place {value} of its prompt",
    "priority": "{seq} has {level} priority",
    "arrival": "{seq} comes {value} steps earlier",
    "host": "there are {value} host blocks",
    "head_start": "head_start is {value}",
}


def request_in_words(seq, each):
    words = [f"'{each['prompt']}'", f"{each['new']} new"]
    words += [f"{each['priority']} priority"] if each.get("priority", "normal") != "normal" else []
    words += [f"{name} {each[name]}" for name in ("salt", "session") if name in each]
    words += ["no prefix cache"] if not each.get("cached", True) else []
    return f"{seq} comes ({', '.join(words)})"


def change_in_words(case):
    requests = [each for step in case["steps"] for each in step.get("submit", [])]
    for way, (place, value, *_) in ((way, [*numbers, 0, 0]) for way, numbers in case.get("spoil", {}).items()):
        seq = place % len(requests) if requests else 0
        if way == "token" and requests:
            value %= len(requests[seq]["prompt"]) or 1
        yield "  changed afterwards: " + CHANGES[way].format(seq=seq + 1, value=value, level=LEVELS[value % 3])


def title_of(exhibit):
    return (MUSEUM / f"{exhibit}.exhibit").read_text().split("\n")[0].removeprefix("title: ")


def describe(case):
    whose = "  a run of the project's own scheduler"
    if "run" in case:
        case, exhibit = case["run"]
        whose = f"  a run of the exhibit {exhibit}: {title_of(exhibit)}"
    settings = [f"{name} {value}" for name, value in case.items() if name not in ("steps", "spoil", "plans", "until")]
    lines, seq = [whose, *change_in_words(case), "  " + ", ".join(settings)], 0
    for at, step in enumerate(case["steps"]):
        events = []
        for each in step.get("submit", []):
            seq += 1
            events.append(request_in_words(seq, each))
        events += [f"{gone} is cancelled" for gone in step.get("cancel", [])]
        events += ["the prefix cache is cleared"] if step.get("clear") else []
        if step.get("drafts"):
            events.append(f"{step['drafts']} drafts are kept, then offered")
        if events:
            lines.append(f"  before step {at}: " + "; ".join(events))
    return lines
