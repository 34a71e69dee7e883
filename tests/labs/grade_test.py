"""Classes and grading (labs/tool): what each student gets, and that what is handed in can do no harm.

    grade_test.py BUILD [unittest arguments]

BUILD is a build folder of the preset release.
"""

import contextlib
import csv
import io
import os
import pathlib
import re
import shutil
import signal
import socket
import stat
import subprocess
import sys
import tempfile
import time
import types
import unittest
from unittest import mock

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "labs/tool"), str(ROOT / "tests/labs")]

import builder  # noqa: E402
import classes  # noqa: E402
import findings  # noqa: E402
import grade  # noqa: E402
import hidden  # noqa: E402
import hostile  # noqa: E402
import isolation  # noqa: E402
import lab as labs  # noqa: E402

needs_bubblewrap = unittest.skipUnless(shutil.which("bwrap"), "bubblewrap is not installed")


class Table:
    """What grade prints, by student and task."""

    def __init__(self, folder, submissions):
        options = types.SimpleNamespace(folder=folder, submissions=submissions)
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            self.status = grade.run(options)
        self.text = printed.getvalue()
        self.rows = list(csv.DictReader(io.StringIO(self.text)))

    def of(self, student):
        return [row for row in self.rows if row["student"] == student]

    def points(self, student):
        return [int(row["points"]) for row in self.of(student)]

    def said(self, student):
        return self.of(student)[0]["said"]


class FolderTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.folder = pathlib.Path(folder.name)

    def new_class(self):
        return classes.init(tempfile.mkdtemp(dir=self.folder))


class Classes(FolderTest):
    def test_its_secret_is_the_teachers(self):
        made = self.new_class()
        self.assertEqual(stat.S_IMODE(classes.file_of(made.folder).stat().st_mode), 0o600)
        self.assertNotEqual(made.secret, self.new_class().secret)

    def test_it_is_made_once_and_not_in_the_repository(self):
        made = self.new_class()
        with self.assertRaisesRegex(classes.NotAClass, "is a class already"):
            classes.init(made.folder)
        with self.assertRaisesRegex(classes.NotAClass, "in the repository"):
            classes.init(ROOT / "labs/class")
        with self.assertRaisesRegex(classes.NotAClass, "is no class"):
            classes.load(self.folder / "nothing")

    def test_students_share_the_variants_out(self):
        made = self.new_class()
        students = [f"student {number}" for number in range(200)]
        with_variants = [lab for lab in labs.all_labs() if lab.exhibits("variants")]
        self.assertGreaterEqual(len(with_variants), 6)
        for lab in with_variants:
            given = [made.variant(student, lab) for student in students]
            self.assertEqual(given, [classes.load(made.folder).variant(student, lab) for student in students])
            self.assertEqual(set(given), set(lab.exhibits("variants")))
            fair = len(students) / len(set(given))
            self.assertTrue(all(fair / 2 < given.count(name) < fair * 2 for name in set(given)), given)

    def test_each_has_a_seed_of_its_own(self):
        one, other = self.new_class(), self.new_class()
        lab = labs.find("1")
        seeds = [each.seed(student, lab) for each in (one, other) for student in ("ann", "bob")]
        self.assertEqual(len(set(seeds)), 4)


@needs_bubblewrap
class Grading(FolderTest):
    """All are graded once: those who never end with less time."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        lab = labs.find("1")
        source = ROOT / lab.source
        cls.the_class = classes.init(cls.folder / "class")
        secret = classes.file_of(cls.the_class.folder)
        listening = socket.create_server(("127.0.0.1", 0))
        cls.addClassCleanup(listening.close)
        cls.submissions = cls.folder / "submissions"
        port = listening.getsockname()[1]
        hostile.write_the_others(cls.submissions, source.read_text(), secret, source, port)
        shutil.copy(source, hostile.file(cls.submissions, "ann"))
        endless = cls.folder / "endless"
        hostile.write_those_who_never_end(endless, source.read_text())
        cls.table = Table(cls.the_class.folder, cls.submissions)
        with mock.patch.object(grade, "SECONDS", 1):
            cls.table.rows += Table(cls.the_class.folder, endless).rows
        cls.students = [*cls.submissions.iterdir(), *endless.iterdir()]

    def assert_fails(self, student, said):
        self.assertEqual(self.table.points(student), [0, 0, 0], self.table.of(student))
        self.assertRegex(self.table.said(student), said)

    def test_who_is_right_passes(self):
        self.assertEqual(self.table.points("ann"), [3, 4, 1], self.table.of("ann"))
        self.assertEqual(self.table.said("ann"), "1502 cases")

    def test_the_others_are_graded_after_one_that_breaks(self):
        self.assertEqual(len(self.table.rows), 3 * len(self.students))
        self.assertEqual(self.table.status, 0)

    def test_no_path_leads_to_the_secret(self):
        self.assert_fails("reads_the_secret", "status 7 before it answered: nothing was found$")
        self.assert_fails("includes_the_secret", "does not compile: .* No such file or directory")

    def test_it_would_be_found_by_who_is_not_shut_in(self):
        file = self.submissions / "reads_the_secret/01_stop_strings/stop_filter.cc"
        program = builder.build(labs.find("1"), file, self.folder / "control/program")
        ended = subprocess.run([program], capture_output=True, text=True, check=False)
        self.assertEqual(ended.stderr, f"secret at {classes.file_of(self.the_class.folder)}")

    def test_there_is_no_network(self):
        self.assert_fails("calls_out", "nobody answered")

    def test_a_forged_answer_is_a_wrong_one(self):
        self.assert_fails("forges_answers", "after|wrong")
        self.assert_fails("answers_deeply", "it wrote something that is no answer")
        self.assert_fails("lacks_nothing", "it wrote something that is no answer")
        self.assert_fails("says_nonsense", "it says that a task is not begun which is none")
        self.assert_fails("answers_without_end", "wrote one without an end|no answer within 1 s")
        self.assert_fails("has_a_main", "does not compile: .*multiple definition of `main'")

    def test_an_early_end_is_no_answer(self):
        self.assert_fails("exits_early", "it ended with status 0 before it answered")
        self.assert_fails("closes_its_answers", "no answer within 1 s")

    def test_forks_come_to_an_end(self):
        self.assert_fails("forks", "no answer within 1 s")
        until = time.monotonic() + 60
        while programs_inside() and time.monotonic() < until:
            time.sleep(0.1)
        self.assertEqual(programs_inside(), [])

    def test_nothing_can_be_filled(self):
        self.assert_fails("fills_the_disk", f"signal {signal.SIGXFSZ:d}:")
        self.assert_fails("fills_the_memory", r": \d+ MiB, 0 shared, 0 in a file$")
        taken = int(re.search(r"(\d+) MiB", self.table.said("fills_the_memory"))[1])
        self.assertLess(taken * isolation.MIB, isolation.RUNNING.memory)

    def test_the_solution_cannot_be_handed_in(self):
        self.assert_fails("includes_the_solution", "does not compile: .* No such file or directory")
        self.assert_fails("includes_it_by_another_way", "does not compile: .* No such file or directory")
        self.assert_fails("leaves_it_to_the_library", "does not compile: .*undefined reference")
        self.assert_fails("links_to_the_solution", "stop_filter.cc: Too many levels of symbolic links")

    def test_only_a_plain_file_is_read(self):
        self.assert_fails("is_a_pipe", "stop_filter.cc is not a plain file")
        self.assert_fails("is_large", "stop_filter.cc has more than 1048576 bytes")

    def test_a_table_has_no_formulas(self):
        self.assertEqual(self.table.points("'=is_a_formula"), [3, 4, 1])


def programs_inside():
    """What runs now as grade starts it."""
    found = []
    for path in pathlib.Path("/proc").glob("[0-9]*/cmdline"):
        with contextlib.suppress(OSError):
            if path.read_bytes().split(b"\0")[0].decode() == grade.INSIDE:
                found.append(path.parent.name)
    return found


@needs_bubblewrap
class Variants(FolderTest):
    def test_a_student_is_held_to_the_own_rule(self):
        lab = labs.find("11")
        the_class = self.new_class()
        students = [f"student {number}" for number in range(40)]
        ann = students[0]
        bob = next(each for each in students if the_class.variant(each, lab) != the_class.variant(ann, lab))
        submissions = self.folder / "variants"
        own = (ROOT / lab.source).read_text()
        of_ann = lab.variant(the_class.variant(ann, lab)).applied_to(own)
        for student in (ann, bob):
            file = submissions / student / lab.name / lab.file
            file.parent.mkdir(parents=True)
            file.write_text(of_ann)
        table = Table(the_class.folder, submissions)
        self.assertEqual(table.points(ann), [task.points for task in lab.tasks], table.of(ann))
        self.assertEqual(table.points(bob)[0], 0, table.of(bob))
        self.assertEqual({row["variant"] for row in table.of(bob)}, {the_class.variant(bob, lab)})


class Isolation(unittest.TestCase):
    def test_without_bubblewrap_nothing_is_graded(self):
        with tempfile.TemporaryDirectory() as empty:
            folder = pathlib.Path(empty) / "class"
            classes.init(folder)
            with mock.patch.dict(os.environ, {"PATH": empty}):
                with self.assertRaisesRegex(isolation.NotIsolated, "there is no bwrap"):
                    Table(folder, empty)

    @needs_bubblewrap
    def test_without_a_limit_that_holds_nothing_is_graded(self):
        holds = isolation.limited
        with mock.patch.object(isolation, "limited", lambda limits: holds(isolation.COMPILING)[:1] + ["--"]):
            self.assertEqual(isolation.why_not(), "processes are not limited")

    @needs_bubblewrap
    def test_what_is_secret_is_not_where_all_can_see_it(self):
        self.assertRegex(isolation.why_not(["/usr/share/class"]), "lies in /usr")
        self.assertEqual(isolation.why_not([ROOT]), "")


@needs_bubblewrap
class Hidden(FolderTest):
    """Lab 14: the class has other bugs than everybody."""

    def test_they_are_others_and_can_be_found(self):
        lab = labs.find("14")
        the_class = self.new_class()
        the_class.secret = b"which chooses bugs that are found quickly"
        made = list(hidden.make(the_class))
        self.assertEqual(len(made), len(lab.tasks) + 1)
        found = (hidden.folder_of(the_class, lab) / "findings.json").read_text()
        given = hidden.given(the_class, lab)
        programs = [f"lab_14_{task.name}" for task in lab.tasks]
        self.assertEqual(sorted(path.name for path in given.iterdir()), sorted([*programs, lab.file]))
        for exhibit in lab.exhibits_of:
            self.assertNotIn(exhibit, found)
        with self.assertRaisesRegex(hidden.NotMade, "is there already"):
            list(hidden.make(the_class))
        submissions = self.folder / "findings"
        public = (ROOT / lab.source).read_text()
        bomb = public.replace('"blocks": 6', '"blocks": 4000000000')
        for student, text in {"ann": found, "bob": public, "cy": bomb, "di": "[" * 100000}.items():
            file = submissions / student / lab.name / lab.file
            file.parent.mkdir(parents=True)
            file.write_text(text)
        table = Table(the_class.folder, submissions)
        self.assertEqual(table.points("ann"), [task.points for task in lab.tasks], table.of("ann"))
        for student in ("bob", "cy", "di"):
            self.assertLess(sum(table.points(student)), sum(table.points("ann")), table.of(student))
        self.assertEqual(findings.starter(found).count('"events": []'), len(lab.tasks))


if __name__ == "__main__":
    builder.build_at(sys.argv.pop(1))
    unittest.main()
