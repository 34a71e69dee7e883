"""Few slots and more requests than slots, so that places are waited for; some answers end early."""


def request(step, prompt, new, eos=0):
    return {"step": step, "prompt": prompt, "new": new, "eos": eos}


def submissions(random):
    """A slot for each."""
    requests = [request(0, random.randint(1, 9), random.randint(1, 4)) for _ in range(random.randint(1, 3))]
    return {"slots": 3, "steps": random.randint(1, 6), "requests": requests}


def arrivals(random):
    step, requests = 0, []
    for _ in range(random.randint(2, 7)):
        step += random.choice([0, 0, 0, 1, 2])
        requests.append(request(step, random.randint(1, 6), random.randint(1, 5), random.choice([0, 0, 0, 1, 2])))
    return {"slots": random.randint(1, 3), "steps": random.randint(4, 14), "requests": requests}


def ends(random):
    """A slot for each; some are ended by the model, some by their length, some by both."""
    requests = [request(0, random.randint(1, 3), random.randint(1, 4), random.randint(0, 5)) for _ in range(random.randint(1, 5))]
    return {"slots": 5, "steps": 7, "requests": requests}


def describe(case):
    lines = [f"slots: {case['slots']}, steps: {case['steps']}"]
    for number, of in enumerate(case["requests"], 1):
        eos = f", of which number {of['eos']} is the end of the sequence" if of["eos"] else ""
        lines.append(f"request {number} comes before step {of['step']}: {of['prompt']} + {of['new']} tokens{eos}")
    return lines


THREE = [request(0, 3, 8), request(0, 2, 3), request(0, 4, 6)]

FIRST = {
    "submit": [
        {"slots": 1, "steps": 1, "requests": [request(0, 3, 8)]},
        {"slots": 2, "steps": 4, "requests": [request(0, 3, 2), request(0, 2, 1)]},
    ],
    "step": [
        {"slots": 2, "steps": 2, "requests": [request(0, 3, 8)]},
        {"slots": 2, "steps": 11, "requests": THREE},
        {"slots": 1, "steps": 3, "requests": [request(0, 1, 1), request(1, 2, 1)]},
    ],
    "finish_step": [
        {"slots": 1, "steps": 4, "requests": [request(0, 3, 2)]},
        {"slots": 1, "steps": 4, "requests": [request(0, 3, 4, 2)]},
        {"slots": 1, "steps": 4, "requests": [request(0, 3, 2, 2)]},
        {"slots": 3, "steps": 5, "requests": [request(0, 1, 1), request(0, 1, 3), request(0, 1, 2, 1)]},
    ],
}
RANDOM = {"submit": submissions, "step": arrivals, "finish_step": ends}
