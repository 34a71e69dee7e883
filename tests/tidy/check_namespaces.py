#!/usr/bin/env python3
"""check_namespaces.py ROOT: what a layer defines is in the namespace of its name.

The layers and their folders are those of cmake/layers.txt. The namespace of layer `text` is forge::text
with all below it; that of `core` is forge itself. Another layer's namespace may be opened to declare
a class that is defined there or to name what is defined here (using runtime::open), and for nothing else. Prints file, line and both namespaces for each
violation; exit status 1 if there are any.
"""

import pathlib
import re
import sys

OPENING = re.compile(r"^namespace (forge\b[\w:]*) \{", re.M)
DECLARATIONS = re.compile(r"(\s|//[^\n]*\n|namespace \w+ \{|\}|(class|struct|enum class) \w+( : [\w:]+)?;|using \w+::\w+;)*")
EXTENSIONS = (".h", ".cc", ".cuh", ".cu")


def files_of(root, table):
    """(layer, path) of all files of all layers."""
    for layer, folder in re.findall(r"^([a-z_]+):[^|\n]*\|?[^|\n]*\|?([^\n]*)$", table, re.M):
        places = [(root / "include/forge" / layer).rglob("*"), (root / "src" / layer).rglob("*")]
        if folder.strip():
            places.append((root / folder.strip()).glob("*"))
        for place in places:
            yield from ((layer, path) for path in sorted(place) if path.suffix in EXTENSIONS)


def body_at(text, begin):
    """What stands between the brace before `begin` and the one that closes it."""
    depth = 1
    for brace in re.finditer(r"[{}]", text[begin:]):
        depth += 1 if brace[0] == "{" else -1
        if depth == 0:
            return text[begin:begin + brace.start()]
    return text[begin:]


def is_of(namespace, layer):
    if layer == "core":
        return namespace in ("forge", "forge::detail")
    return namespace == f"forge::{layer}" or namespace.startswith(f"forge::{layer}::")


def main():
    root = pathlib.Path(sys.argv[1])
    files = list(files_of(root, (root / "cmake/layers.txt").read_text(encoding="utf-8")))
    if not files:
        sys.exit(f"No sources under {root}")
    wrong = False
    for layer, path in files:
        text = path.read_text(encoding="utf-8")
        for opening in OPENING.finditer(text):
            if is_of(opening[1], layer) or DECLARATIONS.fullmatch(body_at(text, opening.end())):
                continue
            wrong = True
            line = text.count("\n", 0, opening.start()) + 1
            wanted = "forge" if layer == "core" else f"forge::{layer}"
            print(f"{path.relative_to(root)}:{line}: namespace {opening[1]}; layer '{layer}' is in {wanted}")
    sys.exit(wrong)


if __name__ == "__main__":
    main()
