"""The text that the built-in model is trained on: a small made-up world, in which each answer is known.

This is forge/corpus/document.h in Python, for the trainer. Both write the same bytes for the same
seed, and make the same choices in the same order: tests/corpus/corpus_test.cc holds them together.
That header says what a document is.
"""

import math
import re
from pathlib import Path

GLOSSARY_FILE = Path(__file__).parents[2] / "src" / "corpus" / "glossary.inc"
GLOSSARY = re.findall(r'^\{"(.*)", "(.*)"\},$', GLOSSARY_FILE.read_text(), re.MULTILINE)

NAMES = ("Ada", "Ben", "Cleo", "Dov", "Eva", "Finn", "Gus", "Hana")
PLACES = ("barn", "dock", "forge", "garden", "inn", "mill", "tower", "well")
THINGS = ("axe", "cup", "drum", "key", "lamp", "map", "rope", "saw")
COLORS = ("red", "blue", "green", "yellow")

KINDS = ("place", "thing", "which", "holder", "sum", "sort", "json", "glossary")


class Choices:
    """Draws from a seed, and remembers how likely each draw was."""

    def __init__(self, seed):
        self._state = seed
        self.made = []  # (weight, of total)

    def _draw(self, total):
        self._state = (self._state + 0x9E3779B97F4A7C15) & 0xFFFFFFFFFFFFFFFF
        z = self._state
        z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & 0xFFFFFFFFFFFFFFFF
        z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & 0xFFFFFFFFFFFFFFFF
        return (((z ^ (z >> 31)) >> 32) * total) >> 32

    def below(self, count):
        """Any of 0 .. count - 1."""
        self.made.append((1, count))
        return self._draw(count)

    def weighted(self, weights):
        """An index of `weights`."""
        total = sum(weights)
        drawn = self._draw(total)
        index = 0
        while drawn >= weights[index]:
            drawn -= weights[index]
            index += 1
        self.made.append((weights[index], total))
        return index

    def take(self, words):
        """A word of the list, which loses it."""
        return words.pop(self.below(len(words)))

    def nats(self):
        return sum(math.log(total / weight) for weight, total in self.made)


class Document:
    def __init__(self, seed):
        self.choices = Choices(seed)
        self.text = ""
        self.answers = []  # (kind, begin, end) in the bytes of the text


class Story:
    """Who is where, and what they have: sentences that change it, questions about it."""

    def __init__(self, choices):
        self._c = choices
        self._people = []  # [name, place]
        self._things = []  # [thing, color, holder or None, place where it was left]
        self._names = list(NAMES)
        self._unseen = list(THINGS)

    def begin(self):
        told = "".join(self._enter() for _ in range(2 + self._c.below(2)))
        return told + "".join(self._hand_out(self._anyone()) for _ in range(self._c.below(4)))

    def events(self, most):
        return "".join(self._event() for _ in range(self._c.below(most + 1)))

    def _enter(self):
        name = self._c.take(self._names)
        place = PLACES[self._c.below(len(PLACES))]
        self._people.append([name, place])
        return f"{name} is at the {place}. "

    def _anyone(self):
        return self._people[self._c.below(len(self._people))]

    def _hand_out(self, person):
        thing = self._c.take(self._unseen)
        color = COLORS[self._c.below(len(COLORS))]
        self._things.append([thing, color, person[0], ""])
        return f"Here is the {thing}, which is {color}. " + self._given(self._things[-1])

    @staticmethod
    def _given(item):
        return f"The {item[0]} is given to {item[2]}. "

    def _event(self):
        person = self._anyone()
        name, place = person
        held = [t for t in self._things if t[2] == name]
        others = [p for p in self._people if p[1] == place and p[0] != name]
        weights = [3, 2 if len(self._things) < 4 else 0, 0, 0]
        if held:
            weights[2] = 1
            weights[3] = 2 if others else 0
        action = self._c.weighted(weights)
        if action == 0:
            elsewhere = [p for p in PLACES if p != place]
            person[1] = self._c.take(elsewhere)
            return f"{name} goes to the {person[1]}. "
        if action == 1:
            return self._hand_out(person)
        item = held[self._c.below(len(held))]
        if action == 2:
            item[2], item[3] = None, place
            return f"The {item[0]} lies at the {place}. "
        item[2] = others[self._c.below(len(others))][0]
        return self._given(item)

    def question(self):
        """(kind, question, answer)"""
        held = [t for t in self._things if t[2] is not None]
        weights = [3, 4 if self._things else 0, 4 if self._things else 0, 4 if held else 0]
        kind = self._c.weighted(weights)
        if kind == 0:
            name, place = self._anyone()
            return "place", f"Where is {name}?", f"{name} is at the {place}."
        if kind == 1:
            thing, _, holder, place = self._things[self._c.below(len(self._things))]
            if holder is None:
                return "thing", f"Where is the {thing}?", f"The {thing} is at the {place}."
            place = next(p[1] for p in self._people if p[0] == holder)
            return ("thing", f"Where is the {thing}?",
                    f"The {thing} is now with {holder}. {holder} is at the {place}.")
        if kind == 2:
            thing, color, _, _ = self._things[self._c.below(len(self._things))]
            return "which", f"Which color is the {thing}?", f"The {thing} is {color}."
        thing, _, holder, _ = held[self._c.below(len(held))]
        return "holder", f"Who has the {thing}?", f"The {thing} is now with {holder}."


def sum_(c):
    if c.below(2) == 0:
        a = c.below(100)
        b = c.below(100 - a)
        return "sum", f"What is {a}+{b}?", f"{a + b}"
    a = c.below(100)
    b = c.below(a + 1)
    return "sum", f"What is {a}-{b}?", f"{a - b}"


def sort(c):
    digits = list("0123456789")
    chosen = [c.take(digits) for _ in range(3 + c.below(3))]
    return "sort", f"Sort {' '.join(chosen)}.", " ".join(sorted(chosen))


def json_(c):
    fields = ["name", "place", "thing", "color", "age", "open"]
    said, written = [], []
    for _ in range(2 + c.below(2)):
        field = c.take(fields)
        if field == "age":
            value = str(10 + c.below(90))
        elif field == "open":
            value = ("true", "false")[c.below(2)]
        else:
            words = {"name": NAMES, "place": PLACES, "thing": THINGS, "color": COLORS}[field]
            word = words[c.below(len(words))]
            value = f'"{word}"'
        said.append(f"{field} {value.strip(chr(34))}")
        written.append(f'"{field}": {value}')
    return "json", f"As JSON: {', '.join(said)}.", f"{{{', '.join(written)}}}"


def glossary(c):
    question, answer = GLOSSARY[c.below(len(GLOSSARY))]
    return "glossary", question, answer


EXERCISES = (sum_, sort, json_, glossary)
FORMS = (12, 8, 7, 3)  # the cases of document()
PLAIN_WEIGHTS = (7, 1, 2, 2)
CHAT_WEIGHTS = (3, 1, 2, 2)
TURN_WEIGHTS = (2, 2, 1)  # of one turn, two, three


def document(seed):
    doc = Document(seed)
    c = doc.choices
    form = c.weighted(FORMS)
    if form == 0:
        _plain(doc, "", *EXERCISES[c.weighted(PLAIN_WEIGHTS)](c))
    elif form == 1:
        story = Story(c)
        _plain(doc, story.begin() + story.events(4), *story.question())
    elif form == 2:
        _story_chat(doc)
    else:
        _exercise_chat(doc)
    return doc


def _answer(doc, kind, answer):
    doc.answers.append((kind, len(doc.text), len(doc.text) + len(answer)))
    doc.text += answer


def _plain(doc, told, kind, question, answer):
    doc.text += f"{told}{question} "
    _answer(doc, kind, answer)


def _system(doc):
    if doc.choices.weighted((7, 1)) == 1:
        doc.text += "<|im_start|>system\nYou are a helpful assistant.<|im_end|>\n"


def _turn(doc, told, kind, question, answer):
    doc.text += f"<|im_start|>user\n{told}{question}<|im_end|>\n<|im_start|>assistant\n"
    _answer(doc, kind, answer)
    doc.text += "<|im_end|>\n"


def _story_chat(doc):
    _system(doc)
    story = Story(doc.choices)
    for turn in range(1 + doc.choices.below(4)):
        told = story.begin() + story.events(3) if turn == 0 else story.events(1)
        _turn(doc, told, *story.question())


def _exercise_chat(doc):
    _system(doc)
    for _ in range(1 + doc.choices.weighted(TURN_WEIGHTS)):
        _turn(doc, "", *EXERCISES[doc.choices.weighted(CHAT_WEIGHTS)](doc.choices))
