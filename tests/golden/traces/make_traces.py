#!/usr/bin/env python3
"""Makes two samples of traffic in the formats of published traces, and what is to be read in them.

Usage: make_traces.py            writes azure.csv, mooncake.jsonl and golden.json
       make_traces.py --check    makes them elsewhere, exits 1 unless they are the same

Needs Python 3.11 and nothing else. No line is from a published trace: all are drawn by a seed.
"""

import argparse
import csv
import filecmp
import json
import random
import shutil
import subprocess
import sys
import tempfile
from datetime import datetime, timedelta
from pathlib import Path

HERE = Path(__file__).resolve().parent
CEILING = HERE.parents[2] / "scripts" / "prefix_ceiling"
FILES = ("azure.csv", "mooncake.jsonl", "golden.json")
SEED = 20240401
AZURE_ROWS = 160
CONVERSATIONS = 40
HASH_BLOCK = 512
BLOCK_SIZES = (1, 16, 512)


def between(chance, low, high):
    """An integer whose logarithm is uniform, so that small ones are as frequent as large ones."""
    return int(low * (high / low) ** chance.random())


def azure_rows(chance):
    """Rows of (time, context tokens, generated tokens); time in units of 100 ns, as there."""
    rows, time = [], datetime(2023, 12, 31, 23, 59, 41)
    tenths_us = 0
    for index in range(AZURE_ROWS):
        rows.append((time, tenths_us, between(chance, 8, 4000), between(chance, 4, 600)))
        if index % 20 != 7:  # now and then two at the same time
            tenths_us += chance.randrange(1, 4_000_000)
        time += timedelta(seconds=tenths_us // 10_000_000)
        tenths_us %= 10_000_000
    return rows


def write_azure(path, rows):
    lines = ["TIMESTAMP,ContextTokens,GeneratedTokens"]
    lines += [f"{time}.{tenths:07},{context},{new}" for time, tenths, context, new in rows]
    path.write_text("\n".join(lines) + "\n")


def beginning(prompt, tokens):
    """The first `tokens` tokens of a prompt, which is a tuple of (name of a stretch, tokens)."""
    found = []
    for name, length in prompt:
        if tokens > 0:
            found.append((name, min(length, tokens)))
        tokens -= length
    return tuple(found)


def length_of(prompt):
    return sum(length for _, length in prompt)


class BlockIds:
    """Ids of blocks, counted up as they appear; blocks that end equal beginnings have equal ids."""

    def __init__(self):
        self.ids = {}

    def of(self, prompt):
        ends = [*range(HASH_BLOCK, length_of(prompt), HASH_BLOCK), length_of(prompt)]
        return [self.ids.setdefault(beginning(prompt, end), len(self.ids)) for end in ends]


def conversations(chance):
    """(time in ms, prompt, output tokens) of every turn, which repeats all that was said before."""
    systems = [("system 0", 700), ("system 1", 512), ("system 2", 2300)]
    for talk in range(CONVERSATIONS):
        time = 3000 * (talk // 4)  # four begin at the same time
        prompt = (chance.choice(systems),)
        for turn in range(chance.randint(1, 6)):
            prompt += ((f"user {talk}.{turn}", between(chance, 10, 1500)),)
            output = between(chance, 1, 400)
            yield time, prompt, output
            prompt += ((f"answer {talk}.{turn}", output),)
            time += chance.randrange(20_000, 90_000)


def mooncake_rows(chance):
    turns = sorted(conversations(chance), key=lambda turn: turn[0])
    ids, rows = BlockIds(), []
    for time, prompt, output in turns:
        row = {
            "timestamp": time,
            "input_length": length_of(prompt),
            "output_length": output,
            "hash_ids": ids.of(prompt),
        }
        rows.append(row)
        if chance.random() < 0.1:  # asked once more, whole or cut short inside the last block
            last = (row["input_length"] - 1) % HASH_BLOCK
            kept = row["input_length"] - chance.choice((0, chance.randint(0, last)))
            rows.append(row | {"timestamp": time + 15_000, "input_length": kept})
    return sorted(rows, key=lambda row: row["timestamp"])


def write_mooncake(path, rows):
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))


def read_azure(path):
    """[microseconds since the first arrival, context tokens, generated tokens] of each row."""
    with open(path, newline="") as lines:
        rows = list(csv.DictReader(lines))
    times = [datetime.fromisoformat(row["TIMESTAMP"][:-1]) for row in rows]
    return [
        [
            (time - min(times)) // timedelta(microseconds=1),
            int(row["ContextTokens"]),
            int(row["GeneratedTokens"]),
        ]
        for time, row in zip(times, rows)
    ]


def common(a, b):
    return next((i for i, (x, y) in enumerate(zip(a, b)) if x != y), min(len(a), len(b)))


def tokens_of(row):
    """What tells one token of a prompt from another: its block and its place there."""
    return [(row["hash_ids"][i // HASH_BLOCK], i % HASH_BLOCK) for i in range(row["input_length"])]


def hit_tokens(rows, block_size, is_before):
    """The definition of scripts/prefix_ceiling, token by token against every prompt before."""
    prompts = [tokens_of(row) for row in rows]
    hits = 0
    for i, prompt in enumerate(prompts):
        before = [prompts[k] for k in range(i) if is_before(rows[k], rows[i])]
        best = max((common(prompt, earlier) for earlier in before), default=0)
        hits += min(best - best % block_size, len(prompt) - 1)
    return hits


def ceiling(path, rows, block_size):
    command = [sys.executable, CEILING, "--json", "--block-size", str(block_size), path]
    found = json.loads(subprocess.run(command, check=True, capture_output=True).stdout)
    mine = hit_tokens(rows, block_size, lambda earlier, row: True)
    if found["hit_tokens"] != mine:
        raise SystemExit(f"make_traces.py: {mine} hits, not {found}")
    return mine


def of_earlier(rows, block_size):
    """Hits if requests that come at the same time do not find one another's prompts."""
    return hit_tokens(
        rows, block_size, lambda earlier, row: earlier["timestamp"] < row["timestamp"]
    )


def make(out):
    azure, mooncake = out / "azure.csv", out / "mooncake.jsonl"
    write_azure(azure, azure_rows(random.Random(SEED)))
    rows = mooncake_rows(random.Random(SEED + 1))
    write_mooncake(mooncake, rows)
    golden = {
        "azure": read_azure(azure),
        "mooncake": {
            "requests": len(rows),
            "first_ms": rows[0]["timestamp"],
            "last_ms": rows[-1]["timestamp"],
            "prompt_tokens": sum(row["input_length"] for row in rows),
            "new_tokens": sum(row["output_length"] for row in rows),
            "blocks": len({block for row in rows for block in row["hash_ids"]}),
            "hit_tokens": {str(size): ceiling(mooncake, rows, size) for size in BLOCK_SIZES},
            "hit_tokens_of_earlier": {str(size): of_earlier(rows, size) for size in BLOCK_SIZES},
        },
    }
    (out / "golden.json").write_text(json.dumps(golden) + "\n")
    print(golden["mooncake"])


def main():
    parser = argparse.ArgumentParser(description="Makes the samples of traffic.")
    parser.add_argument("--check", action="store_true", help="compare, write nothing here")
    check = parser.parse_args().check
    with tempfile.TemporaryDirectory() as scratch:
        out = Path(scratch)
        make(out)
        for name in FILES:
            if not check:
                shutil.copyfile(out / name, HERE / name)
            elif not filecmp.cmp(out / name, HERE / name, shallow=False):
                raise SystemExit(f"differs: {name}")


if __name__ == "__main__":
    main()
