#!/usr/bin/env python3
"""draw_layers.py [--check] [TABLE PAGE]: draws cmake/layers.txt into book/architecture.md.

A line leads down from each layer to those that it includes; where a layer reaches another through a
third one, the direct line is left out. --check changes nothing, and exits with status 1 where the page
has another picture.
"""

import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
BEGIN = "<!-- drawn from cmake/layers.txt by book/draw_layers.py -->\n"


def read_table(text):
    """{layer: (layers that it includes, what it is)}, lowest first."""
    layers = {}
    for name, lower, words in re.findall(r"^([a-z_]+):([^|\n]*)[^\n]*\n +([^\n]+)$", text, re.M):
        layers[name] = (lower.split(), words)
    named = re.findall(r"^([a-z_]+):", text, re.M)
    if list(layers) != named:
        sys.exit(f"no line says what these layers are: {sorted(set(named) - set(layers))}")
    return layers


def reached(layers, name):
    """All layers below `name`."""
    found = set()
    for lower in layers[name][0]:
        found |= {lower} | reached(layers, lower)
    return found


def direct(layers, name):
    """The layers that `name` includes and reaches in no other way."""
    lower = layers[name][0]
    return {one for one in lower if not any(one in reached(layers, other) for other in lower)}


def draw(layers):
    """One row a layer, highest first; column c is the line that leads down from layer c."""
    names = list(reversed(layers))
    edges = {name: direct(layers, name) for name in names}
    last = {name: max((names.index(lower) for lower in edges[name]), default=-1) for name in names}
    width = max(2 * row + len(name) for row, name in enumerate(names)) + 2
    rows = []
    for row, name in enumerate(names):
        users = [column for column in range(row) if name in edges[names[column]]]
        cells = ""
        for column in range(row):
            alive = last[names[column]] >= row
            left = any(user < column for user in users)  # a line from there passes this column
            if column in users:
                end = last[names[column]] == row
                cells += ("┴" if left else "└") if end else ("┼" if left else "├")
            else:
                cells += "│" if alive else ("─" if left else " ")
            cells += "─" if any(user <= column for user in users) else " "
        rows.append(f"{(cells + name).ljust(width)}{layers[name][1]}\n")
    return "".join(rows)


def main():
    arguments = [argument for argument in sys.argv[1:] if argument != "--check"]
    check = len(arguments) != len(sys.argv) - 1
    table, page = map(pathlib.Path, arguments or (ROOT / "cmake/layers.txt", ROOT / "book/architecture.md"))
    text = page.read_text(encoding="utf-8")
    before, mark, rest = text.partition(BEGIN)
    if not mark:
        sys.exit(f"{page} has no line '{BEGIN.strip()}'")
    after = re.sub(r"\A\n```text\n(?:.*\n)*?```\n", "", rest).lstrip("\n")
    picture = draw(read_table(table.read_text(encoding="utf-8")))
    drawn = f"{before}{mark}\n```text\n{picture}```\n\n{after}"
    if check and drawn != text:
        sys.exit(f"{page} does not show what {table} says: run book/draw_layers.py")
    if not check:
        page.write_text(drawn, encoding="utf-8")


if __name__ == "__main__":
    main()
