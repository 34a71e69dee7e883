"""A lab as it is in its folder:

    labs/NN_name/
        lab.json        title, chapter, source, libraries, what it is about, tasks with hints
        answer.cc       plays a case through the code (labs/answering.h)
        cases.py        FIRST: cases by task, the easiest first; RANDOM: by task, what makes one up
        mistakes/       what students write wrongly, each with a hint of its own (exhibits.py)
        variants/       other rules that the same lab can be set with
        answers.json    what the mistakes answer, by which one is known again (hints.py)
"""

import importlib.util
import json
import pathlib
import random
from dataclasses import dataclass, field

import exhibits

ROOT = pathlib.Path(__file__).resolve().parents[2]
LABS = ROOT / "labs"


class NoSuchLab(Exception):
    pass


@dataclass
class Task:
    name: str
    function: str
    points: int
    cases: int
    hints: list
    place: str = ""  # 11.2: the second task of lab 11


@dataclass
class Lab:
    folder: pathlib.Path
    title: str
    chapter: str
    source: str
    libraries: list
    about: str
    tasks: list = field(default_factory=list)
    kind: str = "source"  # or findings (findings.py)
    exhibits_of: list = field(default_factory=list)  # of findings: the bugs, a task each
    recorded: bool = False  # answer.cc has `trace`, too: the case as a trace
    included_as: str = ""  # of a header: the name by which answer.cc includes it

    def __post_init__(self):
        self.tasks = [
            Task(**task, place=f"{int(self.number)}.{count}") for count, task in enumerate(self.tasks, 1)
        ]

    def called(self, task):
        """The function of a task, as people call it: without the parameters that tell it from others."""
        return task.function.split("(")[0]

    @property
    def number(self):
        return self.folder.name[:2]

    @property
    def name(self):
        return self.folder.name

    @property
    def file(self):
        """The name of the file that a student writes."""
        return pathlib.Path(self.source).name

    @property
    def is_header(self):
        return not self.source.endswith(".cc")

    def task(self, name):
        for task in self.tasks:
            if name in (task.name, task.place, task.place.split(".")[1]):
                return task
        raise NoSuchLab(f"lab {self.number} has no task '{name}'; it has " + ", ".join(t.name for t in self.tasks))

    def exhibits(self, kind):
        """Its mistakes or variants, by name."""
        return {path.stem: exhibits.read(path) for path in sorted((self.folder / kind).glob("*.exhibit"))}

    def variant(self, name):
        variants = self.exhibits("variants")
        if name not in variants:
            raise NoSuchLab(f"lab {self.number} has no variant '{name}'; it has: {', '.join(variants) or 'none'}")
        return variants[name]

    def cases_of(self, task, seed, count=None):
        """The cases of a task: the written ones, then made-up ones, the same for the same seed."""
        module = self.module()
        yield from module.FIRST.get(task.name, [])
        draw = random.Random(f"{seed}/{self.number}/{task.name}")
        for _ in range(task.cases if count is None else count):
            yield module.RANDOM[task.name](draw)

    def module(self):
        spec = importlib.util.spec_from_file_location(f"cases_{self.number}", self.folder / "cases.py")
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        return module


def load(folder):
    return Lab(folder=folder, **json.loads((folder / "lab.json").read_text()))


def all_labs():
    return [load(path.parent) for path in sorted(LABS.glob("[0-9][0-9]_*/lab.json"))]


def find(number):
    folders = sorted(path.parent for path in LABS.glob("[0-9][0-9]_*/lab.json"))
    for folder in folders:
        if number in (folder.name, folder.name[:2], folder.name[:2].lstrip("0")):
            return load(folder)
    known = ", ".join(folder.name[:2].lstrip("0") for folder in folders)
    raise NoSuchLab(f"there is no lab '{number}'; there are {known}")
