#!/usr/bin/env python3
"""check_classes.py CTAGS ROOT: no class, struct, union or enumeration is defined twice by one name.

Two classes of one qualified name in one program break the one-definition rule, which neither compiler
nor linker checks. The libraries (include, src, cuda, sim) with src/apps/shared are in every program;
each other folder of src/apps is a program of its own. Names in anonymous namespaces and in functions
belong to their file; two definitions in one file are branches of an #if, or the file does not compile.

CTAGS is Universal Ctags. Prints the name and its places for each; exit status 1 if there are any.
"""

import collections
import json
import pathlib
import subprocess
import sys

FOLDERS = ("include", "src", "cuda", "sim")
OPTIONS = (
    "--quiet=yes", "--options=NONE", "--recurse", "--languages=C++", "--langmap=C++:.h.cc.cuh.cu",
    "--kinds-C++=csug", "--fields=+nzsS", "--fields-C++=+{specialization}",
    "--output-format=json", "-o", "-")


def definitions(ctags, root):
    """[(qualified name, path, line)] of all that other files can name."""
    folders = [folder for folder in FOLDERS if (root / folder).is_dir()]
    try:
        tags = subprocess.run([ctags, *OPTIONS, *folders], cwd=root, check=True, text=True,
                              stdout=subprocess.PIPE).stdout
    except (OSError, subprocess.CalledProcessError) as error:
        sys.exit(f"'{ctags}' is not Universal Ctags: {error}; run scripts/setup --test")
    for line in tags.splitlines():
        tag = json.loads(line)
        name = f"{tag.get('scope', '')}::{tag['name']}".removeprefix("::")
        if "__anon" in name or tag.get("scopeKind") == "function":
            continue
        if "specialization" in tag:
            name += f"<{tag['specialization']}>"
        yield name, tag["path"], tag["line"]


def program_of(path):
    """The program that the file is in alone; None where it is in all of them."""
    parts = pathlib.PurePath(path).parts
    return parts[2] if parts[:2] == ("src", "apps") and parts[2] != "shared" else None


def main():
    ctags, root = sys.argv[1], pathlib.Path(sys.argv[2])
    places = collections.defaultdict(set)
    for name, path, line in definitions(ctags, root):
        places[name].add((path, line))
    if not places:
        sys.exit(f"No classes under {root}")
    twice = False
    for name, found in sorted(places.items()):
        files = {path: program_of(path) for path, _ in found}
        common = [path for path in files if files[path] is None]
        clash = len(common) > 1 or (common and len(files) > 1)
        clash = clash or len(set(files.values())) < len(files)
        if clash:
            print(f"{name} is defined in more than one place of a program:")
            print(*(f"  {path}:{line}" for path, line in sorted(found)), sep="\n")
            twice = True
    sys.exit(1 if twice else 0)


if __name__ == "__main__":
    main()
