"""Compiles one file of a student's and links it in the place of the project's own, by the very commands
by which the lab's own program was built."""

import pathlib
import re
import shlex
import subprocess

import archives
from lab import LABS, ROOT

BUILD = ROOT / "build/release"  # or another one of the same preset (--build)
# Left out of a starter's build: a body that is missing uses nothing.
QUIET = ["-Wno-error", "-Wno-unused-parameter", "-Wno-unused-function", "-Wno-unused-variable"]


class NotBuilt(Exception):
    """What the compiler or the linker says."""


def build_at(folder):
    global BUILD
    BUILD = pathlib.Path(folder).resolve()


def is_older(program, sources):
    made = program.stat().st_mtime if program.exists() else 0
    return any(source.exists() and source.stat().st_mtime > made for source in sources)


def own_program(lab, variant="", suffix=""):
    """The program with the project's own source, or that of a variant; built if it is not there. A
    suffix means another program of the lab."""
    program = BUILD / "bin" / f"lab_{lab.number}{suffix}"
    if is_older(program, [ROOT / lab.source, *lab.folder.glob("*.cc"), *lab.folder.glob("*.h"), *LABS.glob("*.cc"), *LABS.glob("*.h")]):
        target = program.name
        command = ["cmake", "--build", BUILD, "--target", target]
        if not (BUILD / "build.ninja").exists():
            command = [ROOT / "scripts/build", "release", target]
        result = subprocess.run(command, capture_output=True, text=True, check=False)
        if result.returncode != 0:
            raise NotBuilt(result.stdout[-4000:] + result.stderr[-4000:])
    if not variant:
        return program
    of_variant = BUILD / "labs/variants" / lab.name / variant / "program"
    source = of_variant.with_name(lab.file)
    text = lab.variant(variant).applied_to((ROOT / lab.source).read_text())
    if is_older(of_variant, [program]) or source.read_text() != text:
        source.parent.mkdir(parents=True, exist_ok=True)
        source.write_text(text)
        build(lab, source, of_variant)
    return of_variant


def commands(lab):
    """How the own program compiles its source, and how it is linked."""
    target = f"bin/lab_{lab.number}"
    listed = subprocess.run(
        ["ninja", "-C", BUILD, "-t", "commands", "-s", target], capture_output=True, text=True, check=True
    )
    link = shlex.split(listed.stdout)
    link = link[link.index("&&") + 1 : -2]  # `: && link && :`
    compiled = re.escape("answer.cc" if lab.is_header else lab.file)
    (own,) = [word for word in link if re.search(rf"lab_{lab.number}\.dir/.*\b{compiled}\.o$", word)]
    listed = subprocess.run(
        ["ninja", "-C", BUILD, "-t", "commands", "-s", own], capture_output=True, text=True, check=True
    )
    return shlex.split(listed.stdout.strip().split("\n")[-1]), link, own


def without_output(command):
    """The words of a command to compile but for where it writes to, and the file that it compiles."""
    words, compiled, before = [], None, None
    for word in command:
        if before == "-c":
            compiled = word
        if before not in ("-MF", "-MT", "-o", "-c") and word not in ("-MF", "-MT", "-o", "-c", "-MD"):
            words.append(word)
        before = word
    return words, compiled


def build(lab, source, program, beside=False):
    """Makes `program` of the file `source`, which stands in the place of the lab's source, or `beside`
    it, for another source of the library. Raises NotBuilt with what the compiler said."""
    compile_, link, own = commands(lab)
    program.parent.mkdir(parents=True, exist_ok=True)
    made = program.with_suffix(".o")
    words, compiled = without_output(compile_)
    includes = [f"-I{LABS}"]
    if lab.is_header:  # what includes it is compiled, and finds the student's first
        shadow = program.with_suffix(".include")
        copy = shadow / lab.included_as
        copy.parent.mkdir(parents=True, exist_ok=True)
        copy.write_text(source.read_text())
        includes.insert(0, f"-I{shadow}")
    else:
        compiled = str(source)
    first = next(at for at, word in enumerate(words) if word.startswith("-I"))
    run([*words[:first], *includes, *words[first:], *QUIET, "-o", str(made), "-c", compiled])
    objects = {own: [str(made), own] if beside else [str(made)], f"bin/lab_{lab.number}": [str(program)]}
    if not beside:
        for archive, copy in archives.without_own(lab, link, BUILD, program.parent).items():
            objects[archive] = [str(copy)]
    run([changed for word in link for changed in objects.get(word, [word])])
    return program


def run(command):
    result = subprocess.run(command, cwd=BUILD, capture_output=True, text=True, check=False)
    if result.returncode != 0:
        raise NotBuilt(result.stderr or result.stdout)
