"""scripts/lab, as a student meets it. Arguments: the build folder, then unittest's."""

import pathlib
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "labs/tool"))

import hints  # noqa: E402
import shrinking  # noqa: E402
from judge import Difference  # noqa: E402
from program import Program  # noqa: E402

BUILD = ROOT / "build/release"
SOLUTION = ROOT / "src/text/stop_filter.cc"


class Student(unittest.TestCase):
    """Works on lab 1, in a folder of its own."""

    def setUp(self):
        self.work = tempfile.TemporaryDirectory()
        self.addCleanup(self.work.cleanup)
        self.file = pathlib.Path(self.work.name) / "01_stop_strings/stop_filter.cc"

    def lab(self, *words):
        command = [ROOT / "scripts/lab", *words]
        if words[0] in ("list", "start", "check", "hint", "show", "reset", "score"):
            command += ["--work", self.work.name, "--build", BUILD]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        self.said = done.stdout + done.stderr
        return done.returncode

    def write(self, *changes):
        text = SOLUTION.read_text()
        for before, after in changes:
            self.assertEqual(text.count(before), 1, before)
            text = text.replace(before, after)
        self.file.parent.mkdir(exist_ok=True)
        self.file.write_text(text)

    def test_the_way_from_the_starter_to_all_points(self):
        self.assertEqual(self.lab("list"), 0)
        self.assertIn("not started", self.said)
        self.assertEqual(self.lab("check", "1"), 2)
        self.assertIn("begin with scripts/lab start 1", self.said)
        self.assertEqual(self.lab("start", "1"), 0)
        self.assertIn("FORGE_LAB_TODO(push);", self.file.read_text())
        self.assertEqual(self.lab("check", "1"), 1)
        for task in ("advance", "push", "finish"):
            self.assertRegex(self.said, rf"{task} .*(not begun|waits for)")
        self.write()
        self.assertEqual(self.lab("check", "1"), 0, self.said)
        self.assertIn("8 of 8 points", self.said)
        self.assertEqual(self.lab("hint", "1"), 0)
        self.assertIn("Every task passes.", self.said)
        self.assertEqual(self.lab("list"), 0)
        self.assertIn("8/8 points", self.said)

    def test_policies_are_held_to_recorded_requests(self):
        self.assertEqual(self.lab("start", "12"), 0)
        policy = self.file.parents[1] / "12_chunks/policy.cc"
        policy.write_text((ROOT / "src/core/policy.cc").read_text())
        recorded = self.file.parents[1] / "recorded.csv"
        recorded.write_text("TIMESTAMP,ContextTokens,GeneratedTokens\n2023-11-16 18:15:46.0,70000,9\n")
        self.assertEqual(self.lab("score", "--recorded", str(recorded)), 2)
        self.assertIn("recorded.csv: has no two requests that fit", self.said)
        with recorded.open("a") as rows:
            rows.writelines(f"2023-11-16 18:15:{second}.0,{second * 9},20\n" for second in range(47, 60))
        self.assertEqual(self.lab("score", "--recorded", str(recorded)), 0, self.said)
        rates = dict(line.split() for line in self.said.strip().split("\n")[1:])
        self.assertEqual(set(rates), {"fcfs", "forge", "prefill_first", "shortest_job", "yours"})
        self.assertEqual(rates["yours"], rates["fcfs"])
        self.assertGreater(float(rates["yours"]), 1)
        self.assertEqual(self.lab("score", "--recorded", str(recorded) + "x"), 2)
        self.assertIn("there is no file", self.said)

    def test_what_was_written_is_never_lost(self):
        self.write()
        self.assertEqual(self.lab("start", "1"), 0)
        self.assertIn("is there already", self.said)
        self.assertEqual(self.file.read_text(), SOLUTION.read_text())
        self.assertEqual(self.lab("reset", "1"), 0)
        self.assertIn("FORGE_LAB_TODO", self.file.read_text())
        self.assertEqual(self.file.with_name("stop_filter.cc.old").read_text(), SOLUTION.read_text())

    def test_a_mistake_is_shown_small_with_its_hint_and_again(self):
        self.write(("while (matched > 0 && stop[matched] != next) matched = border[matched];",
                    "if (stop[matched] != next) matched = 0;"))
        self.assertEqual(self.lab("check", "1", "--task", "advance"), 1)
        self.assertIn('pieces     ["aaa"]', self.said)
        self.assertIn('expected   after "aaa": "a"', self.said)
        self.assertIn("hint: after a character that does not fit", self.said)
        self.assertEqual(self.lab("show", "1"), 0)
        self.assertIn("yours:", self.said)
        first = self.said
        self.assertEqual(self.lab("check", "1", "--task", "1"), 1)
        self.assertEqual(self.lab("show", "1"), 0)
        self.assertEqual(self.said, first)

    def test_hints_go_on_to_the_last(self):
        self.lab("start", "1")
        for count in (1, 2, 3, 3):
            self.assertEqual(self.lab("hint", "1", "--task", "push"), 0)
            self.assertIn(f"1.2 push, hint {count} of 3", self.said)

    def test_a_crash_is_an_answer_to_one_case(self):
        self.write(("  if (!stopped_) out += held_;", '  if (held_ == "st") __builtin_trap();\n  if (!stopped_) out += held_;'))
        self.assertEqual(self.lab("check", "1"), 1)
        self.assertRegex(self.said, r"advance +3/3")
        self.assertRegex(self.said, r"finish +0/1")
        self.assertIn("yours      (signal", self.said)

    def test_what_does_not_compile_says_why(self):
        self.write(("  held_.clear();", "  held_.clean();"))
        self.assertEqual(self.lab("check", "1"), 1)
        self.assertIn("clean", self.said)
        self.assertIn("it does not compile", self.said)

    def test_wrong_words_are_told(self):
        for words, told in [(("check", "99"), "there is no lab '99'"), (("start", "1", "--variant", "x"), "no variant 'x'"),
                            (("fly",), "invalid choice"), (("hint", "1", "--task", "x"), "has no task 'x'")]:
            self.assertEqual(self.lab(*words), 2, words)
            self.assertIn(told, self.said)


class Answers(unittest.TestCase):
    """Programs that do not answer as they must."""

    def ask(self, script, seconds=20):
        with Program(["bash", "-c", script], seconds) as program:
            return program.ask("push", {})

    def test_an_answer_is_what_it_wrote(self):
        self.assertEqual(self.ask('read -r; echo \'{"answer": [1]}\''), {"answer": [1]})
        self.assertEqual(self.ask('read -r; echo \'{"not_begun": "push"}\''), {"not_begun": "push"})

    def test_an_early_exit_is_none(self):
        self.assertIn("status 0", self.ask("exit 0")["died"])
        self.assertIn("status 3 before it answered: no more", self.ask("echo no more >&2; exit 3")["died"])
        self.assertIn("signal 11", self.ask("kill -11 $$")["died"])

    def test_text_is_none(self):
        for line in ("passed", "[]", '{"answer": 1, "points": 9}', '{"points": 9}'):
            self.assertIn("no answer", self.ask(f"read -r; echo '{line}'")["died"])

    def test_what_takes_too_long_is_late(self):
        answer = self.ask("read -r; sleep 60", seconds=0.2)
        self.assertTrue(answer["late"])
        self.assertIn("within 0.2 s", answer["died"])


class Small(unittest.TestCase):
    def smallest(self, case, differs):
        def found(smaller):
            return Difference(smaller, {}, None, 0, case) if differs(smaller) else None

        return shrinking.smallest(Difference(case, {}, None, 0, case), found).case

    def test_what_makes_no_difference_goes(self):
        case = {"steps": [{"new": n} for n in range(20)], "text": "abcxdef", "flag": True, "scale": 2.5}
        small = self.smallest(case, lambda c: any(step["new"] >= 7 for step in c["steps"]) and "x" in c["text"])
        self.assertEqual(small, {"steps": [{"new": 7}], "text": "x", "flag": False, "scale": 2.5})

    def test_it_ends_within_its_questions(self):
        asked = []
        self.smallest({"list": list(range(5000))}, lambda c: not asked.append(c) and len(c["list"]) > 4000)
        self.assertLessEqual(len(asked), shrinking.QUESTIONS)


class Likeness(unittest.TestCase):
    def test_paths_and_numbers_of_a_death_do_not_count(self):
        one = hints.digest({"died": "signal 6: /a/b.cc:12: check failed: x > 0 (x=3)"})
        other = hints.digest({"died": "signal 6: c/d.cc:9: check failed: x > 0 (x=4)"})
        self.assertEqual(one, other)
        self.assertNotEqual(one, hints.digest({"died": "signal 6: /a/b.cc:12: check failed: y > 0 (y=3)"}))

    def test_it_is_the_share_that_both_gave(self):
        self.assertEqual(hints.likeness({"1": "a", "2": "b"}, {"1": "a", "2": "b"}), 1)
        self.assertEqual(hints.likeness({"1": "a", "2": "b"}, {"1": "a", "3": "b"}), 1 / 3)
        self.assertEqual(hints.likeness({"1": "a"}, {"1": "b"}), 0)


if __name__ == "__main__":
    BUILD = pathlib.Path(sys.argv.pop(1)).resolve()
    unittest.main()
