"""What a check prints: a line a task, and for one that fails the smallest case, yours and the expected
answer side by side."""

import json
import textwrap

WIDTH = 100
SHOWN = 12  # lines of an answer


def lines_of(value):
    """An answer as lines: a list a line each, anything else as JSON."""
    if isinstance(value, list) and all(isinstance(line, str) for line in value):
        return value
    if isinstance(value, dict):
        return [f"{name}: {line}" for name, member in value.items() for line in lines_of(member)]
    return textwrap.wrap(json.dumps(value, ensure_ascii=False), WIDTH) or [""]


def of_got(got):
    return lines_of(got["answer"]) if "answer" in got else [f"({got['died']})"]


def side_by_side(got, expected):
    """Equal lines once, then what differs: yours, and what was expected."""
    yours, right = of_got(got), lines_of(expected)
    alike = 0
    while alike < min(len(yours), len(right)) and yours[alike] == right[alike]:
        alike += 1
    shown = [f"             {line}" for line in right[max(0, alike - SHOWN) : alike]]
    if alike > SHOWN:
        shown.insert(0, f"             ({alike - SHOWN} lines alike)")
    for name, lines in (("yours", yours[alike:]), ("expected", right[alike:])):
        shown.append(f"  {name:<9}  {lines[0] if lines else '(nothing more)'}")
        if name == "expected" and len(lines) > 1:
            shown.append(f"             (and {len(lines) - 1} lines more)")
    return shown


def of_case(case):
    return [f"  {name:<9}  {json.dumps(value, ensure_ascii=False)}" for name, value in case.items()]


def difference(found, describe=None):
    """`describe`, of cases.py, says a case in lines; otherwise its members are shown."""
    lines = describe(found.case) if describe else of_case(found.case)
    shrunk = "" if found.case == found.original else ", shrunk"
    return [f"case {found.at}{shrunk}:", *("  " + line for line in lines), *side_by_side(found.got, found.expected)]


def count(number, what):
    return f"{number} {what}" if number == 1 else f"{number} {what}s"


def task_line(task, points, said):
    return f"{task.place:>6} {task.name:<18} {points}/{task.points}   {said}"


def indented(lines):
    return "\n".join("         " + line for line in lines)
