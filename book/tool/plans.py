"""Schedules that pages show, a row a step: they are what a test expects.

A row of the page may end in a note, `# why`; a line `...` leaves rows out.
"""

import re

import gaps

ROW = re.compile(r"\d+ \||[-+]\d")
STRING = re.compile(r'"((?:\\.|[^"\\])*)"')
NOTE = re.compile(r"\s+#.*$")
LEFT_OUT = "..."


class NotFound(Exception):
    pass


def expected_rows(root, path, name):
    """The rows that the test `name`, of `SUITE.TEST`, compares with."""
    file = root / path
    if not file.is_file():
        raise NotFound(f"there is no {path}")
    suite, _, test = name.partition(".")
    head = re.compile(rf"^TEST(_F)?\({re.escape(suite)}, {re.escape(test)}\) \{{$")
    lines = file.read_text().split("\n")
    begins = [at for at, line in enumerate(lines) if head.match(line)]
    if len(begins) != 1:
        raise NotFound(f"{path} has {len(begins)} tests of the name {name}")
    end = lines.index("}", begins[0])
    strings = STRING.findall("\n".join(lines[begins[0] : end]))
    rows = [row for string in strings for row in string.split("\\n")]
    rows = [re.sub(r" +", " ", row).strip() for row in rows if ROW.match(row)]
    if not rows:
        raise NotFound(f"{path}: {name} compares with no row of a schedule")
    return rows


def without_layout(row):
    return re.sub(r" +", " ", NOTE.sub("", row)).strip()


def shows(shown, rows):
    shown = [line.strip() if line.strip() == LEFT_OUT else without_layout(line) for line in shown]
    return gaps.shows(shown, rows, lambda line: line == LEFT_OUT)


def aligned(rows):
    """The rows, with bars below each other where they have the same number of them."""
    cells = [[cell.strip() for cell in row.split("|")] for row in rows]
    widths = {}
    for row in cells:
        for column, cell in enumerate(row[:-1]):
            key = len(row), column
            widths[key] = max(widths.get(key, 0), len(cell))
    return [
        " | ".join(
            cell.ljust(widths[len(row), column]) if column < len(row) - 1 else cell
            for column, cell in enumerate(row)
        ).rstrip()
        for row in cells
    ]
