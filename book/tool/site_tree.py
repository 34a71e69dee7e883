"""The book as a web site: a tree of pages for MkDocs, and what MkDocs makes of it.

    FOLDER/mkdocs.yml     the configuration; any generator that reads it will do
    FOLDER/pages          the pages, and the sources that they link to, each as a page
    FOLDER/site           the site, of plain files

Pages stay what they are. Of a listing the name of its source stands above it, since generators take a
fence for a language and no more; links to sources lead to their pages, and links to folders to a list
of what is in them.
"""

import json
import os
import pathlib
import re
import subprocess
import sys
import venv

from pages import FENCE

LINK = re.compile(r"(\]\()([^)\s#]+)(#[^)\s]*)?(\))")
ELSEWHERE = re.compile(r"^([a-z]+:|/)")
LANGUAGES = {".h": "cpp", ".cc": "cpp", ".cuh": "cpp", ".cu": "cpp", ".py": "python", ".json": "json", ".yaml": "yaml"}
REQUIREMENTS = pathlib.Path(__file__).with_name("site_requirements.txt")
TOP = "README.md"
COURSE = "course"


class Site:
    def __init__(self, root, folder):
        self.root, self.folder = root, folder
        self.made = {}  # the page of each file or folder of the project: its path under pages/
        self.waiting = []

    def make(self, pages):
        for page in pages:
            self.page_of(page)
        while self.waiting:
            path = self.waiting.pop()
            target = self.folder / "pages" / self.made[path]
            target.parent.mkdir(parents=True, exist_ok=True)
            if path.suffix == ".svg":
                target.write_bytes(path.read_bytes())
            else:
                target.write_text(self.text_of(path))
        (self.folder / "mkdocs.yml").write_text(json.dumps(self.configuration(pages), indent=1) + "\n")

    def page_of(self, path):
        """Where the page of this file or folder is, which is made if need be."""
        if path not in self.made:
            relative = path.relative_to(self.root)
            if path.is_dir():
                if (path / TOP).is_file():
                    return self.page_of(path / TOP)
                relative = relative / "index.md"
            elif path.suffix not in (".md", ".svg"):
                relative = relative.with_name(relative.name + ".md")
            self.made[path] = relative
            self.waiting.append(path)
        return self.made[path]

    def text_of(self, path):
        if path.is_dir():
            names = sorted(entry for entry in path.iterdir() if not entry.name.startswith((".", "__")))
            lines = [f"- [{entry.name}]({entry.name})" for entry in names]
            return self.linked(path / TOP, "\n".join([f"# {path.relative_to(self.root)}", "", *lines, ""]))
        if path.suffix == ".md":
            return self.linked(path, self.fences_alone(path.read_text()))
        language = LANGUAGES.get(path.suffix, "text")
        text = path.read_text(errors="replace").replace("```", "`` `")
        return f"# {path.relative_to(self.root)}\n\n```{language}\n{text}```\n"

    def fences_alone(self, text):
        """Fences with a language and no more; what else they say stands above them."""
        lines, inside = [], False
        for line in text.split("\n"):
            fence = FENCE.match(line)
            if fence and not inside and (words := fence[2].split())[1:]:
                source = " ".join(word for word in words[1:] if not word.startswith("needs="))
                lines += [f"{fence[1]}*{source}*", ""] if source else []
                line = f"{fence[1]}```{words[0]}"
            inside = inside != bool(fence)
            lines.append(line)
        return "\n".join(lines)

    def linked(self, path, text):
        """The links of a page, to the pages of what they name."""
        here = (self.folder / "pages" / self.made.get(path, path.relative_to(self.root))).parent

        def replaced(link):
            before, name, heading, after = link.groups()
            target = (path.parent / name).resolve()
            if ELSEWHERE.match(name) or not target.exists() or not target.is_relative_to(self.root):
                return link[0]
            if target.is_file() and target.stat().st_size > 1 << 20:
                return link[0]
            there = self.folder / "pages" / self.page_of(target)
            return before + os.path.relpath(there, here) + (heading or "") + after

        return LINK.sub(replaced, text)

    def configuration(self, pages):
        return {
            "site_name": "Forge",
            "docs_dir": "pages",
            "site_dir": "site",
            "use_directory_urls": False,
            "theme": {"name": "mkdocs", "color_mode": "auto", "highlightjs": False},
            "plugins": ["search"],
            "markdown_extensions": ["tables", "toc", "pymdownx.superfences", "pymdownx.highlight", "sane_lists"],
            "nav": self.navigation(pages),
        }


    def navigation(self, pages):
        """The front pages, and menus: the chapters in their order, and what is looked up."""
        front, contents, *others = pages
        chapters = [str(self.made[page]) for page in others if page.parent.name == COURSE]
        looked_up = [str(self.made[page]) for page in others if page.parent.name != COURSE]
        return [str(self.made[front]), str(self.made[contents]), {"Course": chapters}, {"Reference": looked_up}]


def build(folder):
    """Has MkDocs make the site, in an environment of its own under the folder."""
    environment = folder / "venv"
    if not (environment / "bin/mkdocs").is_file():
        venv.create(environment, with_pip=True)
        install = [environment / "bin/pip", "install", "--quiet", "--requirement", REQUIREMENTS]
        subprocess.run(install, check=True)
    return subprocess.run([environment / "bin/mkdocs", "build", "--quiet"], cwd=folder).returncode


def in_order(root, pages):
    """The pages in the order in which the book's own table has them."""
    named = re.findall(r"\(((?:course/)?[a-z0-9_]+\.md)\)", (root / "book" / TOP).read_text())
    order = {root / TOP: -2, root / "book" / TOP: -1}
    for place, name in enumerate(named):
        order.setdefault(root / "book" / name, place)
    return sorted((page for page in pages if page in order), key=order.get)


def main(root, folder, pages):
    Site(root, folder).make(in_order(root, pages))
    print(f"{folder / 'mkdocs.yml'} and {folder / 'pages'} are made")
    try:
        status = build(folder)
    except (OSError, subprocess.CalledProcessError) as error:
        print(f"scripts/book: no site is made of them: {error}", file=sys.stderr)
        return 1
    if status == 0:
        print(f"open {folder / 'site/index.html'}")
    return status
