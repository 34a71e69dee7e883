"""Changes of a source, in the form of cmake/exhibits.cmake: a head of `key: value` lines, and pairs of
original lines and what stands in their place."""

import re
from dataclasses import dataclass

PAIR = re.compile(r"^--- original\n(.*?)^--- mutated\n(.*?)(?=^--- )", re.MULTILINE | re.DOTALL)


class Stale(Exception):
    pass


@dataclass
class Exhibit:
    name: str
    head: dict
    pairs: list

    def applied_to(self, source):
        for original, mutated in self.pairs:
            if source.count(original) != 1:
                raise Stale(f"{self.name} is stale: these lines must be in its source exactly once:\n{original}")
            source = source.replace(original, mutated)
        return source


def read(path):
    text = path.read_text()
    head = dict(line.split(": ", 1) for line in text.split("\n\n", 1)[0].split("\n") if ": " in line)
    return Exhibit(path.stem, head, PAIR.findall(text))
