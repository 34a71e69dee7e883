"""scripts/lab grade FOLDER SUBMISSIONS: what a class handed in, as a table (CSV) of points.

SUBMISSIONS/STUDENT/NN_name/FILE is a student's file for a lab. It is compiled and run shut in
(isolation.py), held to the rule of the student's variant, on the written cases and on ten times as many
made-up ones as a check has, from a seed that follows from the secret of the class. A task has all of its
points or none, as in a check. Where nothing can be shut in, nothing is graded.

What is handed in is not trusted: a file is a plain one below its folder, of at most a MiB, or is not read;
what is printed of it has no character that does anything in a terminal or a spreadsheet. One that hangs or
breaks costs its own points and some seconds.
"""

import csv
import os
import pathlib
import re
import stat
import sys
import tempfile
import time

import builder
import check
import classes
import findings
import hidden
import isolation
import lab as labs
from builder import NotBuilt, own_program
from judge import Judge
from program import SECONDS, Program
from sealed import SealedBuild

HEAD = ["student", "lab", "variant", "task", "points", "of", "said"]
TIMES = 10  # as many made-up cases as a check has
TASK_SECONDS = 120  # by the clock, for all cases of a task
LARGEST = 1 << 20  # bytes of a file
SAID = 200  # characters
ERROR = re.compile("error:|undefined reference|multiple definition")
INSIDE = "/program"  # where a program is, for itself


class Refused(Exception):
    """Why something is not read."""


class ShutIn(Program):
    """A program in a cell, which also has a time for all that it is asked."""

    def __init__(self, cell, program, seconds=TASK_SECONDS):
        super().__init__(cell.command([INSIDE], {INSIDE: program}, isolation.RUNNING))
        self.until = time.monotonic() + seconds

    def ask(self, task, case):
        left = self.until - time.monotonic()
        if left <= 0:
            return {"died": f"all cases together took more than {TASK_SECONDS} s"}
        self.seconds = round(min(SECONDS, left), 1)
        return super().ask(task, case)


def folders(parent):
    """By name; a link is none, wherever it leads."""
    return sorted(path for path in pathlib.Path(parent).iterdir() if path.is_dir() and not path.is_symlink())


def contents(path):
    try:
        opened = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    except OSError as error:
        raise Refused(f"{path.name}: {error.strerror}") from error
    with os.fdopen(opened, "rb") as file:
        if not stat.S_ISREG(os.fstat(opened).st_mode):
            raise Refused(f"{path.name} is not a plain file")
        source = file.read(LARGEST + 1)
    if len(source) > LARGEST:
        raise Refused(f"{path.name} has more than {LARGEST} bytes")
    return source


def harmless(text):
    text = "".join(letter if letter.isprintable() else " " for letter in str(text))[:SAID]
    return "'" + text if text[:1] in ("=", "+", "-", "@") else text


class Grader:
    def __init__(self, the_class, cell):
        self.the_class, self.cell = the_class, cell
        self.builds = {}
        self.faults = 0  # not the students'

    def rows(self, student, lab, folder):
        variant = self.the_class.variant(student, lab)
        marks = {}
        try:
            source = contents(folder / lab.file)
            mark = self.marks_of_findings if lab.kind == "findings" else self.marks
            for task, points, said in mark(student, lab, variant, source):
                marks[task.name] = (points, said)
            reason = ""
        except Refused as error:
            reason = str(error)
        except NotBuilt as error:
            reason = "it does not compile: " + first_error(str(error))
        except Exception as error:  # whatever it is, the next student is to be graded
            self.faults += 1
            reason = f"it could not be judged: {type(error).__name__}: {error}"
        for task in lab.tasks:
            points, said = marks.get(task.name, (0, reason))
            yield [harmless(student), lab.name, variant, task.name, points, task.points, harmless(said)]

    def marks(self, student, lab, variant, source):
        right = self.prepared(lab, variant)
        with tempfile.TemporaryDirectory(dir=self.cell.folder) as folder:
            pathlib.Path(folder).chmod(0o755)
            program = self.builds[lab.name].build(source, pathlib.Path(folder) / "program")
            for task in lab.tasks:
                with Program([right]) as own, ShutIn(self.cell, program) as judged:
                    seed = self.the_class.seed(student, lab)
                    verdict = Judge(lab, own, judged).look_at(task, seed, TIMES * task.cases)
                passed = verdict.passed and verdict.cases >= TIMES * task.cases
                yield task, task.points if passed else 0, said(lab, task, verdict)

    def prepared(self, lab, variant):
        """The program that has the right answers; what the lab's builds need is there, too."""
        try:
            if lab.name not in self.builds:
                self.builds[lab.name] = SealedBuild(lab, self.cell)
            return own_program(lab, variant)
        except NotBuilt as error:
            raise RuntimeError(f"the project's own source does not build: {error}") from error

    def marks_of_findings(self, _student, lab, _variant, source):
        """The programs are ours, but what they are asked is not."""
        with tempfile.TemporaryDirectory(dir=self.cell.folder) as folder:
            file = pathlib.Path(folder) / lab.file
            file.write_bytes(source)
            try:
                found = findings.read(lab, file)
            except findings.Unreadable as error:
                raise Refused(error) from error
        for task in lab.tasks:
            outcome = findings.judge(lab, task, found, lambda which: self.player(lab, which))
            yield task, outcome.points, outcome.said

    def player(self, lab, task):
        given = hidden.given(self.the_class, lab) if task else None
        program = given / f"lab_{lab.number}_{task.name}" if given else findings.program_of(lab, task)
        copy = self.cell.folder / "players" / program.name
        if not copy.exists():
            copy.parent.mkdir(exist_ok=True)
            copy.write_bytes(program.read_bytes())
            copy.chmod(0o755)
        return ShutIn(self.cell, copy)


def said(lab, task, verdict):
    if verdict.not_begun and verdict.not_begun not in [each.name for each in lab.tasks]:
        return "it says that a task is not begun which is none"
    text = check.said(lab, task, verdict, [])
    if verdict.difference and "died" in verdict.difference.got:
        text += f": {verdict.difference.got['died']}"
    return text


def first_error(text):
    lines = [line for line in text.split("\n") if ERROR.search(line)]
    return lines[0] if lines else text.strip().split("\n")[-1]


def add_to(commands):
    command = commands.add_parser("grade")
    command.add_argument("folder", metavar="FOLDER")
    command.add_argument("submissions", metavar="SUBMISSIONS")


def run(options):
    the_class = classes.load(options.folder)
    reason = isolation.why_not([labs.ROOT, builder.BUILD, the_class.folder])
    if reason:
        raise isolation.NotIsolated(f"programs cannot be shut in here, so nothing is graded: {reason}")
    if not pathlib.Path(options.submissions).is_dir():
        raise Refused(f"there is no folder {options.submissions}")
    os.umask(0o022)  # what is made for the cell can be read by whoever is in it
    table = csv.writer(sys.stdout, lineterminator="\n")
    table.writerow(HEAD)
    known = {lab.name: lab for lab in labs.all_labs()}
    with tempfile.TemporaryDirectory() as folder:
        grader = Grader(the_class, isolation.Cell(folder))
        for student in folders(options.submissions):
            for handed_in in folders(student):
                if handed_in.name in known:
                    table.writerows(grader.rows(student.name, known[handed_in.name], handed_in))
                    sys.stdout.flush()
                else:
                    print(f"{student.name}: there is no lab {handed_in.name}", file=sys.stderr)
    return 1 if grader.faults else 0
