"""Figures of a kernel on the simulated GPU, from what `forge-kernel step` prints.

    sectors KERNEL FLAGS...     the 32 lanes of a warp at a line, and the sectors of memory that they ask for
"""

import re

from svg import Drawing, colour_of, width_of

LEFT, TOP, LANE, SECTOR = 8, 12, 20, 34
ENTRY = re.compile(r"(\d+) +(\d+) +(\d+)  ([-+0-9.e]+)")


def sectors(run, kernel, *flags):
    text = run("forge-kernel", "step", kernel, *flags)
    lanes = sorted((int(lane), int(sector)) for lane, _, sector, _ in ENTRY.findall(text))
    asked = sorted({sector for _, sector in lanes})
    drawing = Drawing(f"{len(lanes)} lanes of a warp ask for {len(asked)} sectors")
    left = LEFT + width_of("sector") + 10
    right = left + 32 * LANE
    drawing.text(LEFT, TOP + 13, "lane")
    for lane, _ in lanes:
        drawing.labelled_box(left + lane * LANE, TOP, LANE - 2, 18, str(lane), colour_of(lane // 8))
    spread = (right - left) / len(asked)
    width = min(spread - 4, 120)
    shown = width >= width_of(str(asked[-1]))
    bottom = TOP + 18 + SECTOR * 2
    drawing.text(LEFT, bottom + 13, "sector")
    middles = {}
    for place, sector in enumerate(asked):
        x = left + place * spread + (spread - width) / 2
        drawing.labelled_box(x, bottom, width, 18, str(sector) if shown else "", "quiet")
        middles[sector] = x + width / 2
    for lane, sector in lanes:
        drawing.line([(left + lane * LANE + LANE / 2 - 1, TOP + 18), (middles[sector], bottom)])
    drawing.text(LEFT, bottom + 40, f"{len(asked)} sectors of 32 bytes are moved for {len(lanes)} words of 4 bytes", colour="faint")
    return drawing
