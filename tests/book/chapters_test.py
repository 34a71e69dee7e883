"""The chapters of the course (book/course) have one form:

    # II.11 The question?
    *N minutes. Before: ... Headers: ...*
    ## What is broken
    ## What we build
    ## The code
    ## Running it
    ## What is still broken

    chapters_test.py [unittest arguments]
"""

import pathlib
import re
import sys
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "book/tool"))

from pages import Page  # noqa: E402

COURSE = ROOT / "book/course"
CHAPTERS = sorted(COURSE.glob("*.md"))
SECTIONS = ["What is broken", "What we build", "The code", "Running it", "What is still broken"]
TITLE = re.compile(r"# (I|II|III|IV|V)\.(\d+) .*\?")
ABOUT = re.compile(r"\*(\d+) minutes\. Before: .*\. Headers?: .*\.\*")
LISTINGS = {"cpp", "cuda", "python"}
LINES_MAX = 250
FIGURES_MAX = 3


def head_of(text):
    """The title, and the paragraph below it on one line."""
    title, about = text.split("\n\n")[:2]
    return title, " ".join(about.split())


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
        table = (ROOT / "book/README.md").read_text()
        for path, text in self.each():
            question = TITLE.fullmatch(head_of(text)[0])[0].removeprefix("# ").split(" ", 1)[1]
            self.assertIn(f"[{question}](course/{path.name})", table)


if __name__ == "__main__":
    unittest.main()
