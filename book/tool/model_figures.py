"""Figures of the built-in model, from what `forge-model attention --json` says of a text.

    heat TEXT [--least SHARE]    a row a head, a column a token: how much the last token looks at it

Heads none of whose shares, but that of the first token, is --least (0.3) are left out: many heads rest on the first
token when they have nothing to find.
"""

import json

from svg import LINE, Drawing, width_of

CELL_MIN, ROW, LEFT, TOP = 22, 20, 8, 12
SHADES = 5


def shade_of(share):
    """From paper to the darkest, in equal steps."""
    return f"heat{min(SHADES, int(share * SHADES + 0.5))}"


def heat(run, text, least):
    look = json.loads(run("forge-model", "attention", "--json", "--prompt", text))
    tokens = [token.replace(" ", "·") for token in look["tokens"]]
    heads = [head for head in look["heads"] if max(head["weights"][1:], default=0) >= least]
    left = LEFT + width_of("layer 0 head 0") + 8
    widths = [max(CELL_MIN, width_of(token) + 6) for token in tokens]
    drawing = Drawing("How much each head looks at each token")
    x = left
    for token, width in zip(tokens, widths):
        drawing.text(x + width / 2 - 1, TOP + 8, token, "middle")
        x += width
    y = TOP + LINE
    for head in heads:
        drawing.text(left - 8, y + 13, f"layer {head['layer']} head {head['head']}", "end", colour="faint")
        x = left
        for width, share in zip(widths, head["weights"]):
            sign = f"{round(share * 100)}" if share >= 0.1 else ""
            drawing.labelled_box(x, y, width - 2, ROW - 3, sign, shade_of(share))
            x += width
        y += ROW
    end = look["next"][0]
    words = f"percent of a head's attention; the next token is '{end['text']}', {end['probability'] * 100:.0f}% likely"
    drawing.text(left, y + LINE, words, colour="faint")
    return drawing
