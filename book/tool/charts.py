"""Figures of numbers that the commands of a section have written to a file of comma-separated values,
whose first line names the columns.

    curves FILE [--log-x] [--log-y] [--y WORDS]    a line for each column but the first, which is x
    bars FILE [--y WORDS]                          a group of bars for each row, a bar for each column but the first

--y says what the numbers are of.
"""

import csv
import math

from svg import LINE, Drawing, colour_of, number, width_of

LEFT, TOP, WIDTH, HEIGHT = 8, 12, 480, 200
TICKS = 5


class NoNumbers(Exception):
    """A file is none of such values."""


def table(text, name):
    """The names of the columns, and the rows; all but the first column are numbers."""
    rows = [row for row in csv.reader(text.splitlines()) if row]
    if len(rows) < 2 or len(rows[0]) < 2:
        raise NoNumbers(f"{name}: has {len(rows)} lines; accepted are names of columns and at least one row")
    for row in rows[1:]:
        if len(row) != len(rows[0]):
            raise NoNumbers(f"{name}: '{','.join(row)}' has {len(row)} columns; accepted are {len(rows[0])}")
    return rows[0], rows[1:]


def value_of(text, name):
    try:
        return float(text)
    except ValueError:
        raise NoNumbers(f"{name}: '{text}' is no number") from None


def step_of(span):
    """A round distance, of which some TICKS make up the span."""
    least = span / TICKS
    power = 10 ** math.floor(math.log10(least))
    return next(power * factor for factor in (1, 2, 5, 10) if power * factor >= least * 0.999999)


def shown(value):
    return f"{value:,.0f}" if abs(value) >= 1000 else number(value)


class Axis:
    """Places of values between two ends of the drawing."""

    def __init__(self, values, begin, end, logarithmic):
        self.logarithmic = logarithmic
        if logarithmic:
            low, high = min(values), max(values)
            self.ticks = [2.0**n for n in range(math.floor(math.log2(low)), math.ceil(math.log2(high)) + 1)]
            while len(self.ticks) > 2 * TICKS:
                self.ticks = self.ticks[::2]
        else:
            low, high = min(0, *values), max(values)
            step = step_of((high - low) or 1)
            self.ticks = [step * n for n in range(math.floor(low / step), math.ceil(high / step - 1e-9) + 1)]
        self.low, self.high = self._scaled(min(self.ticks[0], low)), self._scaled(max(self.ticks[-1], high))
        self.begin, self.end = begin, end

    def _scaled(self, value):
        return math.log2(value) if self.logarithmic else value

    def __call__(self, value):
        share = (self._scaled(value) - self.low) / ((self.high - self.low) or 1)
        return self.begin + share * (self.end - self.begin)


def frame(drawing, y_axis, words, left):
    """The lines of the values, with their numbers."""
    if words:
        drawing.text(LEFT, TOP + 8, words, colour="faint")
    for tick in y_axis.ticks:
        y = y_axis(tick)
        drawing.line([(left, y), (left + WIDTH, y)], "quiet")
        drawing.text(left - 6, y + 4, shown(tick), "end", colour="faint")


def left_of(axis):
    return LEFT + max(width_of(shown(tick)) for tick in axis.ticks) + 8


def curves(text, name, log_x, log_y, words):
    names, rows = table(text, name)
    values = [[value_of(cell, name) for cell in row] for row in rows]
    top = TOP + (LINE + 4 if words else 0)
    y_axis = Axis([y for row in values for y in row[1:]], top + HEIGHT, top + 4, log_y)
    left = left_of(y_axis)
    x_axis = Axis([row[0] for row in values], left, left + WIDTH, log_x)
    drawing = Drawing(f"{words or ', '.join(names[1:])} by {names[0]}")
    frame(drawing, y_axis, words, left)
    for tick in x_axis.ticks:
        drawing.text(x_axis(tick), top + HEIGHT + LINE, shown(tick), "middle", colour="faint")
    drawing.text(left + WIDTH, top + HEIGHT + 2 * LINE, names[0], "end", colour="faint")
    for column in range(1, len(names)):
        points = [(x_axis(row[0]), y_axis(row[column])) for row in values]
        drawing.line(points, f"line{column}", width=2)
        for x, y in points:
            drawing.box(x - 2, y - 2, 4, 4, f"line{column}", f"line{column}")
    entries = [(f"line{column}", "", names[column], False) for column in range(1, len(names))]
    drawing.legend(left, top + HEIGHT + 2 * LINE + 8, entries, left + WIDTH)
    return drawing


def bars(text, name, words):
    names, rows = table(text, name)
    top = TOP + (LINE + 4 if words else 0)
    values = [[value_of(cell, name) for cell in row[1:]] for row in rows]
    y_axis = Axis([value for row in values for value in row], top + HEIGHT, top + 4, False)
    left = left_of(y_axis)
    drawing = Drawing(f"{words or ', '.join(names[1:])} by {names[0]}")
    frame(drawing, y_axis, words, left)
    group = WIDTH / len(rows)
    wide = min(28.0, (group - 8) / len(values[0]))
    for place, (row, numbers) in enumerate(zip(rows, values)):
        middle = left + (place + 0.5) * group
        x = middle - wide * len(numbers) / 2
        for column, value in enumerate(numbers):
            y = y_axis(value)
            drawing.box(x + column * wide, y, wide - 2, y_axis(0) - y, colour_of(column))
        drawing.text(middle, top + HEIGHT + LINE, row[0], "middle", colour="faint")
    entries = [(colour_of(column), "", names[column + 1], False) for column in range(len(values[0]))]
    drawing.legend(left, top + HEIGHT + 2 * LINE, entries, left + WIDTH)
    return drawing
