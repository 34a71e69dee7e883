"""Compiles and links what a student handed in, shut in (isolation.py), by the commands by which the lab's
own program was built. The compiler sees the student's file and headers, but no source of the project's; the
linker sees objects and libraries, without those of the lab's own source. So there is nothing to include and
nothing to be linked with but what is handed out anyway."""

import os
import pathlib
import re
import shutil
import subprocess
import tempfile

import archives
import builder
from builder import NotBuilt
from isolation import BOX, COMPILING
from lab import LABS, ROOT

SECONDS = 120  # by the clock, of a command
HEADERS = {".h", ".hpp", ".cuh", ".inc", ""}
SUBMISSION = "/submission"  # where the student's file is, inside
VARIABLES = {"PATH": "/usr/bin", "TMPDIR": BOX, "LC_ALL": "C.UTF-8"}
# Writes to /box and shows that: nothing of ours can be written to.
TO_BOX = f'"$@" -o {BOX}/made && cat {BOX}/made'


class SealedBuild:
    def __init__(self, lab, cell):
        """Copies what the commands of the lab read, at its own place below a folder of the cell."""
        builder.own_program(lab)
        self.lab, self.cell = lab, cell
        self.tree = cell.folder / "read" / lab.name
        compile_, self.link, self.own = builder.commands(lab)
        words, self.compiled = builder.without_output(compile_)
        self.compiler = compiler()
        self.words = words[words.index(str(self.compiler)) + 1 :]
        self.copy_headers()
        self.copy_objects()

    def copy_headers(self):
        if self.lab.is_header:
            self.copy(pathlib.Path(self.compiled))
        for before, word in zip(["", *self.words], self.words):
            if before == "-include":
                self.copy(pathlib.Path(word))
                self.copy(pathlib.Path(word + ".gch"))
        for folder in include_folders(self.words):
            files = folder.glob("*") if folder == LABS else folder.rglob("*")
            for path in files:
                if path.suffix in HEADERS and path != ROOT / self.lab.source:
                    self.copy(path)

    def copy_objects(self):
        trimmed = tempfile.mkdtemp(dir=self.cell.folder)
        without = archives.without_own(self.lab, self.link, builder.BUILD, trimmed)
        output = self.link.index("-o")
        inputs = self.link[1:output] + self.link[output + 2 :]
        for word in inputs:
            if not word.startswith("-") and word != self.own:
                self.copy(builder.BUILD / word, without.get(word))
        self.link = inputs

    def copy(self, path, from_=None):
        """What lies in /usr is seen as it is. Labs read much alike, a precompiled header of 100 MB for one:
        it is copied once, and each lab has a link to it."""
        path = pathlib.Path(path)
        if not path.is_file() or in_usr(path):
            return
        copied = from_ or self.cell.folder / "copied" / path.relative_to("/")
        place = self.tree / path.relative_to("/")
        for folder in (copied.parent, place.parent):
            folder.mkdir(parents=True, exist_ok=True)
        if not copied.exists():
            shutil.copyfile(path, copied)
        copied.chmod(0o644)
        if not place.exists():
            os.link(copied, place)

    def build(self, source, program):
        """Makes `program` of the bytes of a source; NotBuilt is what the compiler said."""
        program.parent.mkdir(parents=True, exist_ok=True)
        handed_in = program.with_suffix(".source")
        file = handed_in / (self.lab.included_as if self.lab.is_header else self.lab.file)
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(source)
        made = program.with_suffix(".o")
        compiled = self.compiled if self.lab.is_header else f"{SUBMISSION}/{self.lab.file}"
        words = [f"-I{SUBMISSION}", *self.words, *builder.QUIET, f"-I{LABS}", "-c", compiled]
        self.run(words, {SUBMISSION: handed_in}, made)
        self.run(["/made.o" if word == self.own else word for word in self.link], {"/made.o": made}, program)
        program.chmod(0o755)
        return program

    def run(self, words, shown, output):
        shown = {**{f"/{top.name}": top for top in self.tree.iterdir()}, **shown}
        words = ["/bin/sh", "-c", TO_BOX, "sh", self.compiler.resolve(), *words]
        command = self.cell.command(words, shown, COMPILING, within=builder.BUILD, variables=VARIABLES)
        with tempfile.TemporaryFile() as said, output.open("wb") as made:
            try:
                result = subprocess.run(
                    command, stdin=subprocess.DEVNULL, stdout=made, stderr=said, timeout=SECONDS, check=False
                )
            except subprocess.TimeoutExpired as error:
                raise NotBuilt(f"the compiler did not end within {SECONDS} s") from error
            if result.returncode != 0:
                said.seek(0)
                raise NotBuilt(said.read(4000).decode(errors="replace"))


def compiler():
    cache = (builder.BUILD / "CMakeCache.txt").read_text()
    path = pathlib.Path(re.search(r"^CMAKE_CXX_COMPILER:\w+=(.*)$", cache, re.MULTILINE)[1])
    if not in_usr(path.resolve()):
        raise NotBuilt(f"{path} is not in /usr, and nothing else can be seen from inside")
    return path


def in_usr(path):
    return pathlib.Path("/usr") in path.parents


def include_folders(words):
    for before, word in zip(["", *words], words):
        if before == "-isystem" or word.startswith("-I"):
            folder = pathlib.Path(word.removeprefix("-I"))
            if not in_usr(folder):
                yield folder
