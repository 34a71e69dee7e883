"""Drawings as SVG, the same bytes whenever they are made.

Text is set in a font of fixed width, so its size is known without a font. Colours are names, which are
one thing on light paper and another on dark.
"""

from xml.sax.saxutils import escape

LETTER = 7.2  # width of a letter of 12 units
LINE = 16  # from one line of text to the next

# Of each name, on light paper and on dark. Numbers are those of sequences.
COLOURS = {
    "ink": ("#1f2328", "#e6edf3"),
    "faint": ("#656d76", "#9198a1"),
    "line": ("#afb8c1", "#4d5561"),
    "paper": ("#ffffff", "#0d1117"),
    "mark": ("#c4432b", "#ff7b72"),
    "quiet": ("#eaeef2", "#21262d"),
    "0": ("#9ec5fe", "#1f4f8f"),
    "1": ("#ffd08a", "#7a4d00"),
    "2": ("#a6dfb4", "#1d5e34"),
    "3": ("#e6b8f2", "#672a78"),
    "4": ("#ffb3b3", "#7d2a2a"),
    "5": ("#b5e3e8", "#185b63"),
    "6": ("#d8d79a", "#56551c"),
    "7": ("#d6c2b0", "#5e4630"),
    "line1": ("#1f6feb", "#58a6ff"),
    "line2": ("#bc4c00", "#f0883e"),
    "line3": ("#1a7f37", "#3fb950"),
    "line4": ("#8250df", "#bc8cff"),
    "heat0": ("#ffffff", "#0d1117"),
    "heat1": ("#fff0d6", "#2b2111"),
    "heat2": ("#ffdca3", "#4d3610"),
    "heat3": ("#ffbf66", "#7a5210"),
    "heat4": ("#ff9e3d", "#a86a12"),
    "heat5": ("#f57c1f", "#cf7a12"),
}
SEQUENCE_COLOURS = 8


def number(value):
    return f"{value:.2f}".rstrip("0").rstrip(".")


def width_of(text):
    return LETTER * len(text)


class Drawing:
    def __init__(self, title):
        self.title = title
        self.parts, self.used = [], {"ink", "paper"}
        self.right = self.bottom = 0.0

    def _grow(self, right, bottom):
        self.right, self.bottom = max(self.right, right), max(self.bottom, bottom)

    def _fill(self, colour):
        self.used.add(colour)
        return f"c{colour}"

    def box(self, x, y, width, height, colour="paper", edge="line", dashed=False):
        self.used.add(edge)
        dash = ' stroke-dasharray="3 2"' if dashed else ""
        self.parts.append(
            f'<rect x="{number(x)}" y="{number(y)}" width="{number(width)}" height="{number(height)}" '
            f'class="{self._fill(colour)} e{edge}"{dash}/>'
        )
        self._grow(x + width, y + height)

    def text(self, x, y, text, anchor="start", colour="ink", bold=False):
        """y is the line that letters stand on."""
        weight = ' font-weight="bold"' if bold else ""
        self.parts.append(
            f'<text x="{number(x)}" y="{number(y)}" text-anchor="{anchor}" class="{self._fill(colour)}"{weight}>'
            f"{escape(text)}</text>"
        )
        reach = {"start": 1.0, "middle": 0.5, "end": 0.0}[anchor]
        self._grow(x + width_of(text) * reach, y + 4)

    def line(self, points, colour="line", width=1, dashed=False):
        dash = ' stroke-dasharray="3 2"' if dashed else ""
        path = " ".join(f"{number(x)},{number(y)}" for x, y in points)
        self.used.add(colour)
        self.parts.append(
            f'<polyline points="{path}" class="s{colour}" stroke-width="{number(width)}"{dash}/>'
        )
        for x, y in points:
            self._grow(x, y)

    def labelled_box(self, x, y, width, height, text, colour="paper", **style):
        self.box(x, y, width, height, colour, **style)
        if text:
            self.text(x + width / 2, y + height / 2 + 4, text, "middle")

    def legend(self, x, y, entries, width_max):
        """[(colour, text in the box, what it means, dashed)], as many in a line as fit."""
        at = x
        for colour, sign, meaning, dashed in entries:
            needed = 20 + width_of(meaning) + 16
            if at > x and at + needed > width_max:
                at, y = x, y + LINE + 4
            self.labelled_box(at, y, 14, 14, sign, colour, dashed=dashed)
            self.text(at + 20, y + 11, meaning, colour="faint")
            at += needed
        return y + LINE

    def __str__(self):
        width, height = number(self.right + 8), number(self.bottom + 8)
        rules = ["text{font:12px ui-monospace,Menlo,Consolas,monospace}", "polyline{fill:none}"]
        dark = []
        for name in sorted(self.used):
            light_colour, dark_colour = COLOURS[name]
            for into, colour in ((rules, light_colour), (dark, dark_colour)):
                into += [f".c{name}{{fill:{colour}}}", f".e{name}{{stroke:{colour}}}", f".s{name}{{stroke:{colour}}}"]
        style = "".join(rules) + "@media(prefers-color-scheme:dark){" + "".join(dark) + "}"
        return "\n".join(
            [
                f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" '
                f'viewBox="0 0 {width} {height}" role="img">',
                f"<title>{escape(self.title)}</title>",
                f"<style>{style}</style>",
                f'<rect width="{width}" height="{height}" class="cpaper"/>',
                *self.parts,
                "</svg>\n",
            ]
        )


def colour_of(seq):
    return str(seq % SEQUENCE_COLOURS)
