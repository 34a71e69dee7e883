"""A figure of what recorded runs have in common, from what `forge-trace step --json` says of each step.

    states TRACE...    the states that these runs pass through, as a graph
"""

from svg import Drawing, width_of
from trace_figures import LEFT, ROW, TOP, WIDTH_MAX, moments

STATE_GAP, STATE_HEIGHT = 26, ROW + 16


def signs(moment, there):
    """What each sequence is after a step, as in forge-trace legend, by its id; `there` are those that
    were there before, and takes in the new ones."""
    found = {}
    for who in moment["running"]:
        known = who["prompt_tokens"] + who["output_tokens"]
        found[who["seq"]] = f"+{who['output_tokens']}" if who["output_tokens"] else f"{who['computed_tokens']}/{known}"
    for who in moment["waiting"] + moment["swapped"]:
        found[who["seq"]] = f"w+{who['output_tokens']}"
    there.update(found)
    return {seq: found.get(seq, "!") for seq in there}


class States:
    """The states after the steps of some runs. A state is what sequences and blocks are."""

    def __init__(self, run, traces):
        self.signs = [{}]  # of each state; none before the first step
        self.edges = {}  # {(from, to): a sequence arrives}
        self.back = set()  # those by which a run comes back to where it was
        numbers = {}
        for trace in traces:
            before, there, passed = 0, set(), {0}
            for moment in moments(run, trace, 0, None):
                found = signs(moment, there)
                after = numbers.setdefault(str([found, moment["blocks"], moment["cached"]]), len(self.signs))
                if after == len(self.signs):
                    self.signs.append(found)
                if after in passed and (before, after) not in self.edges:
                    self.back.add((before, after))
                self.edges[before, after] = any("submit" in event for event in moment["asked"])
                passed.add(after)
                before = after
        self.sequences = sorted(set().union(*self.signs))

    def label(self, state):
        return " ".join(self.signs[state].get(seq, "-") for seq in self.sequences)

    def waits(self, state):
        return any(sign.startswith("w") for sign in self.signs[state].values())

    def columns(self):
        """Of each state: the most steps that lead to it, but for those that lead back."""
        columns = [0] * len(self.signs)
        for _ in columns:
            for begin, end in self.edges:
                if (begin, end) not in self.back:
                    columns[end] = max(columns[end], columns[begin] + 1)
        return columns

    def rows(self, columns):
        """Of each state: that of the middle one of those that lead to it, or the next free one."""
        rows, taken = {}, set()
        for state in sorted(range(len(self.signs)), key=lambda state: (columns[state], state)):
            before = sorted(rows[begin] for begin, end in self.edges if end == state and begin in rows)
            row = before[(len(before) - 1) // 2] if before else 0
            while (columns[state], row) in taken:
                row += 1
            rows[state] = row
            taken.add((columns[state], row))
        return rows


def states(run, *traces):
    all_states = States(run, traces)
    columns = all_states.columns()
    rows = all_states.rows(columns)
    width = max(width_of(all_states.label(state)) for state in rows) + 10
    drawing = Drawing(f"The {len(rows)} states of {len(traces)} runs")

    def corner(state):
        return LEFT + columns[state] * (width + STATE_GAP), TOP + rows[state] * STATE_HEIGHT

    for (begin, end), arrives in all_states.edges.items():
        (x, y), (to_x, to_y) = corner(begin), corner(end)
        if (begin, end) in all_states.back:
            low, right = y + ROW + 10, x + width * 2 / 3
            left = to_x + width / 3
            drawing.line([(right, y + ROW), (right, low), (left, low), (left, to_y + ROW)], "mark", 2)
        else:
            drawing.line([(x + width, y + ROW / 2), (to_x, to_y + ROW / 2)], dashed=arrives)
    for state in rows:
        x, y = corner(state)
        colour = "4" if all_states.waits(state) else "quiet" if state == 0 else "2"
        drawing.labelled_box(x, y, width, ROW, all_states.label(state), colour)
    y = TOP + (max(rows.values()) + 1) * STATE_HEIGHT
    entries = [
        ("2", "", "all that are there run", False),
        ("4", "", "a sequence waits (w)", False),
        ("paper", "", "dashed: a sequence arrives", True),
    ]
    drawing.legend(LEFT, y, entries, max(drawing.right, WIDTH_MAX / 2))
    return drawing
