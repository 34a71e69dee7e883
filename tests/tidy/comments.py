"""Comments of C++ and CUDA sources, as the checks of comments see them.

A block is a run of comment lines that begin alike ("//" or "///", at one indentation). A line is its
number and its text, columns being counted from behind the slashes: prose begins in column 1,
drawings, tables, lists and code further in.
"""

import pathlib
import re

SUFFIXES = {".h", ".cc", ".cuh", ".cu"}
FOLDERS = ("include", "src", "cuda", "sim", "tests", "property_tests", "labs", "bench", "examples")

INDENTED = 2  # the first column of what is not prose
ITEM = re.compile(r" *(\d+\.|[-*]) +")  # of a list
COMMENT_LINE = re.compile(r"^(\s*///?)(?!/)(?!<)(.*)$")


def sources(root, folders=FOLDERS):
    """Paths of the sources under `root`, in order."""
    for folder in folders:
        for path in sorted((root / folder).rglob("*")):
            if path.suffix in SUFFIXES:
                yield path


def blocks(path):
    """The blocks of a file; a comment behind code is in none, empty lines are in them."""
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


def paragraphs(block):
    """(is indented, lines) of each run of lines of a block that are all prose, or all indented."""
    run, run_is_indented = [], False
    for number, text in block:
        is_indented = indent(text) >= INDENTED
        if run and (not text or is_indented != run_is_indented):
            yield run_is_indented, run
            run = []
        if text:
            run.append((number, text))
            run_is_indented = is_indented
    if run:
        yield run_is_indented, run
