"""Comments of C++ and CUDA sources, as the checks of comments see them.

A paragraph is a run of comment lines that begin alike ("//" or "///", at one indentation), without the
empty ones. Its lines are texts with columns counted from behind the slashes: prose begins in column 1,
drawings, tables, lists and code further in.
"""

import pathlib
import re

SUFFIXES = {".h", ".cc", ".cuh", ".cu"}
FOLDERS = ("include", "src", "cuda", "sim", "tests", "property_tests", "bench", "examples")

COMMENT_LINE = re.compile(r"^(\s*///?)(?!/)(?!<)(.*)$")


def sources(root, folders=FOLDERS):
    """Paths of the sources under `root`, in order."""
    for folder in folders:
        for path in sorted((root / folder).rglob("*")):
            if path.suffix in SUFFIXES:
                yield path


def blocks(path):
    """[(line number, text)] of each comment that has lines of its own; empty lines are in it."""
    found, block, start = [], [], None
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        match = COMMENT_LINE.match(line)
        if block and (not match or match[1] != start):
            found.append(block)
            block = []
        if match:
            start = match[1]
            block.append((number, match[2].rstrip()))
    return found + [block] if block else found


def indent(text):
    return len(text) - len(text.lstrip(" "))


def indented_runs(block, columns=2):
    """The runs of lines of a block that begin at least `columns` in."""
    run = []
    for number, text in block:
        if text and indent(text) >= columns:
            run.append((number, text))
        elif run:
            yield run
            run = []
    if run:
        yield run
