"""Documents as rows of tokens: short ones side by side in a row, rows by length."""

from pathlib import Path

import numpy as np
from tokenizers import Tokenizer

import corpus

TOKENIZER = Tokenizer.from_file(
    str(Path(__file__).parents[2] / "src" / "builtin" / "tokenizer.json"))
EOS = TOKENIZER.token_to_id("<|endoftext|>")

# Rows of a batch by their length: about as many tokens in each batch.
ROWS = {16: 64, 32: 32, 64: 16, 96: 11, 128: 8, 192: 5, 256: 4}
ANSWER_WEIGHT = 10.0  # a token of an answer counts as so many of a question in training
UNSEEN = 1 << 63  # seeds from here on are never trained on


def encode(text):
    """Tokens of the text, and of each byte the token that it is in."""
    encoding = TOKENIZER.encode(text)
    of_byte = [i for i, (begin, end) in enumerate(encoding.offsets) for _ in range(begin, end)]
    return encoding.ids, of_byte


class Row:
    def __init__(self, length):
        self.tokens, self.targets, self.document = (np.zeros(length, np.int32) for _ in range(3))
        self.weight = np.zeros(length, np.float32)
        self.used = 0
        self.documents = 0
        self.answers = []  # (kind, begin, end) of targets; the last one ends the answer
        self.nats = 0.0

    def room(self):
        return len(self.tokens) - self.used

    def add(self, doc, begins):
        """`begins`: the end of a text comes before this one, so its first token counts too."""
        tokens, of_byte = encode(doc.text)
        text = ([EOS] if begins else []) + tokens + [EOS]
        size = len(text) - 1
        at = slice(self.used, self.used + size)
        self.documents += 1
        self.tokens[at], self.targets[at] = text[:-1], text[1:]
        self.document[at] = self.documents
        self.weight[at] = 1
        shift = self.used + (0 if begins else -1)
        for kind, begin, end in doc.answers:
            after = of_byte[end] if end < len(of_byte) else len(tokens)
            self.answers.append((kind, shift + of_byte[begin], shift + after + 1))
            self.weight[shift + of_byte[begin] : shift + after + 1] = ANSWER_WEIGHT
        self.nats += doc.choices.nats()
        self.used += size


def size_of(doc):
    return len(encode(doc.text)[0]) + 1


def rows_of(seeds, always_begins=False):
    """(length, row) for ever, or until the seeds end; each document is in one row."""
    open_rows = {length: [] for length in ROWS}
    for seed in seeds:
        doc = corpus.document(seed)
        size = size_of(doc)
        if size > max(ROWS):
            continue
        length = next(n for n in ROWS if size <= n)
        rows = open_rows[length]
        row = next((r for r in rows if r.room() >= size), None)
        if row is None:
            row = Row(length)
            rows.append(row)
        row.add(doc, begins=always_begins or seed % 2 == 0)
        if len(rows) > 8 or row.room() < 12:
            fullest = min(rows, key=Row.room)
            rows.remove(fullest)
            yield length, fullest
    for length, rows in open_rows.items():
        for row in rows:
            yield length, row


def batches_of(seeds):
    """Lists of rows of one length, as many as ROWS says."""
    waiting = {length: [] for length in ROWS}
    for length, row in rows_of(seeds):
        waiting[length].append(row)
        if len(waiting[length]) == ROWS[length]:
            yield waiting[length]
            waiting[length] = []


def arrays(rows):
    return tuple(np.stack([getattr(r, field) for r in rows])
                 for field in ("tokens", "targets", "document", "weight"))
