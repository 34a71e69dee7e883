"""Figures of pages: drawn from a run, the same bytes on every machine.

Their commands are those of trace_figures.py and kernel_figures.py, and may name files that the consoles
of their section have made.
"""

import argparse
import shlex

import kernel_figures
import trace_figures


class Failed(Exception):
    """A figure cannot be drawn."""


class Arguments(argparse.ArgumentParser):
    def error(self, message):
        raise Failed(f"{self.prog}: {message}")


def draw(run, command):
    """The text of the figure; `run` runs a program with its words and returns what it prints."""
    kind, *words = shlex.split(command)
    if kind in ("lanes", "blocks"):
        options = arguments(kind, words)
        make = getattr(trace_figures, kind)
        return str(make(run, options.trace, options.begin, options.to))
    if kind == "prefixes":
        options = arguments(kind, words)
        return str(trace_figures.prefixes(run, options.trace, options.at))
    if kind == "sectors" and words:
        return str(kernel_figures.sectors(run, *words))
    raise Failed(f"there is no figure of the kind '{kind}'")


def arguments(kind, words):
    parser = Arguments(prog=kind, add_help=False)
    parser.add_argument("trace")
    if kind == "prefixes":
        parser.add_argument("--at", type=int, required=True)
    else:
        parser.add_argument("--from", type=int, default=0, dest="begin")
        parser.add_argument("--to", type=int)
    return parser.parse_args(words)
