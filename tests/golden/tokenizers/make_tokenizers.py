#!/usr/bin/env python3
"""Makes the tokenizers of this folder and what the reference implementation says with them.

    pip install tokenizers==0.23.3 && python3 make_tokenizers.py

Each folder has a tokenizer.json, trained here on a few sentences with the pre-tokenizer and the
other stages of a family of models, a tokenizer_config.json, and vectors.json: texts and the tokens
that Hugging Face's `tokenizers` (https://github.com/huggingface/tokenizers, in Rust) makes of them.
normalizers.json has normalizers and what they make of texts.
Nothing is random; the same version writes the same bytes.
"""

import json
import pathlib

from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, normalizers
from tokenizers import pre_tokenizers as pre
from tokenizers import processors, trainers

HERE = pathlib.Path(__file__).parent

CORPUS = [
    "The quick brown fox jumps over the lazy dog, and the dog doesn't mind.",
    "In 2024 there were 365 days and 1 more: 366. It's what they've said; I'll check it, we're sure.",
    "Tokens are the words of a model: the model reads them, the model writes them.",
    "Le garçon a mangé une pêche à l'été; l'été est fini.",
    "Der Bär läuft über die Straße. Größe: 42 cm.",
    "你好，世界。今天天气很好。世界很大。",
    "Привет, мир! Мир велик.",
    "    def f(x):\n        return x + 1\n\n    print(f(41))\n",
]

TEXTS = [
    "",
    " ",
    "  ",
    "   a   b",
    "\t\n\r\n \n\n",
    "The quick brown fox",
    " the the the",
    "It's I'LL we'Re DON'T they've l'été",
    "0 12 345 6789 3.14159 ½ ²³ ٣٤",
    "x=1;y+=2//comment\n\n\n    return\n",
    "你好，世界。 今天",
    "Привет, мир!",
    "🦙 emoji 👩‍👩‍👧 and ½ months",
    "e\u0301t\u00e9",
    "a\u00a0b\u2003c\u3000d\u0085e",
    "<|end|>",
    "Hi<|user|>you<|end|> there <|end|><|end|>",
    "a <strip> b  <strip>  c",
    "<|en <|use|> <|end",
    "word added wordword WORD",
    "\u2581already \u2581\u2581marked",
    "<0x41> <s> </s> <unk>",
    "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
    "\x00\x01\x7f\u0378\U0010ffff\ufeff",
    "trailing space ",
    "trailing spaces   ",
    "!!!???... --- ((())) [x] {y} $5 #tag @me \\n",
]

# What normal form C rewrites, for the kinds that ask for it.
NOT_COMPOSED = [
    "L'e\u0301te\u0301 est fini, cafe\u0301 nai\u0308ve",
    "Vie\u0323\u0302t Vie\u0302\u0323t Vi\u1eb9\u0302t Vi\u00ea\u0323t",
    "\u212b \u2126 \u212a \u037e \u1fef \uf900 \U0002f800",
    "\u0344 \u0958 \u2adc \ufb1d \u0f73\u0f71 \U0001d15e",
    "\u1112\u1161\u11ab\u1100\u1173\u11af \uac00\u11a8 \uac00\u11a7 \u1100\u11a8 \u1100\u0301\u1161",
    "a\u0301\u0323 a\u0323\u0301 q\u0307\u0323 s\u0323\u0307 D\u0307\u0323 \u1e0c\u0307",
    "a" + "\u0315\u0300\u05ae\u0327\u0301\u0323" * 12 + "b",
    "\u0b47\u0b3e \u0bc6\u0bbe \u09c7\u09d7 \u0dd9\u0dcf\u0dca \u1025\u102e \U00011099\U000110ba",
    "\u30ab\u3099\u30cf\u309a \uff76\uff9e \u0b47\u0301\u0b3e",
    "\u0301\u0301 at the start",
    "a<|end|>\u0301e\u0301<|user|>\u0308 e <strip> \u0301",
    "wo\u0301rd \u00e9cole e\u0301cole Ecole 'e e' e'cole",
]

LLAMA3 = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}|"
    r" ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
)
QWEN2 = LLAMA3.replace(r"\p{N}{1,3}", r"\p{N}")
DEEPSEEK_V3 = (
    r"[!\"#$%&'()*+,\-./:;<=>?@\[\\\]^_`{|}~][A-Za-z]+|[^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+|"
    r" ?[\p{P}\p{S}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
)

ADDED = [
    AddedToken("<|end|>", special=True, normalized=False),
    AddedToken("<|user|>", special=True, normalized=False),
    AddedToken("<strip>", special=True, normalized=False, lstrip=True, rstrip=True),
    AddedToken("added word", special=False, normalized=False),
    AddedToken("word", special=False, normalized=True),
]


def split(pattern, **how):
    return pre.Split(Regex(pattern), how.get("behavior", "isolated"), how.get("invert", False))


def byte_level(stages, **how):
    """Byte-level BPE; the pre-tokenizer is `stages`, one after the other."""
    tokenizer = Tokenizer(models.BPE(ignore_merges=how.get("ignore_merges", False)))
    tokenizer.normalizer = how.get("normalizer")
    tokenizer.pre_tokenizer = stages[0] if len(stages) == 1 else pre.Sequence(stages)
    tokenizer.decoder = decoders.ByteLevel()
    tokenizer.post_processor = processors.ByteLevel(trim_offsets=False)
    trainer = trainers.BpeTrainer(
        vocab_size=420, initial_alphabet=pre.ByteLevel.alphabet(), show_progress=False
    )
    tokenizer.train_from_iterator(CORPUS, trainer)
    tokenizer.add_tokens(ADDED)
    return tokenizer


def characters(how):
    """BPE of characters with U+2581 for spaces and bytes for what is outside the vocabulary."""
    fallback = how != "unknown"
    specials = ["<unk>", "<s>", "</s>"] + [f"<0x{b:02X}>" for b in range(256) if fallback]
    tokenizer = Tokenizer(models.BPE(unk_token="<unk>", fuse_unk=True, byte_fallback=fallback))
    if how == "normalizer":
        tokenizer.normalizer = normalizers.Sequence(
            [normalizers.Prepend("▁"), normalizers.Replace(" ", "▁")]
        )
        tokenizer.pre_tokenizer = None
    else:
        scheme, cut = {"metaspace": ("first", False), "unknown": ("always", True)}[how]
        tokenizer.pre_tokenizer = pre.Metaspace("▁", prepend_scheme=scheme, split=cut)
    words = Tokenizer(models.BPE(unk_token="<unk>"))  # trained on words, as SentencePiece does
    words.pre_tokenizer = pre.Metaspace("▁", prepend_scheme="always", split=True)
    trainer = trainers.BpeTrainer(
        vocab_size=len(specials) + 160, special_tokens=specials, show_progress=False
    )
    words.train_from_iterator([text.replace("你", "") for text in CORPUS], trainer)
    trained = json.loads(words.to_str())["model"]
    whole = json.loads(tokenizer.to_str())
    whole["model"]["vocab"] = trained["vocab"]
    whole["model"]["merges"] = trained["merges"]
    tokenizer = Tokenizer.from_str(json.dumps(whole))
    tokenizer.decoder = decoders.Sequence(
        [decoders.Replace("▁", " "), decoders.ByteFallback(), decoders.Fuse()]
    )
    tokenizer.post_processor = processors.TemplateProcessing(
        single="<s> $A", special_tokens=[("<s>", tokenizer.token_to_id("<s>"))]
    )
    tokenizer.add_special_tokens(
        [AddedToken(text, special=True, normalized=False) for text in specials[:3]]
    )
    tokenizer.add_tokens(ADDED)
    return tokenizer


def unigram(normalizer, stages, fallback):
    """Scored pieces with U+2581 for spaces, as T5 and its kin have them."""
    cut = stages[0] if len(stages) == 1 else pre.Sequence(stages)
    bytes_of = [f"<0x{b:02X}>" for b in range(256) if fallback]
    specials = ["<pad>", "</s>", "<unk>"]
    words = Tokenizer(models.BPE())  # the trainer of unigram models does not repeat itself
    words.normalizer, words.pre_tokenizer = normalizer, cut
    trainer = trainers.BpeTrainer(vocab_size=200, show_progress=False)
    words.train_from_iterator([text.replace("你", "") for text in CORPUS], trainer)
    trained = sorted(words.get_vocab().items(), key=lambda item: item[1])
    pieces = [(piece, 0.0) for piece in specials + bytes_of]
    pieces += [(piece, -8.0 + (len(piece) > 1) - at % 7 / 8) for piece, at in trained]
    tokenizer = Tokenizer(models.Unigram(pieces, 2, byte_fallback=fallback))
    tokenizer.normalizer, tokenizer.pre_tokenizer = normalizer, cut
    replace = [decoders.Replace("▁", " "), decoders.ByteFallback(), decoders.Fuse()]
    tokenizer.decoder = decoders.Sequence(replace)
    tokenizer.post_processor = processors.TemplateProcessing(
        single="$A </s>", special_tokens=[("</s>", 1)]
    )
    tokenizer.add_special_tokens(
        [AddedToken(text, special=True, normalized=False) for text in specials]
    )
    tokenizer.add_tokens(ADDED)
    return tokenizer


def rewriters():
    """Normalizers, by what they do."""
    yield "NFC", normalizers.NFC()
    yield "NFD", normalizers.NFD()
    yield "NFKC", normalizers.NFKC()
    yield "NFKD", normalizers.NFKD()
    yield "Lowercase", normalizers.Lowercase()
    yield "StripAccents", normalizers.StripAccents()
    yield "Strip", normalizers.Strip(left=True, right=True)
    yield "Strip left", normalizers.Strip(left=True, right=False)
    yield "Strip right", normalizers.Strip(left=False, right=True)
    yield "Nmt", normalizers.Nmt()
    yield "Prepend", normalizers.Prepend("_")
    yield "Replace", normalizers.Replace("e", "EE")
    yield "Replace Regex", normalizers.Replace(Regex(r"\s{2,}|\p{N}+"), " ")
    yield "Sequence as ALBERT", normalizers.Sequence(
        [
            normalizers.Replace("``", '"'),
            normalizers.NFKD(),
            normalizers.StripAccents(),
            normalizers.Lowercase(),
        ]
    )


def tokenizers():
    byte = pre.ByteLevel(add_prefix_space=False, use_regex=False)
    gpt2 = pre.ByteLevel(add_prefix_space=False, use_regex=True)
    yield "gpt2", byte_level([gpt2]), {"eos_token": "<|end|>"}
    yield "prefix_space", byte_level([pre.ByteLevel(add_prefix_space=True)]), {}
    yield "digits", byte_level([pre.Digits(individual_digits=True), gpt2]), {}
    llama3 = byte_level([split(LLAMA3), byte], ignore_merges=True)
    llama3.post_processor = processors.Sequence(
        [
            processors.ByteLevel(trim_offsets=False),
            processors.TemplateProcessing(
                single="<|user|> $A",
                special_tokens=[("<|user|>", llama3.token_to_id("<|user|>"))],
            ),
        ]
    )
    yield "llama3", llama3, {"bos_token": "<|user|>", "eos_token": {"content": "<|end|>"}}
    yield "qwen2", byte_level([split(QWEN2), byte], normalizer=normalizers.NFC()), {
        "add_bos_token": False,
        "bos_token": None,
        "eos_token": "<|end|>",
    }
    in_order = normalizers.Sequence(
        [
            normalizers.Replace("'", "\u0301"),
            normalizers.NFC(),
            normalizers.Replace("\u00e9", "E"),
        ]
    )
    composed = byte_level([gpt2], normalizer=in_order)
    composed.add_tokens([AddedToken("e\u0301cole", normalized=True)])
    yield "composed", composed, {}
    stages = [split(r"\p{N}{1,3}"), split("[一-龥぀-ゟ゠-ヿ]+"), split(DEEPSEEK_V3), byte]
    yield "deepseek_v3", byte_level(stages), {"eos_token": "<|end|>"}
    stages = [split("[\r\n]"), split(r"\s?\p{L}+"), split(r"\s?\p{P}+"), split(r"\s+$")]
    yield "deepseek_coder", byte_level(stages + [pre.Digits(individual_digits=True), byte]), {}
    yield "olmo2", byte_level([split(LLAMA3, behavior="removed", invert=True), byte]), {}
    yield "llama2", characters("normalizer"), {"bos_token": "<s>", "eos_token": "</s>"}
    yield "mistral", characters("metaspace"), {"bos_token": "<s>", "eos_token": "</s>"}
    yield "unknown", characters("unknown"), {"bos_token": "<s>", "eos_token": "</s>"}
    ends = {"eos_token": "</s>", "pad_token": "<pad>"}
    yield "unigram", unigram(None, [pre.Metaspace("▁")], fallback=False), ends
    spaces = normalizers.Sequence(
        [normalizers.NFKC(), normalizers.Replace(Regex(" {2,}"), " "), normalizers.Lowercase()]
    )
    words = [pre.WhitespaceSplit(), pre.Metaspace("▁")]
    yield "unigram_words", unigram(spaces, words, fallback=True), ends


def write_normalizers():
    cases = []
    texts = [text for text in TEXTS + NOT_COMPOSED if "word" not in text and "<" not in text]
    separators = [*range(1, 0xB0), 0x1680, *range(0x2000, 0x2030), 0x2581, 0xFEFF, 0xFFFD]
    texts.append("".join(f"{chr(point)}|" for point in separators if chr(point) != "<"))
    for name, normalizer in rewriters():
        tokenizer = Tokenizer(models.BPE())
        tokenizer.normalizer = normalizer
        stage = json.loads(tokenizer.to_str())["normalizer"]
        made = [[text, normalizer.normalize_str(text)] for text in texts]
        cases.append(json.dumps({"name": name, "normalizer": stage, "texts": made}))
    (HERE / "normalizers.json").write_text("[\n" + ",\n".join(cases) + "\n]\n")


def main():
    write_normalizers()
    for name, tokenizer, config in tokenizers():
        folder = HERE / name
        folder.mkdir(exist_ok=True)
        (folder / "tokenizer.json").write_text(
            json.dumps(json.loads(tokenizer.to_str()), ensure_ascii=False, indent=None) + "\n"
        )
        (folder / "tokenizer_config.json").write_text(json.dumps(config, indent=1) + "\n")
        texts = TEXTS + (NOT_COMPOSED if name in ("qwen2", "composed") else [])
        if name == "unigram_words":  # the spelling of a byte is not that byte, as it is there
            texts = [text for text in texts if "<0x41>" not in text]
        vectors = []
        for text in texts:
            tokens = tokenizer.encode(text).ids
            vectors.append(
                {"text": text, "ids": tokens, "decoded": tokenizer.decode(tokens)}
            )
        lines = ",\n".join(json.dumps(v, ensure_ascii=False) for v in vectors)
        (folder / "vectors.json").write_text(f"[\n{lines}\n]\n")


main()
