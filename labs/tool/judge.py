"""Holds a program to another one, case by case, and makes the first difference small.

The other one has the source of the project, or of a variant, and so the right answers. What the judged
program answers is compared here, in a process that has none of its code."""

from dataclasses import dataclass, field

import shrinking

KEPT = 60  # cases whose wrong answers are kept, by which mistakes are known (hints.py)


@dataclass
class Difference:
    case: object
    got: dict
    expected: object
    at: int  # the number of the case that it was shrunk from
    original: object


@dataclass
class Verdict:
    task: object
    cases: int = 0
    not_begun: str = ""
    difference: Difference = None
    wrong: dict = field(default_factory=dict)  # number of a case to what was answered, of the first KEPT

    @property
    def passed(self):
        return not self.not_begun and self.difference is None


class Judge:
    def __init__(self, lab, right, judged):
        self.lab, self.right, self.judged = lab, right, judged
        # What is worse than it may be, of an answer that need not be equal; a function of cases.py.
        self.measure = getattr(lab.module(), "difference", None)

    def expected(self, task, case):
        """The right answer, or none where the case is not a valid one."""
        answer = self.right.ask(task.name, case)
        if "answer" not in answer:
            return None
        return answer["answer"]

    def differs(self, task, got, expected):
        if "answer" not in got:
            return True
        if self.measure:
            return self.measure(task.name, got["answer"], expected) is not None
        return got["answer"] != expected

    def look_at(self, task, seed, count=None, thorough=False):
        """Asks the cases of a task up to the first difference; if `thorough`, all of the first KEPT."""
        verdict = Verdict(task)
        for number, case in enumerate(self.lab.cases_of(task, seed, count)):
            found = verdict.difference
            if found and (not thorough or number >= KEPT or "late" in found.got):
                break
            expected = self.expected(task, case)
            if expected is None:
                died = self.right.ask(task.name, case)
                raise ValueError(f"lab {self.lab.number}, {task.name}: the project's own source: {died}, {case}")
            got = self.judged.ask(task.name, case)
            if "not_begun" in got:
                verdict.not_begun = got["not_begun"]
                break
            verdict.cases += 1
            if self.differs(task, got, expected):
                if number < KEPT:
                    verdict.wrong[number] = got
                verdict.difference = verdict.difference or Difference(case, got, expected, number, case)
        return verdict

    def make_small(self, task, difference):
        """The difference of the smallest case that still has one; one that is late is left as it is, lest
        its time be waited for again and again."""
        if "late" in difference.got:
            return difference

        def still_differs(case):
            expected = self.expected(task, case)
            if expected is None:
                return None
            got = self.judged.ask(task.name, case)
            if "not_begun" in got or not self.differs(task, got, expected):
                return None
            return Difference(case, got, expected, difference.at, difference.original)

        return shrinking.smallest(difference, still_differs)
