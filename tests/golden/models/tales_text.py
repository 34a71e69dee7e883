"""The tales: a few dozen sentences, put together by a seeded generator. Nobody else wrote them."""

import random

ANIMALS = ("fox", "hen", "crab", "mole", "goat", "wolf", "hare", "toad")
NAMES = ("Ada", "Ben", "Cleo", "Finn", "Greta", "Hugo", "Ida", "Jonas")
PLACES = ("mill", "hill", "garden", "market", "bridge", "wood", "well", "harbour")
THINGS = ("bell", "lamp", "drum", "kite", "rope", "boat", "map", "kettle")
MANNERS = ("small", "grey", "patient", "noisy", "tall", "quick", "shy", "proud")
SKIES = ("It rained", "The sun was out", "There was fog", "Snow fell", "The wind was strong")

OPENINGS = (
    "Long ago a {manner} {animal} named {name} lived by the {place}.",
    "The {animal} by the {place} was {manner}, and its name was {name}.",
    "{name} and {friend} were neighbours: a {animal} and a {other}.",
)
MIDDLES = (
    "{sky} that day. {name} took the {thing} to the {market}.",
    '"Where is my {thing}?" asked {name}. "I have not seen it," said {friend}.',
    "They walked past the {place}, over the {market}, and they did not stop before night.",
    '"I\'ll give you {count} of mine," said {friend} the {other}, "if you carry the {thing}."',
    "{name} counted: {counting}. There were {count} in all.",
    "But the {thing} was too heavy for a {manner} {animal}.",
    'At the {market} they met a {third}. "That is not a {thing}!" it said.',
)
ENDINGS = (
    "So {name} kept the {thing}, and {friend} came to see it every day.",
    "In the end they laughed, and the {thing} stayed at the {place}.",
    "From then on nobody at the {market} asked for a {thing} again.",
)


def tale(chance):
    animal, other, third = chance.sample(ANIMALS, 3)
    name, friend = chance.sample(NAMES, 2)
    place, market = chance.sample(PLACES, 2)
    count = chance.randrange(2, 8)
    slots = {
        "animal": animal,
        "other": other,
        "third": third,
        "name": name,
        "friend": friend,
        "place": place,
        "market": market,
        "thing": chance.choice(THINGS),
        "manner": chance.choice(MANNERS),
        "sky": chance.choice(SKIES),
        "count": count,
        "counting": ", ".join(str(number) for number in range(1, count + 1)),
    }
    middles = sorted(chance.sample(range(len(MIDDLES)), chance.randint(4, 5)))
    paragraphs = [
        " ".join([chance.choice(OPENINGS), MIDDLES[middles[0]], MIDDLES[middles[1]]]),
        " ".join(MIDDLES[middle] for middle in middles[2:]),
        chance.choice(ENDINGS),
    ]
    return "\n".join(paragraphs).format(**slots)


def tales(seed, count):
    chance = random.Random(seed)
    return [tale(chance) for _ in range(count)]
