"""The file that a student begins with: the project's own source, in which the bodies of the functions
of the tasks are left out. There is one source of truth, and a function that is renamed is missed."""

import re
import sys
import textwrap

import findings
from lab import ROOT

sys.path.insert(0, str(ROOT / "book/tool"))
import listings  # noqa: E402  the book shows functions by the same names

BODY = re.compile(r"\{(?!\})")  # `{}` is a parameter's default


def without_bodies(lab, tasks, source, variant=None):
    """`source` with FORGE_LAB_TODO in the place of what these tasks ask for; a variant says what is
    asked for instead of what the header says."""
    lines = source.rstrip("\n").split("\n")
    for task in tasks:
        found = [at for at in range(len(lines)) if listings.begins(lines, at, task.function)]
        if len(found) != 1:
            raise listings.NotFound(f"{lab.source}: {task.function} is there {len(found)} times")
        begin, end = found[0], listings.end_of(lines, found[0])
        head = lines[begin : end + 1]
        opened = [(at, BODY.search(line)) for at, line in enumerate(head)]
        opening, brace = next((at, brace) for at, brace in opened if brace)
        before = [*head[:opening], head[opening][: brace.end()]]
        lines[begin : end + 1] = [*before, f"  FORGE_LAB_TODO({task.name});", "}"]
        if variant and task.name == variant.head["task"]:
            rule = textwrap.wrap("Here, unlike in the header: " + variant.head["says"], 96)
            lines[begin:begin] = [f"/// {line}" for line in rule]
    return "\n".join(['#include "todo.h"', "", *lines]) + "\n"


def starter(lab, variant=""):
    if lab.kind == "findings":
        return findings.starter((ROOT / lab.source).read_text())
    rule = lab.variant(variant) if variant else None
    return without_bodies(lab, lab.tasks, (ROOT / lab.source).read_text(), rule)
