"""scripts/book [--check | --site FOLDER] [--programs FOLDER] [--venv FOLDER] [PAGE...]: keeps the blocks
and figures of README.md and of the pages in book/ true, or makes a web site of them.

pages.py says which kinds there are. Without --check what one shows is written anew where it is no
longer what the source has, the program prints, the test expects or the run gives; `git diff` then shows
what has changed. With --check nothing is written, and what differs is told by page and line.

--programs is where the built programs are (build/release/bin), --venv an environment for OpenAI's
client, without which what needs it is not run. A PAGE is a path; all pages, if there is none. --site
changes no page: it makes what site_tree.py says in FOLDER, by MkDocs from PyPI.

Exit status: 0 if all is as it should be, or was written so; 1 if something differs, or a block is of
no kind or cannot be made; 2 for bad arguments.
"""

import argparse
import difflib
import pathlib
import sys

import owners
import site_tree
from pages import Page

ROOT = pathlib.Path(__file__).resolve().parents[2]


def arguments(words):
    parser = argparse.ArgumentParser(
        prog="scripts/book", description="Keeps the blocks of the book's pages true."
    )
    modes = parser.add_mutually_exclusive_group()
    modes.add_argument("--check", action="store_true", help="write nothing; tell what differs")
    modes.add_argument("--site", type=pathlib.Path, metavar="FOLDER", help="make a web site of the pages there")
    parser.add_argument(
        "--programs",
        type=pathlib.Path,
        default=ROOT / "build/release/bin",
        help="folder of the built programs (build/release/bin)",
    )
    parser.add_argument(
        "--venv", type=pathlib.Path, help="folder of a virtual environment for OpenAI's client; made"
    )
    parser.add_argument("--root", type=pathlib.Path, default=ROOT, help=argparse.SUPPRESS)
    parser.add_argument("page", type=pathlib.Path, nargs="*", help="a page; all, if there is none")
    options = parser.parse_args(words)
    for page in options.page:
        if not page.is_file():
            parser.error(f"there is no page '{page}'")
    if not options.site and not (options.programs / "forge-trace").is_file():
        parser.error(f"there are no programs in '{options.programs}': scripts/test builds them")
    if not options.page:
        options.page = owners.pages_of(options.root)
    return options


def name_of(page, root):
    path = page.path.resolve()
    return path.relative_to(root) if path.is_relative_to(root) else path


def differences(shown, wanted):
    lines = difflib.unified_diff(shown, wanted, "the page", "what is there now", lineterm="", n=1)
    return ["    " + line for line in list(lines)[2:]]


class Round:
    """Goes through pages, and tells or mends what differs."""

    def __init__(self, root, check):
        self.root, self.check = root, check
        self.blocks = self.faults = self.written = 0

    def look_at(self, page, found_of_page):
        name, changed = name_of(page, self.root), {}
        for found in found_of_page:
            self.blocks += 1
            if found.fault:
                self.fault(name, found.line, found.fault)
            elif found.note:
                print(f"{name}:{found.line + 1}: {found.note}")
            elif found.figure:
                self.look_at_figure(name, found)
            elif found.lines != (shown := page.blocks[found.block].lines):
                changed[found.block] = found.lines
                if self.check:
                    self.fault(name, found.line, "the block is stale", differences(shown, found.lines))
        if changed and not self.check:
            page.path.write_text(page.replaced(changed))
            self.wrote(name, len(changed))

    def look_at_figure(self, name, found):
        if found.figure.is_file() and found.figure.read_text() == found.text:
            return
        if self.check:
            self.fault(name, found.line, f"the figure {found.figure.name} is stale")
        else:
            found.figure.parent.mkdir(exist_ok=True)
            found.figure.write_text(found.text)
            self.wrote(found.figure.name, 1)

    def fault(self, name, line, sentence, more=()):
        self.faults += 1
        print("\n".join([f"{name}:{line + 1}: {sentence}", *more]))

    def wrote(self, name, count):
        self.written += count
        print(f"{name}: {count} written")


def main(words):
    options = arguments(words)
    options.root = options.root.resolve()
    if options.site:
        return site_tree.main(options.root, options.site.resolve(), options.page)
    shelf = owners.Owners(options.root, options.programs, options.venv)
    this = Round(options.root, options.check)
    for page in map(Page, options.page):
        this.look_at(page, shelf.of_page(page))
    counts = f"{this.blocks} blocks on {len(options.page)} pages: {this.faults} faults"
    print(counts + (f", {this.written} written" if this.written else ""))
    return 1 if this.faults else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
