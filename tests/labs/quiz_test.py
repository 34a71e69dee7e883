"""The quiz of a recorded lab (labs/tool/quiz.py), and what is handed in (submit.py).

    quiz_test.py BUILD [unittest arguments]

BUILD is a build folder of the preset release.
"""

import contextlib
import io
import json
import pathlib
import random
import re
import shutil
import subprocess
import sys
import tempfile
import types
import unittest
from unittest import mock

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "labs/tool"))

import builder  # noqa: E402
import lab as labs  # noqa: E402
import quiz  # noqa: E402
import submit  # noqa: E402
from program import Program  # noqa: E402
from schedules import request  # noqa: E402
from traces import Trace  # noqa: E402

# Six blocks of one token, and four tokens a step.
#   0  1 and 2 come with prompts of 2: four blocks are held.
#   1  3 has come and waits. Each of the others needs a block more: none is free.
#   2  Each needs one more. 2 came later, and gives way; all else is equal. 1 has its 3 tokens.
#   3  1 has left. 2 is first in the queue, and all its 4 tokens run, of which 3 had KV before.
#   4  2 takes a fifth block, and 3 comes and takes the last one. 2 has its 4 tokens.
#   5  2 has left. 3 takes a second block, and has its 2 tokens.
#   6  3 has left.
SCHEDULE = {
    "blocks": 6,
    "block_size": 1,
    "batch": 4,
    "tokens": 4,
    "steps": [{"submit": [request(2, 3), request(2, 4)]}, {"submit": [request(1, 2)]}],
}


def printed_by(run, options, lines=""):
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed), mock.patch.object(sys, "stdin", io.StringIO(lines)):
        return run(options), printed.getvalue()


class QuizTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.folder = pathlib.Path(folder.name)
        cls.lab = labs.find("11")
        file = cls.folder / cls.lab.name / cls.lab.file
        file.parent.mkdir()
        shutil.copy(ROOT / cls.lab.source, file)
        cls.program = Program([builder.own_program(cls.lab)])
        cls.addClassCleanup(cls.program.__exit__)

    def options(self, **members):
        usual = {"lab": "11", "work": self.folder, "seed": "forge", "answers": False}
        return types.SimpleNamespace(**{**usual, **members})

    def trace_of(self, case):
        return self.program.ask("trace", case)["answer"]


class Traces(QuizTest):
    def test_it_is_the_run(self):
        steps = Trace(self.trace_of(SCHEDULE)).steps
        self.assertEqual([step.number for step in steps], list(range(7)))
        self.assertEqual([step.free for step in steps], [2, 0, 2, 2, 0, 4, 6])
        self.assertEqual([step.again for step in steps], [0, 0, 0, 3, 0, 0, 0])
        self.assertEqual([step.preempted for step in steps], [[], [], [2], [], [], [], []])
        self.assertEqual([step.entered for step in steps], [[1, 2], [], [], [2], [3], [], []])
        self.assertEqual([step.finished for step in steps], [[], [], [], [1], [], [2], [3]])
        self.assertEqual([step.first_tokens for step in steps], [[1, 2], [], [], [], [3], [], []])
        self.assertEqual(steps[2].running, [(1, "normal", 2), (2, "normal", 2)])

    def test_it_says_what_forge_trace_says(self):
        builder.run(["cmake", "--build", str(builder.BUILD), "--target", "forge-trace"])
        path = self.folder / "trace.jsonl"
        for task in self.lab.tasks:
            for case in self.lab.cases_of(task, "traces", 4):
                path.write_text(self.trace_of(case))
                trace = Trace(path.read_text())
                command = [builder.BUILD / "bin/forge-trace", "stats", path]
                said = subprocess.run(command, capture_output=True, text=True, check=True).stdout
                again = re.search(r"(\d+) of these again", said)
                self.assertEqual(trace.again, int(again[1]) if again else 0, case)
                command[1] = "show"
                said = subprocess.run(command, capture_output=True, text=True, check=True).stdout
                self.assertEqual([step.free for step in trace.steps], free_blocks(said), case)


def free_blocks(shown):
    """Of each step: the dots of its block map, which stands at the end of a line."""
    found = []
    for line in shown.rstrip("\n").split("\n")[1:]:
        if line[:6].strip():
            found.append(line.split()[-1].count("."))
    return found


class Questions(QuizTest):
    def ask(self, kind):
        return kind(Trace(self.trace_of(SCHEDULE)), random.Random(1))

    def assert_asks(self, kind, text, answer):
        question = self.ask(kind)
        self.assertRegex(question.text, text)
        self.assertEqual(question.answer, answer)
        self.assertTrue(question.is_right(" ".join(map(str, answer))))

    def test_what_the_answers_are(self):
        self.assert_asks(quiz.who_gives_way, "gives way in step 2", [2, 1])
        self.assert_asks(quiz.what_runs_again, "run again", [3])
        self.assert_asks(quiz.who_comes_next, "next .* after step [12]", [2])
        self.assert_asks(quiz.when_it_begins, "sequence 3 get its first token", [4])
        question = self.ask(quiz.what_is_free)
        step = int(re.search(r"while step (\d) runs", question.text)[1])
        self.assertEqual(question.answer, [[2, 0, 2, 2, 0, 4, 6][step]])

    def test_how_an_answer_is_read(self):
        question = quiz.Question("", [4, 3, 1], "")
        for line in ("4 3 1", "4, with 1 and 3", "4 1 3\n"):
            self.assertTrue(question.is_right(line), line)
        for line in ("3 4 1", "4", "4 3 1 1", "none", ""):
            self.assertFalse(question.is_right(line), line)
        self.assertTrue(quiz.Question("", [], "").is_right("none"))
        self.assertFalse(quiz.Question("", [], "").is_right(""))

    def test_who_knows_the_answers_passes(self):
        status, printed = printed_by(quiz.run, self.options(answers=True))
        self.assertEqual(status, 0)
        answers = re.findall(r"^   ([\d ]+|none); ", printed, re.MULTILINE)
        self.assertEqual(len(answers), 5)
        status, printed = printed_by(quiz.run, self.options(), "\n".join(answers) + "\n")
        self.assertEqual((status, printed.count("right: "), printed.count("wrong: ")), (0, 5, 0), printed)
        answers[2] += " 99"
        status, printed = printed_by(quiz.run, self.options(), "\n".join(answers[:4]))
        self.assertEqual((status, printed.count("right: "), printed.count("wrong: ")), (1, 3, 2), printed)

    def test_another_seed_is_another_schedule(self):
        texts = {printed_by(quiz.run, self.options(answers=True, seed=seed))[1] for seed in ("ann", "bob")}
        self.assertEqual(len(texts), 2)

    def test_a_lab_without_schedules_has_none(self):
        with self.assertRaisesRegex(labs.NoSuchLab, "records nothing"):
            quiz.run(self.options(lab="1"))


class Submissions(QuizTest):
    def test_it_is_the_file_and_what_it_answers(self):
        status, _ = printed_by(submit.run, self.options())
        self.assertEqual(status, 0)
        folder = self.folder / "submission" / self.lab.name
        self.assertEqual((folder / self.lab.file).read_text(), (ROOT / self.lab.source).read_text())
        said = json.loads((folder / "submission.json").read_text())
        self.assertEqual(said["variant"], "")
        self.assertEqual(said["commits"], [])
        own = {task.name: submit.digest_of_answers(self.lab, task, self.program) for task in self.lab.tasks}
        self.assertEqual(said["answers"], own)

    def test_it_names_the_commits_of_the_file(self):
        folder = self.folder / "repository"
        folder.mkdir()
        file = folder / "file.cc"
        self.assertEqual(submit.commits(file), [])
        file.touch()
        git = ["git", "-C", folder, "-c", "user.name=ann", "-c", "user.email=ann@example.org"]
        for words in (["init", "-q"], ["add", "file.cc"], ["commit", "-q", "-m", "begun"]):
            subprocess.run([*git, *words], check=True)
        self.assertRegex(submit.commits(file)[0], r"^[0-9a-f]+ begun$")


if __name__ == "__main__":
    builder.build_at(sys.argv.pop(1))
    unittest.main()
