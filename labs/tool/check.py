"""scripts/lab check."""

import time

import findings
import hints
import lab as labs
import report
from builder import build, own_program
from judge import Judge
from program import Program
from work import Work

SEED = "forge"


def run(options):
    lab = labs.find(options.lab)
    work = Work(lab, options.work)
    source = work.must_be_there()
    if lab.kind == "findings":
        return check_findings(lab, work, source)
    tasks = [lab.task(options.task)] if options.task else lab.tasks
    variant = work.kept.get("variant", "")
    right = own_program(lab, variant)
    began = time.monotonic()
    program = build(lab, source, work.folder / "program")
    compiled = time.monotonic()
    of_variant = f", variant {variant}" if variant else ""
    print(f"lab {int(lab.number)}, {lab.title}{of_variant}: compiled in {compiled - began:.1f} s; it runs with your rights, not shut in")
    points = dict(work.kept.get("points", {}))
    first, failed = None, []
    with Program([right]) as own, Program([program]) as judged:
        judge = Judge(lab, own, judged)
        for task in tasks:
            verdict = judge.look_at(task, options.seed, thorough=True)
            points[task.name] = task.points if verdict.passed else 0
            print(report.task_line(task, points[task.name], said(lab, task, verdict, failed)), flush=True)
            if verdict.difference:
                found = judge.make_small(task, verdict.difference)
                print(report.indented(report.difference(found, getattr(lab.module(), "describe", None))))
                hint = None if variant else hints.hint_of(lab, task, verdict.wrong)
                if hint:
                    print(report.indented([f"hint: {hint}"]))
                first = first or {"task": task.name, "case": found.case}
                failed.append(task)
    work.keep(points=points, difference=first)
    whole = sum(task.points for task in lab.tasks)
    print(f"{sum(points.values())} of {whole} points, {time.monotonic() - compiled:.1f} s")
    return 0 if all(points.get(task.name, 0) == task.points for task in tasks) else 1


def check_findings(lab, work, source):
    found = findings.read(lab, source)
    points = {}

    def started(task):
        """A class may have been given other bugs (classes.py)."""
        given = work.folder / f"lab_{lab.number}_{task.name}" if task else None
        return Program([given if given and given.exists() else findings.program_of(lab, task)])

    print(f"lab {int(lab.number)}, {lab.title}")
    for task in lab.tasks:
        outcome = findings.judge(lab, task, found, started)
        points[task.name] = outcome.points
        print(report.task_line(task, outcome.points, outcome.said))
        print_lines = findings.lines_of(outcome) + ([f"hint: {outcome.hint}"] if outcome.hint else [])
        if print_lines:
            print(report.indented(print_lines))
    work.keep(points=points)
    whole = sum(task.points for task in lab.tasks)
    print(f"{sum(points.values())} of {whole} points")
    return 0 if sum(points.values()) == whole else 1


def said(lab, task, verdict, failed):
    """`failed` are tasks before it that do not pass: a case of one plays the others' code, too."""
    if verdict.not_begun and lab.task(verdict.not_begun).function == task.function:
        return "not begun"
    if verdict.not_begun:
        return f"waits for {lab.task(verdict.not_begun).place} {verdict.not_begun}, which is not begun"
    if verdict.difference is None:
        return report.count(verdict.cases, "case")
    after = f"wrong after {report.count(verdict.difference.at, 'right case')}"
    return f"{after}; {failed[0].place} fails, too: the mistake may be in either" if failed else after
