#!/usr/bin/env python3
"""Makes the vocabularies of this folder and what independent implementations say with them.

Usage: make_vocabularies.py            writes the files
       make_vocabularies.py --check    makes them elsewhere, exits 1 unless they are the same

Needs the packages of requirements.txt. Takes some seconds.
"""

import argparse
import filecmp
import io
import json
import re
import shutil
import sys
import tempfile
from pathlib import Path

import gguf
import sentencepiece
from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, processors, trainers
from tokenizers import pre_tokenizers as pre

import texts

HERE = Path(__file__).resolve().parent
SEED = 20240229
SENTENCES = 3000
SEPARATOR = b"\n__ggml_vocab_test__\n"
MADE = (".gguf", ".inp", ".out", ".bytes", ".json")

# As published in the tokenizer.json of DeepSeek LLM: letters that have case, of most alphabets.
DEEPSEEK_LETTERS = (
    r"\s?["
    "A-Za-z\u00b5\u00c0-\u00d6\u00d8-\u00f6\u00f8-\u01ba\u01bc-\u01bf\u01c4-\u0293"
    "\u0295-\u02af\u0370-\u0373\u0376\u0377\u037b-\u037d\u037f\u0386\u0388-\u038a\u038c"
    "\u038e-\u03a1\u03a3-\u03f5\u03f7-\u0481\u048a-\u052f\u0531-\u0556\u10a0-\u10c5"
    "\u13a0-\u13f5\u13f8-\u13fd\u1c90-\u1cba\u1cbd-\u1cbf\u1d00-\u1d2b\u1d6b-\u1d77"
    "\u1d79-\u1d9a\u1e00-\u1f15\u1f18-\u1f1d\u1f20-\u1f45\u1f48-\u1f4d\u1f50-\u1f57\u1f59"
    "\u1f5b\u1f5d\u1f5f-\u1f7d\u1f80-\u1fb4\u1fb6-\u1fbc\u1fbe\u1fc2-\u1fc4\u1fc6-\u1fcc"
    "\u1fd0-\u1fd3\u1fd6-\u1fdb\u1fe0-\u1fec\u1ff2-\u1ff4\u1ff6-\u1ffc\u2102\u2107"
    "\u210a-\u2113\u2115\u2119-\u211d\u2124\u2126\u2128\u212a-\u212d\u212f-\u2134\u2139"
    "\u213c-\u213f\u2145-\u2149\u214e\u2183\u2184\u2c00-\u2c7b\u2c7e-\u2ce4\u2ceb-\u2cee"
    "\u2cf2\u2cf3\ua640-\ua66d\ua680-\ua69b\ua722-\ua76f\ua771-\ua787\ua78b-\ua78e"
    "\uab70-\uabbf\ufb00-\ufb06\ufb13-\ufb17\uff21-\uff3a\uff41-\uff5a\U00010400-\U0001044f"
    "\U000104b0-\U000104d3\U000104d8-\U000104fb\U00010c80-\U00010cb2\U00010cc0-\U00010cf2"
    "\U000118a0-\U000118df\U0001e900-\U0001e943"
    "]+"
)
DEEPSEEK_STAGES = (
    "[\r\n]",
    DEEPSEEK_LETTERS,
    "\\s?[!-/:-~\uff01-\uff0f\uff1a-\uff5e\u2018-\u201f\u3000-\u3002]+",
    "\\s+$",
    "[\u4e00-\u9fa5\u0800-\u4e00\uac00-\ud7ff]+",
)


def require(holds, text):
    if not holds:
        raise SystemExit(f"make_vocabularies.py: {text}")


def character_bytes():
    """GPT-2's alphabet, character to byte: a byte that can be seen stands for itself."""
    seen = [*range(ord("!"), ord("~") + 1), *range(ord("¡"), ord("¬") + 1), *range(ord("®"), 256)]
    others = [byte for byte in range(256) if byte not in seen]
    return {chr(byte): byte for byte in seen} | {chr(256 + i): b for i, b in enumerate(others)}


class ByteLevel:
    """A vocabulary of bytes, by Hugging Face's tokenizers."""

    model = "gpt2"

    def __init__(self, name, size, stages, specials, begins):
        self.name, self.specials, self.begins = name, specials, begins
        self.tokenizer = Tokenizer(models.BPE())
        self.tokenizer.pre_tokenizer = stages[0] if len(stages) == 1 else pre.Sequence(stages)
        self.tokenizer.decoder = decoders.ByteLevel()
        trainer = trainers.BpeTrainer(
            vocab_size=size, initial_alphabet=pre.ByteLevel.alphabet(), show_progress=False
        )
        self.tokenizer.train_from_iterator(texts.training(SEED, SENTENCES), trainer)
        self.tokenizer.add_special_tokens(
            [AddedToken(text, special=True, normalized=False) for text in specials]
        )
        self.tokenizer.post_processor = self.beginning() if begins else None
        self.trained = json.loads(self.tokenizer.to_str())["model"]
        self.size = self.tokenizer.get_vocab_size()

    def beginning(self):
        begin = self.specials[0]
        special = [(begin, self.tokenizer.token_to_id(begin))]
        return processors.TemplateProcessing(single=f"{begin} $A", special_tokens=special)

    def plain(self, text):
        self.tokenizer.encode_special_tokens = True
        ids = self.tokenizer.encode(text, add_special_tokens=False).ids
        require(self.tokenizer.decode(ids, skip_special_tokens=False) == text, f"{text!r} is lost")
        return ids

    def with_control(self, text):
        self.tokenizer.encode_special_tokens = False
        return self.tokenizer.encode(text).ids

    def token_bytes(self):
        """Of each token: its bytes, none for a control token."""
        byte_of = character_bytes()
        for token in range(self.size):
            spelling = self.tokenizer.id_to_token(token)
            if spelling in self.specials:
                yield b""
                continue
            mine = bytes(byte_of[character] for character in spelling)
            theirs = decoders.ByteLevel().decode([spelling])
            require(mine.decode("utf-8", "replace") == theirs, f"token {token} is {theirs!r}")
            yield mine

    def add(self, writer):
        tokens = [self.tokenizer.id_to_token(token) for token in range(self.size)]
        kinds = [
            gguf.TokenType.CONTROL if t in self.specials else gguf.TokenType.NORMAL for t in tokens
        ]
        writer.add_tokenizer_pre(self.name)
        writer.add_token_list(tokens)
        writer.add_token_types(kinds)
        writer.add_token_merges([f"{left} {right}" for left, right in self.trained["merges"]])
        writer.add_bos_token_id(self.tokenizer.token_to_id(self.specials[0]))
        writer.add_eos_token_id(self.tokenizer.token_to_id(self.specials[-1]))
        if self.begins:
            writer.add_add_bos_token(True)

    def write_json(self, folder):
        self.tokenizer.encode_special_tokens = False
        folder.mkdir()
        whole = self.tokenizer.to_str(pretty=False)
        (folder / "tokenizer.json").write_text(whole + "\n", encoding="utf-8")
        config = {"bos_token": self.specials[0], "eos_token": self.specials[-1]}
        config["add_bos_token"] = self.begins
        (folder / "tokenizer_config.json").write_text(json.dumps(config) + "\n", encoding="utf-8")


class Scored:
    """A vocabulary of characters with scores, by Google's sentencepiece."""

    model = "llama"
    specials = ("<unk>", "<s>", "</s>")

    def __init__(self, name, size):
        self.name, self.size = name, size
        model = io.BytesIO()
        sentencepiece.set_min_log_level(2)
        sentencepiece.SentencePieceTrainer.train(
            sentence_iterator=iter(" ".join(texts.training(SEED, SENTENCES)).split("\n")),
            model_writer=model,
            vocab_size=size,
            model_type="bpe",
            byte_fallback=True,
            character_coverage=0.98,  # the rarest characters are left to the bytes
            normalization_rule_name="identity",
            remove_extra_whitespaces=False,
            allow_whitespace_only_pieces=True,
            split_digits=True,
            num_threads=1,
        )
        self.processor = sentencepiece.SentencePieceProcessor(model_proto=model.getvalue())

    def plain(self, text):
        ids = self.processor.encode(text)
        come_back = "".join(piece.decode("utf-8", "replace") for piece in [self.joined(ids)])
        require(come_back == (" " + text if text else "").replace("▁", " "), f"{text!r} is lost")
        return ids

    def joined(self, ids):
        pieces = list(self.token_bytes())
        return b"".join(pieces[token] for token in ids)

    def with_control(self, text):
        """Control tokens stand for themselves, and what is between them is a text of its own."""
        ids = [self.processor.bos_id()]
        for part in re.split("(" + "|".join(self.specials) + ")", text):
            known = part in self.specials
            ids += [self.processor.piece_to_id(part)] if known else self.processor.encode(part)
        return ids

    def token_bytes(self):
        for token in range(self.size):
            piece = self.processor.id_to_piece(token)
            if self.processor.is_byte(token):
                yield bytes([int(piece[3:5], 16)])
            elif piece in self.specials:
                yield b""
            else:
                yield piece.replace("▁", " ").encode()

    def kind(self, token):
        if self.processor.is_unknown(token):
            return gguf.TokenType.UNKNOWN
        if self.processor.is_control(token):
            return gguf.TokenType.CONTROL
        return gguf.TokenType.BYTE if self.processor.is_byte(token) else gguf.TokenType.NORMAL

    def add(self, writer):
        tokens = range(self.size)
        writer.add_tokenizer_pre("default")
        writer.add_token_list([self.processor.id_to_piece(token) for token in tokens])
        writer.add_token_scores([self.processor.get_score(token) for token in tokens])
        writer.add_token_types([self.kind(token) for token in tokens])
        writer.add_bos_token_id(self.processor.bos_id())
        writer.add_eos_token_id(self.processor.eos_id())
        writer.add_unk_token_id(self.processor.unk_id())
        writer.add_add_bos_token(True)
        writer.add_add_eos_token(False)

    def write_json(self, folder):
        pass  # of sentencepiece, which has a format of its own


def vocabularies():
    cut = pre.ByteLevel(add_prefix_space=False, use_regex=True)
    byte = pre.ByteLevel(add_prefix_space=False, use_regex=False)
    yield ByteLevel("gpt-2", 900, [cut], ("<|endoftext|>",), begins=False)
    yield Scored("llama-spm", 1000)
    stages = [pre.Split(Regex(pattern), "isolated") for pattern in DEEPSEEK_STAGES]
    stages += [pre.Digits(individual_digits=True), byte]
    specials = ("<｜begin▁of▁sentence｜>", "<｜end▁of▁sentence｜>")
    yield ByteLevel("deepseek-llm", 1000, stages, specials, begins=True)


def write_gguf(path, vocabulary):
    writer = gguf.GGUFWriter(path, "llama")
    writer.add_name(vocabulary.name)
    writer.add_tokenizer_model(vocabulary.model)
    vocabulary.add(writer)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def lines(rows):
    return "".join(" ".join(map(str, row)) + "\n" for row in rows)


def make(out):
    inputs = [text.encode() for text in [*texts.HARD, *texts.mixtures(SEED, 40)]] + texts.DAMAGED
    require(all(SEPARATOR not in text for text in inputs), "a text has the separator in it")
    # What is not UTF-8 is read with replacement characters: one for each longest part of a
    # character that could have gone on, as the Unicode Standard (3.9) recommends.
    readable = [text.decode("utf-8", "replace") for text in inputs]
    for vocabulary in vocabularies():
        base = str(out / vocabulary.name)
        write_gguf(base + ".gguf", vocabulary)
        vocabulary.write_json(out / vocabulary.name)
        Path(base + ".inp").write_bytes(b"".join(text + SEPARATOR for text in inputs))
        Path(base + ".out").write_text(lines(map(vocabulary.plain, readable)))
        Path(base + ".control.out").write_text(lines(map(vocabulary.with_control, readable)))
        Path(base + ".bytes").write_text(lines([b.hex()] for b in vocabulary.token_bytes()))


def made_files(root):
    return {path.relative_to(root) for path in root.rglob("*") if path.name.endswith(MADE)}


def main():
    parser = argparse.ArgumentParser(description="Makes the vocabularies and their golden tokens.")
    parser.add_argument("--check", action="store_true", help="compare, write nothing here")
    check = parser.parse_args().check
    with tempfile.TemporaryDirectory() as scratch:
        out = Path(scratch)
        make(out)
        made, here = made_files(out), made_files(HERE)
        if check:
            differ = {p for p in made & here if not filecmp.cmp(out / p, HERE / p, shallow=False)}
            for path in sorted((made ^ here) | differ):
                print(f"differs: {path}")
            sys.exit(1 if differ or made != here else 0)
        for path in here:
            (HERE / path).unlink()
        for path in made:
            (HERE / path).parent.mkdir(exist_ok=True)
            shutil.copyfile(out / path, HERE / path)


if __name__ == "__main__":
    main()
