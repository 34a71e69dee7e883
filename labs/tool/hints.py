"""Which mistake was made? The planted mistakes of a lab (its folder mistakes) have been asked the first
cases of their task, and what they answered wrongly is kept, as digests, in answers.json. What a student
answers is held to that: the hint is that of the mistake that answers most alike."""

import hashlib
import json
import re


ALIKE = 0.3  # from here on a mistake is taken for the one that was made


def digest(answer):
    # Of how it ended, what does not depend on where: no path, no number.
    text = re.sub(r"\S*/\S*|\d+", "", answer["died"]) if "died" in answer else json.dumps(answer, sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:8]


def fingerprint(wrong):
    return {str(number): digest(answer) for number, answer in wrong.items()}


def likeness(a, b):
    """From 0 to 1: the share of the wrong answers that both gave."""
    common = sum(1 for number in a if b.get(number) == a[number])
    return common / len(a.keys() | b.keys())


def known_answers(lab):
    path = lab.folder / "answers.json"
    return json.loads(path.read_text()) if path.exists() else {}


def mistake_of(lab, task, wrong):
    """The name of the planted mistake that is most like these wrong answers, or none."""
    given = fingerprint(wrong)
    scores = {name: likeness(given, known) for name, known in known_answers(lab).get(task.name, {}).items() if given}
    best = max(scores, key=scores.get, default=None)
    return best if best is not None and scores[best] >= ALIKE else None


def hint_of(lab, task, wrong):
    name = mistake_of(lab, task, wrong)
    return lab.exhibits("mistakes")[name].head["hint"] if name else None
