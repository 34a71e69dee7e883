"""Figures of pages: drawn from a run, the same bytes on every machine.

Their commands are those of trace_figures.py, plan_figures.py, state_figures.py, kernel_figures.py,
model_figures.py and charts.py, and may name files that the consoles of their section have made.
"""

import argparse
import shlex

import charts
import kernel_figures
import model_figures
import plan_figures
import state_figures
import trace_figures


class Failed(Exception):
    """A figure cannot be drawn."""


class Arguments(argparse.ArgumentParser):
    def error(self, message):
        raise Failed(f"{self.prog}: {message}")


def draw(session, command):
    """The text of the figure; the session runs programs and has the files of its section."""
    kind, *words = shlex.split(command)
    run = session.output_of
    if kind in ("lanes", "blocks"):
        options = arguments(kind, words, "trace", "--from", "--to")
        make = getattr(trace_figures, kind)
        return str(make(run, options.trace, options.begin or 0, options.to))
    if kind == "prefixes":
        options = arguments(kind, words, "trace", "--at")
        return str(trace_figures.prefixes(run, options.trace, options.at))
    if kind == "strip":
        options = arguments(kind, words, "trace", "--at")
        return str(plan_figures.strip(run, options.trace, options.at))
    if kind in ("sectors", "banks") and words:
        return str(getattr(kernel_figures, kind)(run, *words))
    if kind == "states" and words:
        return str(state_figures.states(run, *words))
    if kind == "heat":
        options = arguments(kind, words, "text", "--least")
        return str(model_figures.heat(run, options.text, options.least or 0.3))
    if kind in ("curves", "bars"):
        return chart(session, kind, words)
    raise Failed(f"there is no figure of the kind '{kind}'")


OPTIONS = {
    "--from": {"type": int, "dest": "begin"},
    "--to": {"type": int},
    "--at": {"type": int, "required": True},
    "--least": {"type": float},
    "--y": {"default": ""},
    "--log-x": {"action": "store_true"},
    "--log-y": {"action": "store_true"},
}


def arguments(kind, words, what, *options):
    parser = Arguments(prog=kind, add_help=False)
    parser.add_argument(what)
    for option in options:
        parser.add_argument(option, **OPTIONS[option])
    return parser.parse_args(words)


def chart(session, kind, words):
    flags = ("--y", "--log-x", "--log-y") if kind == "curves" else ("--y",)
    options = arguments(kind, words, "file", *flags)
    try:
        text = session.text_of(options.file)
        if kind == "bars":
            return str(charts.bars(text, options.file, options.y))
        return str(charts.curves(text, options.file, options.log_x, options.log_y, options.y))
    except (OSError, charts.NoNumbers) as error:
        raise Failed(str(error)) from error
