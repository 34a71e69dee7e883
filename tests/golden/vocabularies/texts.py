"""Texts: those that the vocabularies are trained on, made by a seeded generator, and those that
they are tried with, chosen to be hard."""

import random

ALPHABETS = {
    "latin": "eeeaiotnsrhldcumfpgwybvk",
    "accents": "éèêàçüöäßñøåæœłž",
    "greek": "αειοτνσρκλμπυθδγ",
    "cyrillic": "оеаинтсрвлкмдпуяыь",
    "arabic": "ابتجدرسعفقكلمنهوي",
    "devanagari": "कखगतदनपमयरलवसह" + "ािीुेो्",
    "thai": "กขคงจชตทนบปมยรลวส" + "ะาิีุเแโ",
    "hangul": "가나다라마바사아자하은는이고을를한국어",
    "kana": "あいうえおかきくけこさしすせそのはをん",
    "ideographs": "的一是不了人我在有他这中大来上国个到说们天地水火山",
}
EMOJI = ("🦙", "🚀", "👩‍👩‍👧", "✅", "🇪🇺", "❤️", "😶‍🌫️")
PIECES = (
    "    ",
    "\n",
    "\n\n",
    "\t",
    "  ",
    "!",
    "?",
    "...",
    " - ",
    " (",
    ") ",
    '"',
    "'s ",
    "'ll ",
    "//",
)


def lexicon(chance, letters, count):
    longest = 9 if letters.isascii() else 5
    return [
        "".join(chance.choice(letters) for _ in range(chance.randint(1, longest)))
        for _ in range(count)
    ]


def number(chance):
    return str(chance.randrange(10 ** chance.randint(1, 6)))


def sentence(chance, words):
    # The earlier in the lexicon the more frequent, as words are.
    chosen = [words[int(len(words) * chance.random() ** 3)] for _ in range(chance.randint(4, 12))]
    if chance.random() < 0.3:
        chosen.append(number(chance))
    if chance.random() < 0.1:
        chosen.append(chance.choice(EMOJI))
    chosen[0] = chosen[0].capitalize()
    return " ".join(chosen) + chance.choice((".", "!", "?", ",", "。", ";")) + chance.choice(PIECES)


def training(seed, count):
    """Sentences, two of three in Latin letters."""
    chance = random.Random(seed)
    lexica = {name: lexicon(chance, letters, 70) for name, letters in ALPHABETS.items()}
    names = [*lexica, *["latin"] * (2 * len(lexica))]
    return [sentence(chance, lexica[chance.choice(names)]) for _ in range(count)]


def mixtures(seed, count):
    """Words, numbers, emoji and spaces of all kinds, side by side without reason."""
    chance = random.Random(seed)
    parts = [
        *ALPHABETS.values(),
        *EMOJI,
        *PIECES,
        "0123456789",
        "\u00a0",
        "\u3000",
        "\u200d",
        "½",
        "٣٤",
    ]
    texts = []
    for _ in range(count):
        chosen = [chance.choice(parts) for _ in range(chance.randint(6, 24))]
        texts.append("".join(part[: chance.randint(1, len(part))] for part in chosen))
    return texts


HARD = [
    "",
    " ",
    "  ",
    "   ",
    "\t",
    "\n",
    "\n\n",
    " \n \n\n  \n",
    "\r\n\r\n",
    "a\r",
    "the tea is on the table",
    " the",
    "  the",
    "   the tea",
    "tea ",
    "tea   ",
    "\n tea\n\n\ttea\t\n",
    "it's I'LL we'Re DON'T they've l'été 'tis '' '",
    "0",
    "07",
    "007",
    "12345678901234567890",
    "1,234.5 -6e-7 0x1F 3.14159 1/2 ½ ²³ ٣٤٥ Ⅷ १२३",
    "x=1;y+=2//note\n\n\n    return\n\tif(x){y[0]}\n",
    "café naïve Straße œuvre ŁÓDŹ",
    "cafe\u0301 o\u0308\u0323 \u0301",
    "Ελληνικά και русский текст",
    "मानक हिन्दी क् ि",
    "ภาษาไทย ไม่มีช่องว่าง",
    "العربية من اليمين",
    "한국어 가나다 \u1112\u1161\u11ab",
    "这是中国，天地。 我们來說",
    "カタカナとひらがなｶﾀｶﾅ",
    "🦙🚀 👩‍👩‍👧 🇪🇺 ❤️ 😶‍🌫️ 👍🏽",
    "𐐀𐐨 𝒜𝓫 𠀀 \U0010ffff",
    "a\u00a0b\u2003c\u3000d\u0085e\u2028f\ufefff\u200bg",
    "\x00\x01\x1b[0m\x7f",
    "\u0378 \ue000 \ufffd \ufffe",
    "▁already ▁▁marked▁",
    "<0x41> <0xE4><0xBD><0xA0>",
    "<unk><s></s> <s> x</s>",
    "<|endoftext|>tea<|endoftext|> <|endoftext|",
    "<｜begin▁of▁sentence｜>tea<｜end▁of▁sentence｜>",
    "!!!???... --- ((())) [x] {y} $5 #tag @me \\n ~~ ^^",
    "！？（）～「」。、",
    "a" * 300,
    "ab" * 150,
    " " * 200,
    "\n" * 100,
    " \n" * 60,
    "7" * 120,
    "!" * 120,
    "é" * 80,
    "人" * 80,
    "🦙" * 40,
    "the " * 80,
]

# Bytes that are not UTF-8: cut characters, bytes without a beginning, a surrogate, what is too
# long or too large.
DAMAGED = [
    b"\xe4\xbd",
    b"tea \xf0\x9f\xa6 tea",
    b"\x80\xbf\xff\xfe",
    b"a\xc3(b\xe2\x82",
    b"\xed\xa0\x80 \xc0\xaf \xf4\x90\x80\x80 \xf8\x88\x80\x80\x80",
    b"\xf0\x9f\xa6\x99\xf0\x9f\xa6\xf0\x9f\xa6\x99",
]
