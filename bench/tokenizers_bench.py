#!/usr/bin/env python3
"""Compares Forge's tokenizers with Hugging Face's `tokenizers` on one text, one thread each.

    python3 -m venv .venv && .venv/bin/pip install tokenizers==0.23.3
    .venv/bin/python bench/tokenizers_bench.py build/release/bin/tokenizer_bench

The text is this repository's pages and sources, several times over with its words shifted, until it has
MEGABYTES. On it three tokenizers are trained: BPE of bytes with GPT-2's pattern, BPE of characters with
U+2581 for spaces, and a unigram model. Both sides read the same tokenizer.json, must make the same
tokens, and are timed in turns; the best of the runs counts.
"""

import os
import pathlib
import subprocess
import sys
import tempfile
import time

os.environ["RAYON_NUM_THREADS"] = "1"
os.environ["TOKENIZERS_PARALLELISM"] = "false"

from tokenizers import Tokenizer, decoders, models, trainers  # noqa: E402
from tokenizers import pre_tokenizers as pre  # noqa: E402

ROOT = pathlib.Path(__file__).resolve().parent.parent
MEGABYTES = 4
RUNS = 3


def corpus():
    parts = []
    for folder in ("book", "include", "src", "tests"):
        for path in sorted((ROOT / folder).rglob("*")):
            if path.suffix in (".md", ".h", ".cc", ".py"):
                parts.append(path.read_text(encoding="utf-8"))
    text = "\n".join(parts)
    while len(text.encode()) < MEGABYTES << 20:
        text += "\n" + text[len(text) // 3 :] + text[: len(text) // 3]
    return text.encode()[: MEGABYTES << 20].decode("utf-8", "ignore")


def byte_bpe(lines):
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=16000, initial_alphabet=pre.ByteLevel.alphabet(), show_progress=False
    )
    tokenizer.train_from_iterator(lines, trainer)
    return tokenizer


def character_bpe(lines):
    specials = ["<unk>"] + [f"<0x{b:02X}>" for b in range(256)]
    tokenizer = Tokenizer(models.BPE(unk_token="<unk>", fuse_unk=True, byte_fallback=True))
    tokenizer.pre_tokenizer = pre.Metaspace("▁", prepend_scheme="first", split=True)
    trainer = trainers.BpeTrainer(
        vocab_size=16000, special_tokens=specials, limit_alphabet=500, show_progress=False
    )
    tokenizer.train_from_iterator(lines, trainer)
    return tokenizer


def unigram(lines):
    tokenizer = Tokenizer(models.Unigram())
    tokenizer.pre_tokenizer = pre.Metaspace("▁", prepend_scheme="always", split=True)
    trainer = trainers.UnigramTrainer(
        vocab_size=8000, special_tokens=["<unk>"], unk_token="<unk>", show_progress=False
    )
    tokenizer.train_from_iterator(lines, trainer)
    return tokenizer


def timed(tokenizer, text):
    begin = time.perf_counter()
    count = len(tokenizer.encode(text, add_special_tokens=False).ids)
    return len(text.encode()) / (time.perf_counter() - begin) / 1e6, count


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    text = corpus()
    lines = text.splitlines()[:40000]
    with tempfile.TemporaryDirectory() as folder:
        text_path = pathlib.Path(folder) / "text"
        text_path.write_text(text, encoding="utf-8")
        print(f"{len(text.encode()) / 1e6:.1f} MB; MB/s, best of {RUNS}")
        for name, train in (("BPE of bytes", byte_bpe), ("BPE of characters", character_bpe), ("unigram", unigram)):
            path = pathlib.Path(folder) / f"{train.__name__}" / "tokenizer.json"
            path.parent.mkdir()
            train(lines).save(str(path))
            tokenizer = Tokenizer.from_file(str(path))
            ours = theirs = 0.0
            for _ in range(RUNS):
                speed, count = timed(tokenizer, text)
                theirs = max(theirs, speed)
                words = subprocess.run(
                    [sys.argv[1], path, text_path, "1"], check=True, capture_output=True, text=True
                ).stdout.split()
                ours = max(ours, float(words[0]))
                if int(words[2]) != count:
                    sys.exit(f"{name}: {words[2]} tokens here, {count} there")
            print(f"{name:20} Forge {ours:7.2f}   tokenizers {theirs:7.2f}   {ours / theirs:5.2f}x")


main()
