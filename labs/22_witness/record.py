#!/usr/bin/env -S python3 -B
"""record.py [NAME ...] [--build FOLDER]: records the runs of broken schedulers anew, all or those named.

runs/NAME.json is a case (playing.h) with the plans that a scheduler makes of it which has the exhibit
NAME of property_tests/museum. What is recorded is the member plans; whether a witness sees it is for
prove.py to say.
"""

import argparse
import json
import pathlib
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parents[0] / "tool"))

import builder  # noqa: E402
import exhibits  # noqa: E402
import lab as labs  # noqa: E402
from program import Program  # noqa: E402

MUSEUM = labs.ROOT / "property_tests/museum"


def with_bug(lab, name):
    """The program of the lab whose scheduler has the bug; built where it is not there."""
    exhibit = exhibits.read(MUSEUM / f"{name}.exhibit")
    source = labs.ROOT / exhibit.head["source"]
    folder = builder.BUILD / "labs/museum" / name
    folder.mkdir(parents=True, exist_ok=True)
    copy = folder / source.name
    text = exhibit.applied_to(source.read_text())
    program = folder / "program"
    if builder.is_older(program, [builder.own_program(lab)]) or not copy.exists() or copy.read_text() != text:
        copy.write_text(text)
        builder.build(lab, copy, program, beside=True)
    return program


def rows(program, case):
    """The plans, as any task answers them, before what its witness says."""
    with Program([program]) as asked:
        answer = asked.ask("slices", {name: member for name, member in case.items() if name != "plans"})
    return answer["answer"][:-1]


def text_of(case):
    """A member a line; of lists, an element a line."""
    members = []
    for name, member in case.items():
        value = json.dumps(member)
        if isinstance(member, list):
            value = "[\n    " + ",\n    ".join(json.dumps(element) for element in member) + "\n  ]"
        members.append(f"  {json.dumps(name)}: {value}")
    return "{\n" + ",\n".join(members) + "\n}\n"


def main(words):
    parser = argparse.ArgumentParser(prog="record.py", description=__doc__.split(":")[0])
    parser.add_argument("names", nargs="*", metavar="NAME")
    parser.add_argument("--build", default=builder.BUILD)
    options = parser.parse_args(words)
    builder.build_at(options.build)
    lab = labs.find(HERE.name)
    for name in options.names or sorted(path.stem for path in (HERE / "runs").glob("*.json")):
        path = HERE / "runs" / f"{name}.json"
        case = json.loads(path.read_text())
        case["plans"] = rows(with_bug(lab, name), case)
        path.write_text(text_of(case))
        print(f"{name}: {len(case['plans'])} steps")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
