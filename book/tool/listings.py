"""Code that pages show: a function or a type, found by its name, an entry of a table, found by its
beginning, or a whole file. Of functions that share a name, f(int a, int b) is the one whose parameters
begin so.

The sources are formatted, so what begins in the first column ends with the next line that closes a
brace there. Nothing in a source marks it as shown.
"""

import re
import textwrap

import gaps

OPENING = re.compile(r"^(?:template <.*>|[A-Za-z_\[].*)$")
TYPE = r"^(?:template <[^>]*>\s*)?(?:struct|class|enum class|union) (?:alignas\(\w+\) )?{name}\b[^;]*\{{"
LEFT_OUT = ("// ...", "# ...")
COMMENT = re.compile(r"^(//|/\*| \*)")


class NotFound(Exception):
    pass


def listing(root, path, name=None):
    """The lines of `name`, with the comment above it; of all of the file, if there is no name. Of
    several functions of one name, a name with the beginning of its parameters means one: `f(int a`."""
    file = root / path
    if not file.is_file():
        raise NotFound(f"there is no {path}")
    lines = file.read_text().rstrip("\n").split("\n")
    if name is None:
        return lines
    if name.startswith("{"):
        return entry(path, lines, name)
    found = [at for at in range(len(lines)) if begins(lines, at, name)]
    if len(found) != 1:
        where = ", ".join(str(at + 1) for at in found)
        raise NotFound(f"{path}: {name} is there {len(found)} times" + (f": {where}" if where else ""))
    return lines[with_comment(lines, found[0]) : end_of(lines, found[0]) + 1]


def entry(path, lines, start):
    """Of a table: from the line that begins so to the one that ends it."""
    found = [at for at, line in enumerate(lines) if line.strip().startswith(start)]
    if len(found) != 1:
        raise NotFound(f"{path}: an entry that begins with '{start}' is there {len(found)} times")
    end = next(at for at in range(found[0], len(lines)) if lines[at].endswith("},"))
    return textwrap.dedent("\n".join(lines[found[0] : end + 1])).split("\n")


def head_of(lines, at):
    """The declaration that begins there, up to its brace or semicolon, on one line."""
    head = []
    for line in lines[at : at + 12]:
        head.append(line.strip())
        if "{" in line or line.rstrip().endswith((";", ":")):
            break
    return " ".join(head)


def begins(lines, at, name):
    """Whether what is defined at this line is `name`."""
    if not OPENING.match(lines[at]) or (at > 0 and lines[at - 1].startswith("template")):
        return False
    if lines[at].startswith(("def ", "class ")) and lines[at].rstrip().endswith(":"):
        return re.match(rf"^(def|class) {re.escape(name)}\b", lines[at]) is not None
    head = head_of(lines, at)
    escaped = re.escape(name)
    if re.match(TYPE.format(name=escaped), head):
        return True
    opening = "" if "(" in name else r"\("
    function = re.search(rf"(?<![\w:.]){escaped}{opening}", head.split("{")[0].split(" : ")[0])
    return function is not None and "{" in head and "=" not in head[: function.start()]


def with_comment(lines, at):
    while at > 0 and COMMENT.match(lines[at - 1]):
        at -= 1
    return at


def end_of(lines, at):
    if lines[at].startswith(("def ", "class ")) and lines[at].rstrip().endswith(":"):
        end = at
        for here in range(at + 1, len(lines)):
            if lines[here] and not lines[here].startswith(" "):
                break
            if lines[here]:
                end = here
        return end
    for here in range(at, len(lines)):
        if lines[here].startswith("}") or (here == at and lines[here].endswith("}")):
            return here
    raise NotFound(f"what begins at line {at + 1} does not end")


def shows(shown, lines):
    """Whether the page has these lines, but for what a comment of three dots leaves out."""
    return gaps.shows(shown, lines, lambda line: line.strip() in LEFT_OUT)


def change(root, path):
    """What an exhibit (property_tests/changes) changes, as a difference."""
    lines = listing(root, path)
    marks = [lines.index(f"--- {mark}") for mark in ("original", "mutated", "end")]
    before, after = (lines[begin + 1 : end] for begin, end in zip(marks, marks[1:]))
    return ["-" + line for line in before] + ["+" + line for line in after]
