"""Figures of a recorded run, from what `forge-trace step --json` says of each step.

    lanes TRACE [--from N] [--to N]     a row a sequence, a column a step: what it does there
    blocks TRACE [--from N] [--to N]    a row a block, a column a step: who has it
    prefixes TRACE --at N               the cached blocks as a tree, a block behind the one before it
"""

import json

from svg import LINE, Drawing, colour_of, width_of

CELL = 22
ROW = 20
LEFT = 8
TOP = 12
WIDTH_MAX = 760
LAST = 10**6  # of a trace that is drawn to its end


def moments(run, trace, begin, end):
    """What is so after each of the steps."""
    last = LAST if end is None else end
    text = run("forge-trace", "step", trace, "--at", str(begin), "--to", str(last), "--json")
    return [json.loads(line) for line in text.splitlines()]


def head(drawing, steps, left, what):
    """The numbers of the steps above their columns."""
    drawing.text(LEFT, TOP + 8, what, colour="faint")
    for column, moment in enumerate(steps):
        x = left + column * CELL + CELL / 2
        drawing.text(x, TOP + 8, str(moment["step"]), "middle", colour="faint")
    return TOP + LINE


def states(moment):
    """{sequence: (colour, sign, dashed)}: what each does in this step."""
    found = {}
    for who in moment["waiting"]:
        found[who["seq"]] = "paper", "", True
    for who in moment["swapped"]:
        found[who["seq"]] = "quiet", "~", True
    for who in moment["running"]:
        found[who["seq"]] = "quiet", "", False
    decodes = moment["plan"].get("decodes", 0)
    for place, entry in enumerate(moment["plan"].get("slices", [])):
        seq, count = entry[0], entry[2] if len(entry) > 2 else 1
        sign = "" if place < decodes and count == 1 else str(count)
        found[seq] = colour_of(seq), sign, False
    for seq, *_ in moment["plan"].get("preempted", []):
        _, sign, dashed = found.get(seq, ("paper", "", True))
        found[seq] = "mark", sign, dashed
    return found


def lanes(run, trace, begin, end):
    steps = moments(run, trace, begin, end)
    drawing = Drawing(f"What each sequence does in steps {steps[0]['step']} to {steps[-1]['step']}")
    per_step = [states(moment) for moment in steps]
    sequences = sorted(set().union(*per_step))
    left = LEFT + width_of("sequence 10") + 8
    y = head(drawing, steps, left, "step")
    for row, seq in enumerate(sequences):
        top = y + row * ROW
        label = f"sequence {seq}" if row == 0 else str(seq)
        drawing.text(left - 8, top + 13, label, "end")
        for column, found in enumerate(per_step):
            if seq in found:
                colour, sign, dashed = found[seq]
                drawing.labelled_box(left + column * CELL, top, CELL - 2, ROW - 3, sign, colour, dashed=dashed)
    seen = {(colour, sign) for found in per_step for colour, sign, _ in found.values()}
    entries = [
        (colour_of(sequences[0]), "", "decodes", False),
        (colour_of(sequences[0]), "n", "runs n tokens", False),
    ]
    entries += [("paper", "", "waits", True)] * (("paper", "") in seen)
    entries += [("quiet", "~", "waits, its KV on the host", True)] * (("quiet", "~") in seen)
    entries += [("mark", "", "is preempted", False)] * any(colour == "mark" for colour, _ in seen)
    drawing.legend(LEFT, y + len(sequences) * ROW + 8, entries, max(drawing.right, WIDTH_MAX / 2))
    return drawing


def blocks(run, trace, begin, end):
    steps = moments(run, trace, begin, end)
    drawing = Drawing(f"Who has which block in steps {steps[0]['step']} to {steps[-1]['step']}")
    left = LEFT + width_of("block ") + 16
    y = head(drawing, steps, left, "step")
    count = len(steps[0]["blocks"])
    for block in range(count):
        label = f"block {block}" if block == 0 else str(block)
        drawing.text(left - 8, y + block * ROW + 13, label, "end")
    shared = cached = False
    for column, moment in enumerate(steps):
        kept = {entry[0] for entry in moment["cached"]}
        for block, owners in enumerate(moment["blocks"]):
            x, top = left + column * CELL, y + block * ROW
            colour, sign = "paper", ""
            if len(owners) > 1:
                colour, sign, shared = "quiet", "+", True
            elif owners:
                colour, sign = colour_of(owners[0]), str(owners[0])
            elif block in kept:
                colour, sign, cached = "quiet", "c", True
            drawing.labelled_box(x, top, CELL - 2, ROW - 3, sign, colour)
    entries = [(colour_of(1), "1", "of sequence 1", False), ("paper", "", "free", False)]
    entries += [("quiet", "+", "shared", False)] * shared + [("quiet", "c", "cached, of nobody", False)] * cached
    drawing.legend(LEFT, y + count * ROW + 8, entries, max(drawing.right, WIDTH_MAX / 2))
    return drawing


def prefixes(run, trace, at):
    [moment] = moments(run, trace, at, at)
    children = {}
    for block, _, _, *parent in moment["cached"]:
        children.setdefault(parent[0] if parent else None, []).append(block)
    drawing = Drawing(f"The cached blocks after step {at}, as a tree")
    width, gap = 64, 28
    row = 0

    def place(block, depth):
        """Draws it and what comes after it; returns where its middle is."""
        nonlocal row
        x, first = LEFT + depth * (width + gap), row
        middles = [place(child, depth + 1) for child in children.get(block, [])]
        if not middles:
            row += 1
        y = TOP + first * (ROW + 8)
        middle = y + ROW / 2
        for other in middles:
            bend = x + width + gap / 2
            drawing.line([(x + width, middle), (bend, middle), (bend, other), (x + width + gap, other)])
        owners = moment["blocks"][block]
        sign = f"{block}" + (f" of {','.join(map(str, owners))}" if owners else "")
        colour = "quiet" if not owners else colour_of(owners[0]) if len(owners) == 1 else "paper"
        drawing.labelled_box(x, y, width, ROW, sign, colour)
        return middle

    for root in children.get(None, []):
        place(root, 0)
    y = TOP + row * (ROW + 8) + 4
    entries = [
        (colour_of(2), "", "a block that one sequence has", False),
        ("paper", "", "several", False),
        ("quiet", "", "nobody", False),
    ]
    drawing.legend(LEFT, y, entries, max(drawing.right, WIDTH_MAX / 2))
    return drawing
