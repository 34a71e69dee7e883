#!/usr/bin/env -S python3 -B
"""prove.py NUMBER [--write | --variants | --times]: that a lab is what it says.

    the project's own source passes every task
    the starter builds, and fails naming each task
    with any one task left blank: it fails naming that one
    each planted mistake fails, its task does, and the hint is its own
    with --variants: the source of each variant passes under its own rule, and under no other
    with --times, on two idle cores: a check takes 15 s with compilation, and 5 s of cases, of the
    project's own source and of each mistake, whose case is made small

--write writes answers.json anew, which the hints rest on, and the board of the competition. A line a finding; the last
one counts them.
"""

import argparse
import json
import os
import shutil
import sys
import time

import builder
import exhibits
import findings
import hints
import lab as labs
import score
import starters
from builder import build, own_program
from judge import Judge
from program import Program


CHECK_MAX, CASES_MAX = 15, 5  # seconds


class Proof:
    def __init__(self, lab, scratch):
        self.lab, self.scratch = lab, scratch
        self.source = (labs.ROOT / lab.source).read_text()
        self.faults = self.findings = self.cases = 0

    def find(self, right, what):
        self.findings += 1
        self.faults += not right
        print(f"{'ok   ' if right else 'WRONG'} {what}", flush=True)

    def program(self, name, source):
        file = self.scratch / name / self.lab.file
        file.parent.mkdir()
        file.write_text(source)
        return build(self.lab, file, self.scratch / name / "program")

    def verdicts(self, right, program, tasks=None, thorough=False):
        with Program([right]) as own, Program([program]) as judged:
            judge = Judge(self.lab, own, judged)
            for task in tasks or self.lab.tasks:
                verdict = judge.look_at(task, "forge", thorough=thorough)
                self.cases += verdict.cases
                yield verdict

    def of_exhibit(self, exhibit):
        """The source of an exhibit; none, and a fault, where the exhibit is stale."""
        try:
            return exhibit.applied_to(self.source)
        except exhibits.Stale as stale:
            self.find(False, str(stale))
            return None

    def solution(self):
        own = own_program(self.lab)
        for verdict in self.verdicts(own, self.program("solution", self.source)):
            self.find(verdict.passed, f"the project's own source passes {verdict.task.name}, {verdict.cases} cases")

    def starter(self):
        program = self.program("starter", starters.starter(self.lab))
        for verdict in self.verdicts(own_program(self.lab), program):
            self.find(bool(verdict.not_begun), f"the starter fails {verdict.task.name}: not begun")

    def nothing(self):
        """The library must not answer in the place of a file that has nothing in it."""
        if self.lab.is_header:
            return
        try:
            self.program("nothing", "namespace forge {}\n")
            self.find(False, "an empty file builds")
        except builder.NotBuilt:
            self.find(True, "an empty file does not build")

    def blanks(self):
        for task in self.lab.tasks:
            blank = starters.without_bodies(self.lab, [task], self.source)
            verdicts = list(self.verdicts(own_program(self.lab), self.program(f"blank_{task.name}", blank)))
            named = {verdict.not_begun for verdict in verdicts if not verdict.passed}
            own = next(verdict for verdict in verdicts if verdict.task is task)
            self.find(not own.passed and named == {task.name}, f"without {task.name}: fails naming it")

    def mistakes(self, write):
        known, wrong_of = {}, {}
        for name, exhibit in self.lab.exhibits("mistakes").items():
            task = self.lab.task(exhibit.head["task"])
            source = self.of_exhibit(exhibit)
            if source is None:
                continue
            program = self.program(f"mistake_{name}", source)
            (verdict,) = self.verdicts(own_program(self.lab), program, [task], thorough=True)
            self.find(verdict.difference is not None, f"{name} fails {task.name}")
            wrong_of[name] = (task, verdict.wrong)
            known.setdefault(task.name, {})[name] = hints.fingerprint(verdict.wrong)
        if write:
            path = self.lab.folder / "answers.json"
            path.write_text(json.dumps(known, indent=1, sort_keys=True) + "\n")
        self.find(known == hints.known_answers(self.lab), "answers.json is what the mistakes answer")
        for name, (task, wrong) in wrong_of.items():
            self.find(hints.mistake_of(self.lab, task, wrong) == name, f"{name} is told by its own hint")

    def board(self, write):
        """The board of the competition, made anew."""
        entries = score.board(self.lab)
        print("\n".join(score.table(entries)))
        if write:
            score.path_of(self.lab).write_text(json.dumps(entries, indent=1) + "\n")
        self.find(entries == json.loads(score.path_of(self.lab).read_text()), "the board is what the policies sustain")

    def of_findings(self):
        """Of a lab of findings: the same, with the mistakes made in the file of findings."""
        solved = json.loads(self.source)
        for task in self.lab.tasks:
            outcome = findings.judge(self.lab, task, solved)
            self.find(outcome.points == task.points, f"the finding for {task.name} {outcome.said}")
            blank = json.loads(findings.starter(self.source))
            self.find(findings.judge(self.lab, task, blank).said == "not begun", f"the starter fails {task.name}: not begun")
            one = {**solved, task.name: blank[task.name]}
            failed = [t.name for t in self.lab.tasks if findings.judge(self.lab, t, one).points < t.points]
            self.find(failed == [task.name], f"without {task.name}: fails naming it")
        hints_given = set()
        for name, exhibit in self.lab.exhibits("mistakes").items():
            task = self.lab.task(exhibit.head["task"])
            outcome = findings.judge(self.lab, task, json.loads(exhibit.applied_to(self.source)))
            own = outcome.hint == findings.hints_of(exhibit.head["hint"]) and outcome.hint not in hints_given
            hints_given.add(outcome.hint)
            self.find(outcome.points < task.points and own, f"{name}: {outcome.said}, told by its own hint")

    def variants(self):
        names = ["", *self.lab.exhibits("variants")]
        programs = {name: own_program(self.lab, name) for name in names}
        for rule, right in programs.items():
            for name, program in programs.items():
                passed = all(verdict.passed for verdict in self.verdicts(right, program))
                said = "passes" if passed else "fails"
                self.find(passed == (rule == name), f"the source of '{name}' {said} under the rule '{rule}'")

    def times(self):
        """Of what `scripts/lab check` does after an edit; the slowest mistake speaks for all."""
        right = own_program(self.lab)
        os.environ["CCACHE_DISABLE"] = "1"  # an edited file is one that ccache has not seen
        began = time.monotonic()
        program = self.program("edited", self.source)
        compiled = time.monotonic() - began
        del os.environ["CCACHE_DISABLE"]
        asked = self.seconds_of_check(right, program)
        self.find(asked <= CASES_MAX and compiled + asked <= CHECK_MAX, f"compiled in {compiled:.1f} s, cases in {asked:.1f} s")
        slowest, name = 0, ""
        for name_of, exhibit in self.lab.exhibits("mistakes").items():
            source = self.of_exhibit(exhibit)
            if source is not None:
                mistaken = self.program(f"mistake_{name_of}", source)
                slowest, name = max((slowest, name), (self.seconds_of_check(right, mistaken), name_of))
        self.find(slowest <= CASES_MAX, f"of the slowest mistake, {name}, cases and shrinking in {slowest:.1f} s")

    def seconds_of_check(self, right, program):
        began = time.monotonic()
        with Program([right]) as own, Program([program]) as judged:
            judge = Judge(self.lab, own, judged)
            for task in self.lab.tasks:
                verdict = judge.look_at(task, "forge", thorough=True)
                self.cases += verdict.cases
                if verdict.difference:
                    judge.make_small(task, verdict.difference)
        return time.monotonic() - began


def main(words):
    parser = argparse.ArgumentParser(prog="prove.py", description=__doc__.split(":")[0])
    parser.add_argument("lab")
    parser.add_argument("--write", action="store_true")
    parser.add_argument("--variants", action="store_true")
    parser.add_argument("--times", action="store_true")
    parser.add_argument("--build", default=builder.BUILD)
    options = parser.parse_args(words)
    builder.build_at(options.build)
    began = time.monotonic()
    lab = labs.find(options.lab)
    # Within the build folder and the same each time: then ccache knows what was compiled before.
    scratch = builder.BUILD / "labs/proofs" / lab.name
    shutil.rmtree(scratch, ignore_errors=True)
    scratch.mkdir(parents=True)
    proof = Proof(lab, scratch)
    if options.variants:
        proof.variants()
    elif options.times:
        proof.times()
    elif lab.kind == "findings":
        proof.of_findings()
    else:
        proof.solution()
        proof.starter()
        proof.nothing()
        proof.blanks()
        proof.mistakes(options.write)
        if lab.exhibits("policies"):
            proof.board(options.write)
    print(f"[  CASES   ] {proof.cases}")
    seconds = time.monotonic() - began
    print(f"{proof.findings - proof.faults} passed, {proof.faults} failed in {seconds:.0f} s")
    return 1 if proof.faults else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
