"""Who owns which block, and what it should show."""

import dataclasses
import pathlib
import re
import shutil
import subprocess
import sys

import consoles
import figures
import listings
import plans
from commands import Commands
from pages import Figure

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "tests/tidy"))
import check_drawings  # noqa: E402

CODE = {"cpp", "cuda", "python", "js", "json", "yaml", "jinja"}
STROKE = re.compile(r"--(?![a-z])|[|│├─]|<-|->")


@dataclasses.dataclass
class Found:
    """What a block or a figure should show, or what is wrong with it."""

    line: int  # of the page, from 0
    block: int | None = None  # its place on the page
    lines: list | None = None
    figure: pathlib.Path | None = None
    text: str = ""  # of the figure
    fault: str = ""
    note: str = ""  # why it was left as it is


def pages_of(root):
    return [root / "README.md", root / "bench/README.md", *sorted((root / "book").glob("**/*.md"))]


def drawing_faults(block):
    lines = [(at, text) for at, text in enumerate(block.lines) if text.strip()]
    if not any(STROKE.search(text) for _, text in lines):
        return [(0, "this is no drawing, so it is of another kind or no block")]
    return check_drawings.drawing_faults(lines)


class Owners:
    def __init__(self, root, programs, venv):
        self.root, self.programs, self.venv = root, programs, venv
        self.commands = Commands(root, programs)

    def of_page(self, page):
        """A Found for each block, in their order."""
        for line in page.indented:
            yield Found(line, fault="an indented block says nothing of its kind; fence it")
        session, section = None, None
        try:
            for number, block in page.parts():
                if session is None or block.section != section:
                    if session:
                        session.close()
                    session, section = consoles.Session(self.root, self.programs), block.section
                if isinstance(block, Figure):
                    yield self._figure(session, page, block)
                    continue
                if block.words[1:2] == ["writes"]:
                    session.files[block.words[-1]] = "\n".join(block.lines) + "\n"
                if block.language == "console":
                    yield from self._console(session, number, block)
                else:
                    yield from self._still(number, block)
        finally:
            if session:
                session.close()

    def _figure(self, session, page, figure):
        if not figure.command:
            return Found(figure.first, fault="a picture of which no line above says what it is of")
        try:
            text = figures.draw(session, figure.command)
        except (figures.Failed, consoles.Failed) as error:
            return Found(figure.first, fault=str(error))
        return Found(figure.first, figure=page.path.parent / figure.target, text=text)

    def _still(self, number, block):
        """Of a block that nothing has to be run for."""
        language, arguments = block.language, block.words[1:]
        if language in CODE and arguments[:1] == ["writes"] and len(arguments) == 2:
            yield Found(block.first, number, block.lines)
        elif language in CODE and arguments:
            yield self._made(number, block, lambda: self._listing(block, arguments))
        elif language == "plan" and len(arguments) == 2:
            yield self._made(number, block, lambda: self._plan(block, arguments))
        elif language == "sh" and not arguments:
            faults = list(self.commands.faults(block.lines))
            for at, fault in faults:
                yield Found(block.first + at, number, fault=fault)
            if not faults:
                yield Found(block.first, number, block.lines)
        elif language == "text" and not arguments:
            faults = list(drawing_faults(block))
            for at, fault in faults:
                yield Found(block.first + at, number, fault=fault)
            if not faults:
                yield Found(block.first, number, block.lines)
        elif language == "diff" and len(arguments) == 1:
            yield self._made(number, block, lambda: listings.change(self.root, arguments[0]))
        else:
            words = " ".join(block.words) or "nothing"
            yield Found(block.first - 1, number, fault=f"a block of no kind: its fence says '{words}'")

    def _made(self, number, block, make):
        try:
            return Found(block.first, number, make())
        except (listings.NotFound, plans.NotFound) as error:
            return Found(block.first - 1, number, fault=str(error))

    def _listing(self, block, arguments):
        lines = listings.listing(self.root, arguments[0], " ".join(arguments[1:]) or None)
        return block.lines if listings.shows(block.lines, lines) else lines

    def _plan(self, block, arguments):
        rows = plans.expected_rows(self.root, *arguments)
        return block.lines if plans.shows(block.lines, rows) else plans.aligned(rows)

    def _console(self, session, number, block):
        needs = [word.removeprefix("needs=") for word in block.words[1:]]
        lacking = [what for what in ",".join(needs).split(",") if what and not self._has(session, what)]
        if lacking:
            yield Found(block.first, number, note=f"not run, for want of {', '.join(lacking)}")
            return
        try:
            yield Found(block.first, number, self._printed(session, block.lines))
        except consoles.Failed as error:
            yield Found(block.first, number, fault=str(error))

    def _has(self, session, what):
        """Whether a program or a file of the test data is here; the latter is linked for the commands."""
        if what == "openai":
            return self._has_client(session)
        data = self.root.parent / "shared/data" / what
        if data.exists():
            session.link(data)
            return True
        return shutil.which(what) is not None

    def _has_client(self, session):
        """OpenAI's, in the environment that other tests use, too."""
        if not self.venv:
            return False
        make = [sys.executable, self.root / "tests/serve/client_venv.py", self.venv]
        made = subprocess.run(make, capture_output=True, text=True)
        if made.returncode == 0:
            session.put_first(pathlib.Path(made.stdout.split()[-1]).parent)
        return made.returncode == 0

    def _printed(self, session, shown_lines):
        lines = []
        for command, shown in consoles.transcripts(shown_lines):
            printed = session.run(consoles.command_of(command))
            if consoles.shows(consoles.unwrapped(shown), printed):
                lines += command + shown
            else:
                lines += command + [part for line in printed for part in consoles.wrapped(line)]
        return lines
