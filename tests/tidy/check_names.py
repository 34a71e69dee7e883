#!/usr/bin/env python3
"""check_names.py ROOT: the files that comments and pages name exist, and so do the targets of links.

In the comments of sources, CMake files and scripts, and in pages (*.md), two forms name a file:

  - a name with the suffix of a source, a page or a script: `wait_queue.h`, `core/wait_queue.h`. It is
    the end of the path of a file here, or of one that a source includes (`hwy/highway.h`).
  - a path from a top folder: `src/core/schedule.cc`, `tests/golden/`, `sim/devices/*.json`. It is a
    file or a folder, or matches some.

A part in capitals (include/forge/LAYER/) stands for a name and is not looked up, nor is what a line
with or after a URL names, which is a file there. Of code blocks in pages only the second form counts:
they show commands, which may make files. Links in pages, [text](path#heading), are relative to the
page; the heading, if any, is one of the target's.

Prints FILE:LINE: name for each that is not found; exit status 1 if there are any.
"""

import collections
import os
import pathlib
import re
import sys

import comments

NOT_OURS = {".git", ".venv", ".cache", "build", "shared", "__pycache__"}
SCRIPT_SUFFIXES = {".py", ".cmake"}
NAME = re.compile(r"(?<![\w./*<>$}~%@-])(?:\.\./)*(?:[\w.*-]+/)*[\w.*-]+/?")
SUFFIX = re.compile(r"[\w*]\.(h|cc|cuh|cu|md|cmake|py)$")
PLACEHOLDER = re.compile(r"(^|[/.-])(NAME|FILE|LAYER|DEVICE|DATE)\b")
INCLUDE = re.compile(r'^\s*#\s*include\s*[<"]([^>"]+)')
STRING = re.compile(r'"(?:\\.|[^"\\])*"')
LINK = re.compile(r"\]\(([^)\s]+)\)")
HEADING = re.compile(r"^#+ +(.*)$", re.MULTILINE)
FENCE = re.compile(r"^```.*?^```", re.MULTILINE | re.DOTALL)


class Tree:
    """The files under `root`, by every end of their paths, and its folders."""

    def __init__(self, root):
        self.root, self.files, self.folders, self.ends = root, [], set(), set()
        for folder, folders, names in os.walk(root):
            folders[:] = sorted(set(folders) - NOT_OURS)
            relative = pathlib.Path(folder).relative_to(root)
            self.files += [relative / name for name in sorted(names)]
            self.folders.add(relative.as_posix())
        for path in [*self.files, *self.folders]:
            self.add(str(path))
        for path in self.files:
            if path.suffix in comments.SUFFIXES:
                self.add_includes(path)

    def add(self, path):
        parts = path.split("/")
        self.ends.update("/".join(parts[i:]) for i in range(len(parts)))

    def add_includes(self, path):
        for line in self.text(path).splitlines():
            if match := INCLUDE.match(line):
                self.add(match[1])

    def text(self, path):
        return (self.root / path).read_text(encoding="utf-8")

    def has(self, name, page):
        if "*" in name:
            return any(self.root.glob(name)) or any(self.root.glob("**/" + name))
        return name in self.ends or (self.root / page.parent / name).exists()


def prose(tree, path):
    """[(line number, text, in code)] of a page, or of the comments of a source or script."""
    is_page = path.suffix == ".md"
    if is_page or path.suffix in comments.SUFFIXES:
        mark = "//"
    elif path.suffix in SCRIPT_SUFFIXES or path.name in ("CMakeLists.txt", "layers.txt") or \
            path.parts[0] in ("scripts", ".ci"):
        mark = "#"
    else:
        return
    fenced = False
    for number, line in enumerate(tree.text(path).splitlines(), 1):
        if is_page:
            fenced ^= line.startswith("```")
            yield number, LINK.sub("]", line), fenced or line.startswith("    ")
        else:
            code, found, comment = STRING.sub("", line).partition(mark)
            if found and (mark == "//" or not code.strip() or code[-1] == " "):
                yield number, comment, False


def missing_names(tree, path):
    from_url = False
    for number, text, in_code in prose(tree, path):
        was_from_url, from_url = from_url, "https://" in text
        if from_url or was_from_url:
            continue
        for match in NAME.finditer(text):
            name = match[0].rstrip("./")
            is_path = "/" in name and name.split("/")[0] in tree.folders
            if PLACEHOLDER.search(name) or not (is_path or SUFFIX.search(name) and not in_code):
                continue
            if not tree.has(name, path):
                yield number, name


def anchor_of(heading):
    """As GitHub makes it."""
    text = re.sub(r"[^\w\- ]", "", heading.replace("`", "").lower())
    return text.replace(" ", "-")


def missing_links(tree, page):
    for number, line in enumerate(tree.text(page).splitlines(), 1):
        for target in LINK.findall(line):
            if "://" in target:
                continue
            path, _, anchor = target.partition("#")
            place = tree.root / page.parent / path if path else tree.root / page
            if not place.exists():
                yield number, target
            elif anchor and place.suffix == ".md":
                headings = HEADING.findall(FENCE.sub("", place.read_text(encoding="utf-8")))
                if anchor not in map(anchor_of, headings):
                    yield number, target


def main():
    tree = Tree(pathlib.Path(sys.argv[1]))
    missing = collections.defaultdict(list)
    for path in tree.files:
        missing[path] += missing_names(tree, path)
        if path.suffix == ".md":
            missing[path] += missing_links(tree, path)
    for path, found in missing.items():
        for number, name in found:
            print(f"{path}:{number}: '{name}' does not exist")
    sys.exit(1 if any(missing.values()) or not tree.files else 0)


if __name__ == "__main__":
    main()
