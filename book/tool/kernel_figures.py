"""Figures of a kernel on the simulated GPU, from what `forge-kernel step` prints.

    sectors KERNEL FLAGS...     the 32 lanes of a warp at a line, and the sectors of memory that they ask for
    banks KERNEL FLAGS...       the same of a line that uses shared memory, and how many words each bank has to give
"""

import re

from svg import Drawing, colour_of, width_of

LEFT, TOP, LANE, SECTOR = 8, 12, 20, 34
LANES = 32
WORDS = 8  # of a sector
ENTRY = re.compile(r"(\d+) +(\d+) +(\d+)  ([-+0-9.e]+)")


def entries(run, kernel, flags):
    """[(lane, index, sector or bank)] of the lanes that take part."""
    text = run("forge-kernel", "step", kernel, *flags)
    return sorted((int(lane), int(index), int(unit)) for lane, index, unit, _ in ENTRY.findall(text))


def row_of_lanes(drawing, left, lanes):
    drawing.text(LEFT, TOP + 13, "lane")
    for lane in lanes:
        drawing.labelled_box(left + lane * LANE, TOP, LANE - 2, 18, str(lane), colour_of(lane // 8))


def middle_of(left, place):
    return left + place * LANE + LANE / 2 - 1


def sectors(run, kernel, *flags):
    """A sector is eight words wide, and has the colour of a lane where that wants a word of it."""
    lanes = entries(run, kernel, flags)
    asked = sorted({sector for _, _, sector in lanes})
    drawing = Drawing(f"{len(lanes)} lanes of a warp ask for {len(asked)} sectors")
    left = LEFT + width_of("sector") + 10
    right = left + LANES * LANE
    row_of_lanes(drawing, left, [lane for lane, _, _ in lanes])
    spread = (right - left) / len(asked)
    width = min(spread - 4, 120)
    bottom = TOP + 18 + SECTOR * 2
    drawing.text(LEFT, bottom + 13, "sector")
    begins = {}
    for place, sector in enumerate(asked):
        begins[sector] = left + place * spread + (spread - width) / 2
        drawing.box(begins[sector], bottom, width, 18, "quiet")
        if width >= width_of(str(asked[-1])):
            drawing.text(begins[sector] + width / 2, bottom + 34, str(sector), "middle")
    for lane, index, sector in lanes:
        x = begins[sector] + index % WORDS * width / WORDS
        colour = colour_of(lane // 8)
        drawing.box(x, bottom, width / WORDS, 18, colour, "line" if width > 8 * WORDS else colour)
        drawing.line([(middle_of(left, lane), TOP + 18), (x + width / WORDS / 2, bottom)])
    moved = f"{len(asked)} sectors of 32 bytes are moved for {len(lanes)} words of 4 bytes"
    drawing.text(LEFT, bottom + 56, moved, colour="faint")
    return drawing


def banks(run, kernel, *flags):
    lanes = entries(run, kernel, flags)
    words = {bank: {index for _, index, other in lanes if other == bank} for _, _, bank in lanes}
    most = max(len(wanted) for wanted in words.values())
    drawing = Drawing(f"{len(lanes)} lanes of a warp use {len(words)} banks")
    left = LEFT + width_of("words") + 10
    row_of_lanes(drawing, left, [lane for lane, _, _ in lanes])
    bottom = TOP + 18 + SECTOR * 2
    drawing.text(LEFT, bottom + 13, "bank")
    drawing.text(LEFT, bottom + 33, "words")
    for bank in range(LANES):
        used = bank in words
        drawing.labelled_box(left + bank * LANE, bottom, LANE - 2, 18, str(bank), "quiet" if used else "paper")
        if used:
            drawing.text(middle_of(left, bank), bottom + 33, str(len(words[bank])), "middle")
    for lane, _, bank in lanes:
        drawing.line([(middle_of(left, lane), TOP + 18), (middle_of(left, bank), bottom)])
    asked = f"{len(lanes)} lanes want words of {len(words)} of {LANES} banks"
    drawing.text(LEFT, bottom + 56, f"{asked}; the busiest has {most} to give, one after the other", colour="faint")
    return drawing
