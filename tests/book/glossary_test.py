"""book/glossary.md: each term has a sentence, and is on the page that is said to use it first."""

import pathlib
import re
import unittest

BOOK = pathlib.Path(__file__).resolve().parents[2] / "book"
LINK = re.compile(r"\[([^\]]*)\]\(([^)]*)\)")
TERMS = 60  # at least


def sections():
    """The rows of each table: (term, what it is, elsewhere, page, header, source)."""
    found = []
    for line in (BOOK / "glossary.md").read_text().splitlines():
        if line.startswith("## "):
            found.append([])
        elif line.startswith("| ") and not line.startswith("| term |"):
            found[-1].append([cell.strip() for cell in line.removeprefix("|").removesuffix("|").split("|")])
    return found


class Glossary(unittest.TestCase):
    def test_it_has_terms_enough_each_once(self):
        terms = [row[0] for rows in sections() for row in rows]
        self.assertGreaterEqual(len(terms), TERMS)
        self.assertEqual(len(terms), len(set(terms)))

    def test_each_is_in_its_place(self):
        for rows in sections():
            terms = [row[0].lower() for row in rows]
            self.assertEqual(terms, sorted(terms))

    def test_each_has_a_sentence_a_page_and_a_header(self):
        for row in (row for rows in sections() for row in rows):
            with self.subTest(term=row[0]):
                self.assertEqual(len(row), 6)
                self.assertRegex(row[1], r"^[A-Z0-9`].*\.$")
                self.assertTrue(LINK.search(row[3]) and LINK.search(row[4]), row)

    def test_each_is_on_its_page(self):
        for term, _, _, page, *_ in (row for rows in sections() for row in rows):
            text = (BOOK / LINK.search(page)[2]).read_text().lower()
            words = term.lower().split(", ")
            with self.subTest(term=term, page=page):
                self.assertTrue(any(re.search(rf"\b{re.escape(word)}", text) for word in words))


if __name__ == "__main__":
    unittest.main()
