"""scripts/lab COMMAND: the labs of the course. Each gives out a source of the project from which the
bodies of some functions are left out, and checks what was written in their place.

    list                    the labs, and your points
    start N                 writes the file to work on; an existing one is kept
    check N [--task K]      compiles it, links it in the place of the project's own, and compares answers
    hint N [--task K]       the next hint for the first task that does not pass yet
    show N                  the last failing case once more; where it is a schedule, to be stepped through
    score [--recorded FILE] runs your policy of lab 12 against those that people know
    quiz N [--answers]      five questions on a run of your program, for labs about schedules
    submit N                gathers what you hand in, in work/submission
    reset N                 begins anew; what was written is kept beside it as FILE.old

For teachers:

    class FOLDER init              makes a class, with a secret of its own
    class FOLDER hidden            makes its hidden exhibits of lab 14
    class FOLDER variant STUDENT   the variant of each lab that a student has
    grade FOLDER SUBMISSIONS       compiles and runs what was handed in, shut in, with hidden cases; prints CSV

N is the number of a lab, K the name or the number of a task. Your files are in work. A check
compares with the project's own source on cases made from a seed; it does not shut your program in.

Exit status: 0 if all that was asked for passes; 1 if not; 2 for bad arguments.
"""

import argparse
import sys

import builder
import check
import classes
import grade
import isolation
import lab as labs
import quiz
import report
import score
import show
import starters
import submit
from builder import NotBuilt
from findings import Unreadable
from work import NotStarted, Work

REFUSALS = (labs.NoSuchLab, NotStarted, Unreadable, classes.NotAClass, grade.Refused, score.NotRecorded, isolation.NotIsolated)


def arguments(words):
    parser = argparse.ArgumentParser(
        prog="scripts/lab", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    commands.add_parser("list")
    for module in (score, quiz, submit, classes, grade):
        module.add_to(commands)
    for name in ("start", "check", "hint", "show", "reset"):
        command = commands.add_parser(name)
        command.add_argument("lab", metavar="N")
        if name in ("check", "hint"):
            command.add_argument("--task", metavar="K")
        if name == "check":
            command.add_argument("--seed", default=check.SEED, help=f"of the cases ({check.SEED})")
        if name == "start":
            command.add_argument("--variant", default="", metavar="NAME", help="with another rule than the project's")
    for command in commands.choices.values():
        command.add_argument("--build", metavar="FOLDER", default=builder.BUILD, help="of the preset release")
        command.add_argument("--work", metavar="FOLDER", help="where your files are (work)")
    return parser.parse_args(words)


def print_list(options):
    for lab in labs.all_labs():
        work = Work(lab, options.work)
        whole = sum(task.points for task in lab.tasks)
        state = f"{work.points()}/{whole} points" if work.file.exists() else "not started"
        print(f"{int(lab.number):>3}  {lab.title:<40} {state:<14} {lab.chapter}")
    return 0


def start(options):
    lab = labs.find(options.lab)
    work = Work(lab, options.work)
    if work.file.exists():
        print(f"{work.file} is there already; scripts/lab reset {int(lab.number)} begins anew")
        return 0
    work.folder.mkdir(parents=True, exist_ok=True)
    work.file.write_text(starters.starter(lab, options.variant))
    work.keep(variant=options.variant)
    print(f"Lab {int(lab.number)}: {lab.title}\n\n{lab.about}\n\nRead {lab.chapter} first. Then write, in {work.file}:")
    for task in lab.tasks:
        print(f"  {task.place:>5} {lab.called(task) or task.name} ({report.count(task.points, 'point')})")
    print(f"\nscripts/lab check {int(lab.number)} says how far you are; scripts/lab hint {int(lab.number)} helps.")
    return 0


def give_hint(options):
    lab = labs.find(options.lab)
    work = Work(lab, options.work)
    points = work.kept.get("points", {})
    open_tasks = [task for task in lab.tasks if points.get(task.name, 0) < task.points]
    if not options.task and not open_tasks:
        print("Every task passes.")
        return 0
    task = lab.task(options.task) if options.task else open_tasks[0]
    given = work.kept.get("hints", {})
    count = min(given.get(task.name, 0) + 1, len(task.hints))
    work.keep(hints={**given, task.name: count})
    print(f"{task.place} {task.name}, hint {count} of {len(task.hints)}:\n{task.hints[count - 1]}")
    return 0


def reset(options):
    lab = labs.find(options.lab)
    work = Work(lab, options.work)
    if work.file.exists():
        work.file.rename(work.file.with_name(lab.file + ".old"))
    options.variant = work.kept.get("variant", "")
    work.keep(points={}, difference=None)
    return start(options)


COMMANDS = {
    "list": print_list,
    "start": start,
    "check": check.run,
    "hint": give_hint,
    "show": show.run,
    "reset": reset,
    "score": score.run,
    "quiz": quiz.run,
    "submit": submit.run,
    "class": classes.run,
    "grade": grade.run,
}


def main(words):
    options = arguments(words)
    builder.build_at(options.build)
    try:
        return COMMANDS[options.command](options)
    except REFUSALS as error:
        print(f"scripts/lab: {error}", file=sys.stderr)
        return 2
    except NotBuilt as error:
        print(error, file=sys.stderr)
        print("scripts/lab: it does not compile", file=sys.stderr)
        return 1


if __name__ == "__main__":
    try:
        sys.exit(main(sys.argv[1:]))
    except BrokenPipeError:  # whoever reads has read enough
        sys.exit(1)
