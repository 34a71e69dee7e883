"""scripts/lab show: the last difference once more, whole; a schedule is recorded, to be stepped through."""

import os
import sys

import builder
import lab as labs
import report
from program import Program
from work import Work


def run(options):
    lab = labs.find(options.lab)
    work = Work(lab, options.work)
    work.must_be_there()
    found = work.kept.get("difference")
    if not found:
        print(f"The last check found no difference; scripts/lab check {int(lab.number)} looks for one.")
        return 0
    describe = getattr(lab.module(), "describe", report.of_case)
    print("\n".join([f"{lab.task(found['task']).place} {found['task']}", *describe(found["case"])]))
    traces = []
    of_program = {
        "yours": work.folder / "program",
        "expected": builder.own_program(lab, work.kept.get("variant", "")),
    }
    for name, command in of_program.items():
        with Program([command]) as program:
            print(f"{name}:")
            print("\n".join("  " + line for line in report.of_got(program.ask(found["task"], found["case"]))), flush=True)
            if lab.recorded:
                traces += record(program, found["case"], work.folder / f"{name}.jsonl")
    if traces:
        step_through(traces)
    return 0


def record(program, case, path):
    """The trace, in a list; none where the program dies on the way."""
    got = program.ask("trace", case)
    if "answer" not in got:
        return []
    path.write_text(got["answer"])
    return [path]


def step_through(traces):
    stepper = builder.BUILD / "bin/forge-trace"
    if stepper.exists() and sys.stdin.isatty() and sys.stdout.isatty():
        os.execv(stepper, [stepper, "step", traces[0]])
    print("recorded, for forge-trace step and for the page: " + ", ".join(str(path) for path in traces))
