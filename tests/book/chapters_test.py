"""The chapters of the course (book/course) have one form:

    # II.11 The question?
    *N minutes. Before: ... Headers: ... Lab: ...*
    ## What is broken
    ## What we build
    ## The code
    ## Running it
    ## What is still broken

Chapters and labs (labs/*/lab.json) name each other, book/labs.md has a row for each lab, and
book/teaching.md the minutes of the parts.

    chapters_test.py [unittest arguments]
"""

import collections
import pathlib
import re
import sys
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "book/tool"), str(ROOT / "labs/tool")]

import lab as labs  # noqa: E402
from pages import Page  # noqa: E402

BOOK = ROOT / "book"
COURSE = BOOK / "course"
CHAPTERS = sorted(COURSE.glob("*.md"))
SECTIONS = ["What is broken", "What we build", "The code", "Running it", "What is still broken"]
TITLE = re.compile(r"# (I|II|III|IV|V)\.(\d+) .*\?")
LAB = r"\[`scripts/lab start (\d+)`\]\((?:\.\./)?labs\.md\)"
ABOUT = re.compile(
    r"\*(\d+) minutes\. Before: .*\. Headers?: (?:(?!Lab).)*\)\."
    rf"(?: Lab: {LAB}\.| Labs: {LAB}(?:, {LAB})+\.)?\*"
)
LISTINGS = {"cpp", "cuda", "python"}
LINES_MAX = 250
FIGURES_MAX = 3
PLANNED = {16, 20, 21}  # labs that pages may name before they are there
LABS = {int(lab.number): lab for lab in labs.all_labs()}


def head_of(text):
    """The title, and the paragraph below it on one line."""
    title, about = text.split("\n\n")[:2]
    return title, " ".join(about.split())


def labs_of(text):
    """The numbers of the labs that the head of a page names."""
    return [int(number) for number in re.findall(LAB, head_of(text)[1])]


def rows_of(text):
    """The cells of all rows of all tables."""
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in text.splitlines() if line.startswith("|")]


class Chapters(unittest.TestCase):
    def each(self):
        for path in CHAPTERS:
            with self.subTest(path.name):
                yield path, path.read_text()

    def test_they_are_numbered_in_their_order(self):
        parts = []
        for place, (path, text) in enumerate(self.each(), 1):
            self.assertRegex(path.name, rf"^{place:02}_[a-z_]+\.md$")
            title = TITLE.fullmatch(head_of(text)[0])
            self.assertTrue(title, head_of(text)[0])
            self.assertEqual(int(title[2]), place)
            parts.append(["I", "II", "III", "IV", "V"].index(title[1]))
        self.assertEqual(parts, sorted(parts))

    def test_each_says_what_it_takes(self):
        for _, text in self.each():
            about = ABOUT.fullmatch(head_of(text)[1])
            self.assertTrue(about, head_of(text)[1])
            self.assertIn(int(about[1]), range(15, 91))

    def test_each_goes_from_what_is_broken_to_what_still_is(self):
        for _, text in self.each():
            self.assertEqual(re.findall(r"^## (.*)$", text, re.MULTILINE), SECTIONS)

    def test_each_fits_into_one_sitting(self):
        for _, text in self.each():
            self.assertLessEqual(text.count("\n"), LINES_MAX)

    def test_each_has_a_drawing_and_not_more_than_three(self):
        for path, _ in self.each():
            page = Page(path)
            drawn = len(page.figures) + sum(block.language == "text" for block in page.blocks)
            self.assertIn(drawn, range(1, FIGURES_MAX + 1))

    def test_each_listing_has_a_paragraph_of_its_own(self):
        for path, _ in self.each():
            page = Page(path)
            end = 0
            for block in page.blocks:
                if block.language in LISTINGS:
                    words = " ".join(page.lines[end : block.first - 1]).split()
                    self.assertGreaterEqual(len(words), 8, f"before the listing at line {block.first}")
                end = block.last + 1

    def test_each_runs_something(self):
        for path, _ in self.each():
            blocks = [block for block in Page(path).blocks if block.section == "Running it"]
            self.assertTrue(any(block.language in ("console", "sh") for block in blocks))

    def test_each_leads_to_the_next(self):
        for place, (_, text) in enumerate(self.each()):
            if place + 1 < len(CHAPTERS):
                self.assertIn(f"({CHAPTERS[place + 1].name})", text.split(f"## {SECTIONS[-1]}")[1])

    def test_the_table_of_the_book_has_each(self):
        table = {row[0]: row[1:] for row in rows_of((BOOK / "README.md").read_text())}
        for path, text in self.each():
            place, question = TITLE.fullmatch(head_of(text)[0])[0].removeprefix("# ").split(" ", 1)
            named = ", ".join(map(str, labs_of(text)))
            self.assertEqual(table[place], [f"[{question}](course/{path.name})", named])

    def test_each_lab_is_named_by_its_chapter(self):
        for number, lab in LABS.items():
            with self.subTest(lab.name):
                self.assertIn(number, labs_of((ROOT / lab.chapter).read_text()))

    def test_each_lab_that_a_page_names_is_there_and_of_that_page(self):
        for path in sorted(BOOK.glob("**/*.md")):
            for number in labs_of(path.read_text()):
                with self.subTest(path.name, lab=number):
                    if number in LABS:
                        self.assertEqual(ROOT / LABS[number].chapter, path)
                    else:
                        self.assertIn(number, PLANNED)

    def test_the_table_of_labs_has_each(self):
        rows = {row[0]: row[1:] for row in rows_of((BOOK / "labs.md").read_text())}
        for number, lab in LABS.items():
            with self.subTest(lab.name):
                title, chapter, what, points, minutes = rows[str(number)]
                self.assertEqual(title, lab.title)
                self.assertIn(f"({pathlib.Path(lab.chapter).relative_to('book')})", chapter)
                self.assertTrue(what)
                self.assertEqual(int(points), sum(task.points for task in lab.tasks))
                self.assertIn(int(minutes), range(15, 181))

    def test_teachers_are_told_the_minutes_of_each_part(self):
        part_of, of_chapters, of_labs = {}, collections.Counter(), collections.Counter()
        for path, text in self.each():
            part = part_of[f"course/{path.name}"] = TITLE.fullmatch(head_of(text)[0])[1]
            of_chapters[part] += int(ABOUT.fullmatch(head_of(text)[1])[1])
        for row in rows_of((BOOK / "labs.md").read_text()):
            chapter = re.search(r"\((course/.*)\)", row[2]) if row[0].isdigit() else None
            if chapter:
                of_labs[part_of[chapter[1]]] += int(row[5])
        told = {row[0]: row[2:] for row in rows_of((BOOK / "teaching.md").read_text()) if row[0] in of_chapters}
        self.assertEqual(told, {part: [str(of_chapters[part]), str(of_labs[part])] for part in of_chapters})


if __name__ == "__main__":
    unittest.main()
