#!/usr/bin/env python3
"""check_drawings.py ROOT: drawings, tables and lists in comments are whole.

A formatter or a careless edit that breaks a line of a drawing leaves marks that can be seen without
knowing what the drawing means. Refused are, in the indented lines of a comment:

  width   a comment line of more than 100 columns
  list    a line that goes on under the number or dash of its item instead of under its text
  table   a row whose second column begins where that of no other row does, or a row that has none
  drawing an arrow that ends or begins nowhere, a corner (+) with no stroke above or below it, a bar
          that joins nothing, a ^ with nothing above it

Prints FILE:LINE: what is wrong, and the line, for each; exit status 1 if there are any.
"""

import pathlib
import re
import sys

import comments

COLUMNS_MAX = 100
CELL = re.compile(r"\S+(?: \S+)*")
STROKE = re.compile(r"--|\||<-|->")


def list_faults(lines):
    open_items = []  # columns of the texts of the items that a line may go on
    for number, text in lines:
        item = comments.ITEM.match(text)
        was_open = bool(open_items)
        while open_items and open_items[-1] > comments.indent(text):
            open_items.pop()
        if item:
            open_items.append(item.end())
        elif was_open and not open_items:
            yield number, "a list goes on under the mark of its item, not under its text"


def table_faults(lines):
    """Of runs in which two rows at least have a second column at one place."""
    if any(STROKE.search(text) for _, text in lines):
        return
    rows = [(number, text, [cell.span() for cell in CELL.finditer(text)]) for number, text in lines]
    starts = [{start for start, _ in cells} for _, _, cells in rows]
    ends = [{end for _, end in cells} for _, _, cells in rows]
    with_columns = [i for i, (_, _, cells) in enumerate(rows) if len(cells) > 1]
    if len(with_columns) < 2:
        return

    def aligned(i, start, end):
        return any(start in starts[j] or end in ends[j] for j in range(len(rows)) if j != i)

    for i in with_columns:
        number, text, cells = rows[i]
        start, end = cells[1]
        if not aligned(i, start, end):
            yield number, f"the second column, '{text[start:end]}', begins where that of no other row does"

    first = min(cells[0][0] for _, _, cells in rows)
    second = [rows[i][2][1][0] for i in with_columns]
    second = [column for column in second if second.count(column) > 1]
    for number, text, cells in rows:
        alone = len(cells) == 1 and cells[0][0] == first and not comments.ITEM.match(text)
        if second and alone and cells[0][1] <= min(second):
            yield number, "a row of a table has no second column"


def drawing_faults(lines):
    texts = [text for _, text in lines]
    if not any(STROKE.search(text) for text in texts):
        return

    def at(row, column):
        inside = 0 <= row < len(texts) and column < len(texts[row])
        return texts[row][column] if inside else " "

    for row, (number, text) in enumerate(lines):
        if text.endswith("->"):
            yield number, "an arrow ends nowhere"
        if text.lstrip().startswith("<-"):
            yield number, "an arrow begins nowhere"
        for corner in re.finditer(r"(?<=-)\+|\+(?=-)", text):
            beside = at(row - 1, corner.start()) + at(row + 1, corner.start())
            if not set(beside) & set("|+^v"):
                yield number, f"the corner in column {corner.start()} has no stroke above or below it"
        first = comments.indent(text)
        above, below = at(row - 1, first), at(row + 1, first)
        if text[first] == "^" and above == " ":
            yield number, "a ^ has nothing above it"
        if text[first:] == "|" and " " in (above, below) and not {above, below} & set("|+^v"):
            yield number, "a bar joins nothing"


def faults(path):
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        if len(line) > COLUMNS_MAX and comments.COMMENT_LINE.match(line):
            yield number, f"a comment of {len(line)} columns; at most {COLUMNS_MAX} fit"
    for block in comments.blocks(path):
        for is_indented, lines in comments.paragraphs(block):
            for check in (list_faults, table_faults, drawing_faults) if is_indented else ():
                yield from check(lines)


def main():
    root = pathlib.Path(sys.argv[1])
    paths = list(comments.sources(root))
    if not paths:
        sys.exit(f"No sources under {root}")
    torn = False
    for path in paths:
        lines = path.read_text(encoding="utf-8").splitlines()
        for number, fault in sorted(faults(path)):
            print(f"{path.relative_to(root)}:{number}: {fault}:\n  {lines[number - 1].strip()}")
            torn = True
    sys.exit(1 if torn else 0)


if __name__ == "__main__":
    main()
