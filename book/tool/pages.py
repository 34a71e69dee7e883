"""Pages of the book: Markdown, and the blocks in it.

A block is fenced, and the words behind its fence say what it is of:

    ```cpp src/core/policy.cc has_turn_before   the function of that name, as it stands there
    ```cpp src/a.cc read(const Row&             of several of that name, the one with these parameters
    ```json examples/tags.json                  that file
    ```python writes client.py                  a file that the commands of its section use
    ```diff property_tests/changes/x.exhibit    the change of that file
    ```console                                  commands, and what they print
    ```console needs=jq,stories260K             the same, where this program and these data are
    ```plan tests/core/scheduler_test.cc TEST   the rows that this test expects
    ```sh                                       commands for the reader to type
    ```text                                     a drawing

An indented block says nothing of the kind, so there is none. A picture is a figure, and the line above
it says what it is of (figures.py):

    <!-- figure: blocks t.jsonl -->
    ![Who has which block](figures/preemption-blocks.svg)
"""

import dataclasses
import pathlib
import re

FENCE = re.compile(r"^( *)```(.*)$")
HEADING = re.compile(r"^##? +(.*)$")
INDENTED = re.compile(r"^ {4}")
IN_ITEM = re.compile(r"^ {6}")
MARK = re.compile(r"^<!-- figure: (.*) -->$")
IMAGE = re.compile(r"^!\[([^\]]*)\]\(([^)]+)\)$")
ITEM = re.compile(r"^ {0,3}([-*]|\d+\.) ")


@dataclasses.dataclass
class Block:
    """Lines `first` to `last` of a page, counted from 0, between its fences."""

    words: list
    first: int
    last: int
    lines: list
    section: str  # the last heading of the first or second level before it

    @property
    def language(self):
        return self.words[0] if self.words else ""


@dataclasses.dataclass
class Figure:
    """A picture at line `first`, and the command that draws it, if the line above has one."""

    first: int
    command: str | None
    target: str
    section: str


class Page:
    def __init__(self, path, text=None):
        self.path = pathlib.Path(path)
        self.lines = (self.path.read_text() if text is None else text).split("\n")
        self.blocks, self.figures = [], []
        self.indented = []  # lines where blocks begin that say nothing of themselves
        self._read()

    def _read(self):
        section, opened, before, in_item, indented = "", None, "", False, False
        for at, line in enumerate(self.lines):
            fence = FENCE.match(line)
            if opened is not None:
                if fence and not fence[2].strip():
                    words, begin, indent = opened
                    lines = [text[indent:] for text in self.lines[begin:at]]
                    self.blocks.append(Block(words, begin, at, lines, section))
                    opened = None
            elif fence:
                opened = fence[2].split(), at + 1, len(fence[1])
            else:
                if heading := HEADING.match(line):
                    section = heading[1]
                if image := IMAGE.match(line):
                    mark = MARK.match(before)
                    self.figures.append(Figure(at, mark and mark[1], image[2], section))
                if line.strip():
                    in_item = bool(ITEM.match(line)) or (in_item and line.startswith(" "))
                    deep = IN_ITEM if in_item else INDENTED
                    begins = deep.match(line) and not before.strip()
                    if begins and not indented:
                        self.indented.append(at)
                    indented = bool(begins or (indented and deep.match(line)))
            before = line

    def parts(self):
        """Blocks and figures in their order, each with its place among its like."""
        parts = [*enumerate(self.blocks), *enumerate(self.figures)]
        return sorted(parts, key=lambda part: part[1].first)

    def replaced(self, contents):
        """The text with other lines in some blocks: {block: lines}, blocks by their place."""
        lines = list(self.lines)
        for number in sorted(contents, reverse=True):
            block = self.blocks[number]
            indent = FENCE.match(self.lines[block.first - 1])[1]
            lines[block.first : block.last] = [(indent + line).rstrip() for line in contents[number]]
        return "\n".join(lines)
