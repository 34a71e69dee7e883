#!/usr/bin/env python3
"""Makes pieces.json: how each pre-tokenizer that GGUF files name cuts texts.

    pip install tokenizers==0.23.3 && python3 make_pieces.py

The pieces are those of Hugging Face's `tokenizers`, whose regular expressions are Oniguruma's, with the
patterns as the models' own tokenizer.json has them: what Forge's table says in other words, for other
regular expressions. Names and the models behind them are those of llama.cpp, src/llama-vocab.cpp.
"""

import json
import pathlib

from tokenizers import Regex
from tokenizers import pre_tokenizers as pre

HERE = pathlib.Path(__file__).parent

GPT2 = r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"
SHORT = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)"
TAIL = r" ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
LLAMA3 = SHORT + r"|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}|" + TAIL
QWEN2 = SHORT + r"|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}|" + TAIL
V3 = (
    r"[!\"#$%&'()*+,\-./:;<=>?@\[\\\]^_`{|}~][A-Za-z]+|[^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+|"
    r" ?[\p{P}\p{S}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
)
UPPER = r"[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]"
LOWER = r"[\p{Ll}\p{Lm}\p{Lo}\p{M}]"
LETTER = r"[^\r\n\p{L}\p{N}]?"
CASED_TAIL = r" ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+"
TEKKEN = f"{LETTER}{UPPER}*{LOWER}+|{LETTER}{UPPER}+{LOWER}*|\\p{{N}}|{CASED_TAIL}"
GPT4O = (
    f"{LETTER}{UPPER}*{LOWER}+{SHORT}?|{LETTER}{UPPER}+{LOWER}*{SHORT}?|\\p{{N}}{{1,3}}|{CASED_TAIL}"
)
YOUTU = f"{LETTER}{UPPER}*{LOWER}+{SHORT}?|{LETTER}{UPPER}+{LOWER}*{SHORT}?|\\p{{N}}|{CASED_TAIL}"
HAN_UPPER = r"[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}&&[^\p{Han}]]"
HAN_LOWER = r"[\p{Ll}\p{Lm}\p{Lo}\p{M}&&[^\p{Han}]]"
KIMI = (
    rf"[\p{{Han}}]+|{LETTER}{HAN_UPPER}*{HAN_LOWER}+{SHORT}?|{LETTER}{HAN_UPPER}+{HAN_LOWER}*{SHORT}?|"
    r"\p{N}{1,3}|" + TAIL
)
SPACES = "|".join(r"\s{%d}(?!\S)" % n for n in (512, 256, 128, 64, 32, 16, 8, 4))
JAIS2 = (
    SHORT
    + r"|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|"
    + SPACES
    + r"|\s{1,2}(?!\S)|\s{1}"
)
CJK = "[一-龥぀-ゟ゠-ヿ]+"
BLOOM = " ?[^(\\s|.,!?…。，、।۔،)]+"
THREES = r"(?=(\d{3})+(?!\d))"
AFMOE = "[一-鿿㐀-䶿豈-\ufaff぀-ゟ゠-ヿ･-ﾟ⼀-\u2fdfเ-\u0e7f\u0e80-\u0effក-\u17ffက-႟ꩠ-ꩿꧠ-\ua9ff가-\ud7afᄀ-ᇿ]+"
LINES = r"[^\n]+|[\n]+"

# name: patterns, each isolating its matches
PATTERNS = {
    "default": [r"[\p{P}\$\+<=>\^~\|]+", GPT2, r"\p{N}+", "[0-9][0-9][0-9]"],
    "gpt-2": [GPT2],
    "starcoder": [r"\p{N}", GPT2],
    "falcon": [r"[\p{P}\$\+<=>\^~\|`]+", GPT2, "[0-9][0-9][0-9]"],
    "llama-bpe": [LLAMA3],
    "glm4": [LLAMA3],
    "minicpm5": [r"\p{N}{1,3}", LLAMA3.replace(r"\p{N}{1,3}", r"\p{N}+")],
    "jais-2": [JAIS2],
    "qwen2": [QWEN2],
    "hunyuan": [QWEN2],
    "qwen35": [QWEN2.replace(r"?\p{L}+", r"?[\p{L}\p{M}]+").replace(r"[^\s\p{L}\p{N}]", r"[^\s\p{L}\p{M}\p{N}]")],
    "laguna": [LINES, QWEN2],
    "ufakzeka": [QWEN2.removeprefix(SHORT + "|")],
    "seed-coder": [
        SHORT + r"|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1}| ?[^\s\p{L}\p{N}\r\n]+|\s*[\r\n]+|\s+(?!\S)|\s+"
    ],
    "bailingmoe": [
        r"'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]++[\r\n]*|\s*[\r\n]|\s+(?!\S)|\s+"
    ],
    "exaone-moe": [
        SHORT
        + r"|[^\r\n\p{L}\p{N}]?(?:\p{L}\p{M}*(?: \p{L}\p{M}*)*)+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n/]?|\s*[\r\n]|\s+(?!\S)|\s+"
    ],
    "tekken": [TEKKEN],
    "gpt-4o": [GPT4O],
    "granite-embed-multi-97m": [GPT4O],
    "tiny_aya": [r"\d{1,3}(?=(?:\d{3})*\b)", GPT4O],
    "youtu": [
        "[가-힣ㄱ-ㆎ]+|[！…“”‘’—：；，、-〿︰-﹏]+|[ㄅ-ㄯ]+|[一-龥぀-ゟ゠-ヿ]+",
        YOUTU,
    ],
    "kimi-k2": [KIMI],
    "superbpe": [r"\p{N}+", THREES],
    "bloom": [BLOOM],
    "viking": [BLOOM, r"\p{N}"],
    "chameleon": [
        "<sentinel:[0-9]+>",
        "(IMGIMG)((A|B|C|D|E|F|G|H|I){1,4})Z",
        "([\t\n]|    |  )",
        r"\p{N}",
        r"[\p{P}!-/:-@\[-`{-~]",
        GPT2,
    ],
    "deepseek-coder": ["[\r\n]", r"\s?\p{L}+", r"\s?\p{P}+", "[一-龥ࠀ-一가-\ud7ff]+", r"\p{N}"],
    "deepseek-v3": [r"\p{N}{1,3}", CJK, V3],
    "spark2_5": [
        r"\p{N}{1,3}",
        CJK,
        V3.replace(r"[\r\n]*|\s*[\r\n]+|", r"|[\r\n]|"),
        r"\p{N}",
    ],
    "afmoe": [r"\p{N}+", THREES, AFMOE, V3],
    "gemma4": [LINES],
}

TEXTS = [
    "",
    "The quick brown fox doesn't jump; it's they've I'LL SHE'D.",
    "  leading   spaces\tand\t\ttabs \n\n  lines\r\n\r\n   end  ",
    "0 12 345 6789 1234567 12345678x 99y 1_000 3.14159 ½ ²³ ٣٤٥٦٧",
    "CamelCaseWords HTTPServer iPhone ÉTÉ Été ǅ ßẞ",
    "x=1;y+=2//comment `code` $5 ^~| <=> #tag @me \\n {a|b}",
    "你好，世界。今天天气很好。日本語のテキスト、カタカナ。한국어 텍스트 ㄱㄴ ㄅㄆ",
    "Привет, мир! Γειά σου κόσμε. שלום مرحبا بالعالم، كيف؟ नमस्ते। ไทย ភាសា မြန်မာ",
    "e\u0301te\u0301 a\u0301\u0323 \u0301\u0301 นี้ किं",
    "🦙 emoji 👩‍👩‍👧 ✅✅ … —– “quotes” ‘single’",
    "<sentinel:12> IMGIMGABCZ  IMGIMGZ    four     five",
    "a" + " " * 37 + "b" + " " * 600 + "c" + "\n" * 5,
    "(paren) [brack] a.b,c!d?e f/g//h///\n/i",
]


def main():
    lines = []
    for name, patterns in PATTERNS.items():
        cutter = pre.Sequence([pre.Split(Regex(pattern), "isolated") for pattern in patterns])
        for text in TEXTS:
            pieces = [piece for piece, _ in cutter.pre_tokenize_str(text)] if text else []
            assert "".join(pieces) == text
            lines.append(json.dumps({"name": name, "pieces": pieces}, ensure_ascii=False))
    (HERE / "pieces.json").write_text("[\n" + ",\n".join(lines) + "\n]\n")


main()
