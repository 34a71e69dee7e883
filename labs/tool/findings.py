"""A lab of findings: there is nothing to compile. Each task is a scheduler with a bug (an exhibit of
property_tests/museum), and its finding a list of events that breaks a promise there and none in the
project's own scheduler. The file has a finding a task:

    {"a": {"promise": "invariant 2", "config": {...}, "requests": [...], "events": ["submit 1", ...]}, ...}

A task has three points: a promise is broken, it is the one that is named, and it took at most EVENTS
events.
"""

import builder
import json

from program import Program

EVENTS = 12


class Unreadable(Exception):
    pass


def starter(source):
    findings = json.loads(source)
    for finding in findings.values():
        finding.update(promise="", events=[])
    return to_text(findings)


def to_text(findings):
    parts = []
    for name, finding in findings.items():
        members = [f"    {json.dumps(key)}: {json.dumps(value)}" for key, value in finding.items()]
        parts.append(f"  {json.dumps(name)}: {{\n" + ",\n".join(members) + "\n  }")
    return "{\n" + ",\n".join(parts) + "\n}\n"


def program_of(lab, task):
    """With the bug of a task; without any, if there is no task."""
    return builder.own_program(lab, suffix=f"_{task.name}" if task else "")


def read(lab, path):
    try:
        findings = json.loads(path.read_text())
    except ValueError as error:
        raise Unreadable(f"{path} is not JSON: {error}") from error
    if not isinstance(findings, dict):
        raise Unreadable(f"{path} must be an object with a finding for each of {', '.join(t.name for t in lab.tasks)}")
    return findings


class Outcome:
    """Of one finding: its points, what is said of it, and the lines of both runs."""

    def __init__(self, task, points, said, hint=None, bug=None, own=None):
        self.task, self.points, self.said, self.hint = task, points, said, hint
        self.bug, self.own = bug, own


def judge(lab, task, findings, started=None):
    """`started` makes a Program of a task, with its bug, and of none; otherwise they are the lab's own."""
    started = started or (lambda which: Program([program_of(lab, which)]))
    finding = findings.get(task.name)
    if not isinstance(finding, dict) or not finding.get("events"):
        return Outcome(task, 0, "not begun")
    with started(task) as program:
        bug = program.ask("play", finding)
    with started(None) as program:
        own = program.ask("play", finding)
    bug, own = bug.get("answer", {"lines": [str(bug)]}), own.get("answer", {"lines": [str(own)]})
    if "events" not in own:  # which does not depend on the bug
        return Outcome(task, 0, f"it cannot be played: {own['lines'][-1]}", hints_of("unplayable"), bug, own)
    if own["broken"]:
        return Outcome(task, 0, f"breaks {own['broken']} in the project's own scheduler, too", hints_of("own"), bug, own)
    if "events" not in bug:
        return Outcome(task, 0, f"it cannot be played: {bug['lines'][-1]}", hints_of("unplayable"), bug, own)
    if not bug["broken"]:
        return Outcome(task, 0, "breaks no promise", hints_of("nothing"), bug, own)
    points, said, hint = 1, [f"breaks {bug['broken']} after {bug['events']} events"], None
    if bug["broken"] == finding.get("promise"):
        points += 1
    else:
        said.append(f"not the promise that is named, '{finding.get('promise')}'")
        hint = hints_of("promise")
    if bug["events"] <= EVENTS:
        points += 1
    else:
        said.append(f"more than {EVENTS}")
        hint = hint or hints_of("long")
    return Outcome(task, points, ", ".join(said), hint, bug, own)


def hints_of(kind):
    return {
        "unplayable": "an event must be able to happen when its turn comes: a step is scheduled, then committed",
        "own": "what breaks a promise in the project's own scheduler is a bug of that one, and would be news; "
        "look whether a FORGE_CHECK says what was asked wrongly",
        "nothing": "both schedulers do the same, or the difference breaks nothing yet: compare their plans, and go on "
        "from the first one that differs",
        "promise": "the promise is what stands before the colon in what is said: read it up, and say why it fell",
        "long": "leave events out, one after the other, as long as the promise still falls",
    }[kind]


def lines_of(outcome):
    """Both runs, from the first line in which they differ, or the last ones."""
    if outcome.bug is None:
        return []
    bug, own = outcome.bug["lines"], outcome.own["lines"]
    alike = 0
    while alike < min(len(bug), len(own)) and bug[alike] == own[alike]:
        alike += 1
    return [
        *(f"             {line}" for line in own[max(0, alike - 6) : alike]),
        *(f"  with bug   {line}" for line in bug[alike:][:3]),
        *(f"  without    {line}" for line in own[alike:][:3]),
    ]
