"""A student's file stands in the place of the project's own, also in the library. The linker looks there
for what the file leaves out, and would find the solution."""

import pathlib
import shutil
import subprocess


def without_own(lab, link, build, folder):
    """Of the archives of a link command those that have the lab's own source, as copies in `folder`
    without it: a word of the command to what stands for it."""
    changed = {}
    member = f"{lab.file}.o"
    for word in dict.fromkeys(link):
        archive = build / word
        if archive.suffix != ".a" or archive.parent != build / pathlib.Path(lab.source).parent:
            continue
        copy = pathlib.Path(folder) / archive.name
        shutil.copyfile(archive, copy)
        subprocess.run(["ar", "d", copy, member], check=True)
        changed[word] = copy
    return changed
