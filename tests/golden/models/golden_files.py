"""The main() of the scripts that make golden files: writes them, or compares them with those here."""

import argparse
import filecmp
import re
import shutil
import sys
import tempfile
from pathlib import Path

import torch
import transformers


def same(a, b):
    if a.name != "golden.json":
        return a.name == "measured.md" or filecmp.cmp(a, b, shallow=False)
    texts = (path.read_text(encoding="utf-8") for path in (a, b))
    return len({re.sub(r'"float32_error":[^,}]+', "", text) for text in texts}) == 1


def run(description, here, make, files_of):
    """make(root) writes all files below root; files_of(root) has the relative paths of those there."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--check", action="store_true", help="compare, write nothing here")
    check = parser.parse_args().check
    transformers.logging.set_verbosity_error()
    transformers.logging.disable_progress_bar()
    torch.set_num_threads(1)  # one order of summation
    with tempfile.TemporaryDirectory() as scratch:
        out = Path(scratch)
        make(out)
        made, old = files_of(out), files_of(here)
        if check:
            changed = {path for path in made & old if not same(out / path, here / path)}
            for path in sorted((made ^ old) | changed):
                print(f"differs: {path}")
            sys.exit(1 if changed or made != old else 0)
        for path in old:
            (here / path).unlink()
        for path in made:
            (here / path).parent.mkdir(exist_ok=True)
            shutil.copyfile(out / path, here / path)
