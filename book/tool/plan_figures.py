"""A figure of one plan of a recorded run, from what `forge-trace step` says of it.

    strip TRACE --at N    word by word: its queue, copies and tables, and its slices in the order in which
                          they share the budget
"""

import re

from svg import LINE, Drawing, colour_of, width_of
from trace_figures import CELL, LEFT, ROW, TOP, moments


def queue_words(plan):
    """[(sequence, word of core/notation.h, what it says)], in the order of a row."""
    words = []
    for seq, reason in plan.get("finished", []):
        words.append((seq, f"!{seq}", f"sequence {seq} has ended ({reason})"))
    for seq, *mode in plan.get("preempted", []):
        sign, where = ("~", "goes to the host") if mode == ["swap"] else ("", "is dropped")
        words.append((seq, f"-{seq}{sign}", f"sequence {seq} is preempted, its KV {where}"))
    for name, sign, what in (("resumed", "^", "comes back"), ("admitted", "+", "is admitted")):
        for seq, *cached in plan.get(name, []):
            word, meaning = f"{sign}{seq}", f"sequence {seq} {what}"
            if any(cached):
                word, meaning = f"{word}@{cached[0]}", f"{meaning}, with the KV of {cached[0]} tokens"
            words.append((seq, word, meaning))
    return words


COPIES = {"within": "[{}>{}]", "swap_out": "[{}>h{}]", "swap_in": "[h{}>{}]"}
COPIES_A_LINE = 3


def copy_words(plan):
    """A line each."""
    words = [COPIES[kind].format(source, target) for kind, source, target in plan.get("copies", [])]
    return [" ".join(words[i : i + COPIES_A_LINE]) for i in range(0, len(words), COPIES_A_LINE)]


def table_words(plan):
    """[(sequence, word, blocks that it keeps, blocks that it gains)]."""
    words = []
    for seq, kept, first, *count in plan.get("tables", []):
        gained = plan["appended_blocks"][first : first + (count[0] if count else 1)]
        word = f"{seq}:{kept}" + ("+" + ",".join(map(str, gained)) if gained else "")
        words.append((seq, word, kept, gained))
    return words


def slice_words(plan):
    """[(sequence, word, tokens, what runs)]; what the last values of an entry usually are, it leaves out."""
    words = []
    for place, entry in enumerate(plan.get("slices", [])):
        seq, first, count, drafts, samples = (*entry, *(1, 0, True)[len(entry) - 2 :])
        word = f"{seq}:{first}+{count}" + (f"/{drafts}" if drafts else "")
        what = f"token {first}" if count == 1 else f"tokens {first} to {first + count - 1}"
        if place < plan["decodes"]:
            what = f"decodes: {what}" + (f", {drafts} of them drafts" if drafts else "")
        else:
            word += "*" if samples else ">"
            what = f"fills: {what}" + (", to the end" if samples else ", more to come")
        words.append((seq, word, count, what))
    return words


BUDGET_WIDTH = 360


def strip(run, trace, at):
    [moment] = moments(run, trace, at, at)
    plan = moment["plan"]
    frame = run("forge-trace", "step", trace, "--at", str(at), "--plain")
    budget = int(re.search(r", tokens \d+/(\d+)$", frame, re.MULTILINE)[1])
    queue, copies, tables, slices = queue_words(plan), copy_words(plan), table_words(plan), slice_words(plan)
    drawing = Drawing(f"The plan of step {at}")
    left = LEFT + width_of("tables") + 16
    right = left + max(map(width_of, ["", *copies, *(entry[1] for entry in [*queue, *tables, *slices])])) + 16
    y = TOP

    def rows(name, words):
        """A part of the plan, a word a line; says where each line begins."""
        nonlocal y
        if y > TOP:
            drawing.line([(LEFT, y + 2), (right + BUDGET_WIDTH, y + 2)], "quiet")
        drawing.text(LEFT, y + 17, name, colour="faint")
        tops = [y + 4 + row * ROW for row in range(len(words))]
        for top, word in zip(tops, words):
            drawing.text(left, top + 13, word, bold=True)
        y += 6 + ROW * max(1, len(words))
        return tops

    for top, (seq, _, meaning) in zip(rows("queue", [word for _, word, _ in queue]), queue):
        drawing.box(right, top + 2, 12, 12, colour_of(seq))
        drawing.text(right + 20, top + 13, meaning)
    if copies:
        top = rows("copies", copies)[0]
        drawing.text(right, top + 13, "copied before anything runs")
    shared = False
    for top, (seq, _, kept, gained) in zip(rows("tables", [word for _, word, *_ in tables]), tables):
        for place in range(kept):
            drawing.box(right + place * CELL, top, CELL - 2, ROW - 3, "quiet")
        for place, block in enumerate(gained, kept):
            is_shared = len(moment["blocks"][block]) > 1
            shared = shared or is_shared
            colour = "paper" if is_shared else colour_of(seq)
            drawing.labelled_box(right + place * CELL, top, CELL - 2, ROW - 3, str(block), colour)
    scale, unit, spent = y, BUDGET_WIDTH / budget, 0
    y += LINE
    for top, (seq, _, count, what) in zip(rows("slices", [word for _, word, *_ in slices]), slices):
        sign = str(count) if count * unit >= width_of(str(count)) + 4 else ""
        drawing.labelled_box(right + spent * unit, top, count * unit, ROW - 3, sign, colour_of(seq))
        drawing.text(right + BUDGET_WIDTH + 12, top + 13, what, colour="faint")
        spent += count
    for x in (right, right + BUDGET_WIDTH):
        drawing.line([(x, scale + LINE + 4), (x, y)], "mark")
    drawing.text(right + BUDGET_WIDTH, scale + LINE, f"budget: {spent} of {budget} tokens", "end", colour="faint")
    entries = [("quiet", "", "a block that the table keeps", False)] * any(kept for _, _, kept, _ in tables)
    entries += [("paper", "n", "shared with others", False)] * shared
    if entries:
        drawing.legend(right, y + 6, entries, right + BUDGET_WIDTH)
    return drawing
