"""Digests of documents of corpus.py, by forge/core/digest.h: what tests/corpus compares with C++.

python3 digest.py              prints tests/golden/corpus/digests.txt
python3 digest.py --check FILE compares with it
"""

import sys
from pathlib import Path

import corpus

COUNT = 500
FIRST_SEEDS = (0, 1 << 32, (1 << 40) + 12345, 1 << 63, (1 << 64) - COUNT)


class Digest:
    def __init__(self):
        self.value = 14695981039346656037

    def add(self, word):
        for byte in word.to_bytes(8, "little"):
            self.value = (self.value ^ byte) * 1099511628211 & 0xFFFFFFFFFFFFFFFF


def digest_of(first_seed):
    digest = Digest()
    for seed in range(first_seed, first_seed + COUNT):
        doc = corpus.document(seed)
        digest.add(len(doc.text))
        for byte in doc.text.encode():
            digest.add(byte)
        digest.add(len(doc.answers))
        for kind, begin, end in doc.answers:
            for word in (corpus.KINDS.index(kind), begin, end):
                digest.add(word)
        digest.add(len(doc.choices.made))
        for weight, total in doc.choices.made:
            digest.add(weight)
            digest.add(total)
    return f"{first_seed} {COUNT} {digest.value:016x}\n"


text = "".join(map(digest_of, FIRST_SEEDS))
if sys.argv[1:2] == ["--check"]:
    if Path(sys.argv[2]).read_text() != text:
        sys.exit(f"{sys.argv[2]} differs from what corpus.py makes:\n{text}")
else:
    sys.stdout.write(text)
