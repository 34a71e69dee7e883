"""Small grammars and vocabularies, and texts that have been written so far."""

import json

STEPS = "steps: "

# What may stand in strings, and pieces of JSON.
WORDS = ["a", "b", "c", "ab", "abc", "ba", "aa", "é", "aé", "éa", "€", "a€b", "😀", "b😀", " ", "1", "x"]
PIECES = ['"', '":', '",', '"}', '"]', '": ', '{"', "{", "}", "[", "]", "],", "]}", "}}", ",", ", ", ":", ": ", ':"']
PIECES += ["1", "12", "1,", "1}", "-", "true", "false", "tr", "null", " ", "  ", "   ", " \n", "\n", "\n  ", "[1", '["', "[[", "[]", "{}"]
ESCAPES = ['a": 1', 'b": 1', 'b": n', 'a"', 'ab"', 'a",', 'ab"]', 'b"', 'b",', 'aa"']
ESCAPES += ["\\", "\\n", "a\\", "a\\n", 'a\\n"', '\\"', 'a\\"', 'b\\"a"', '"', '",', '"]']

PATTERNS = {
    "^[a-c]+$": ["", "a", "ab"],
    "^(ab|ba)*$": ["", "a", "abb"],
    "^a": ["", ""],
    "^(ab|b)": ["", "a"],
    "^[aé€]*b$": ["", "a", "é€"],
    "^(a|😀)b?$": ["", "a", "😀"],
    "^ab.*c$": ["", "a", "ab"],
}
STRUCTURES = [
    ({"type": "array", "items": {"type": "integer"}}, ["", "[", "[1", "[1,", "[1 ", "[1]", " "]),
    ({"type": "array", "items": {"type": "array", "items": {"type": "boolean"}}}, ["", "[", "[[", "[[true", "[[true]"]),
    ({"type": "object", "properties": {"a": {"type": "integer"}}, "additionalProperties": False}, ["", "{", '{"a"', '{"a":', '{"a":1']),
    ({"enum": [{"a": [1]}, {"a": [True]}, [1]]}, ["", "{", '{"a"', '{"a":', '{"a":[', "["]),
    ({"anyOf": [{"type": "array", "items": {"type": "integer"}}, {"type": "array", "items": {"type": "null"}}]}, ["", "[", "[1", "[ "]),
    ({"type": ["object", "boolean", "null"]}, ["", "  ", "{", "\n"]),
]
# Strings that take anything from some place on.
BEGINS_WITH_A = {"type": "array", "items": {"type": "string", "pattern": "^a"}}
LONG_ENOUGH = {"type": "string", "minLength": 3}
KEYS = {
    "type": "object",
    "patternProperties": {"^a": {"type": "integer"}, "^b": {"type": "null"}},
    "additionalProperties": False,
}
FREE = [
    (BEGINS_WITH_A, ['["', '["a', '["a","', '["abc']),
    ({"type": "array", "items": {"type": "string", "pattern": "^(ab|b)"}}, ['["', '["a', '["b","']),
    (LONG_ENOUGH, ['"', '"a', '"aaaa']),
    (KEYS, ['{"', '{"a']),
]


def some(random, words, least, most):
    return sorted(set(random.choice(words) for _ in range(random.randint(least, most))))


def text_case(random):
    pattern = random.choice(list(PATTERNS))
    text = '"' + random.choice(PATTERNS[pattern])
    longer = [random.choice(WORDS) + random.choice(WORDS) for _ in range(6)]
    return {"schema": {"type": "string", "pattern": pattern}, "text": text, "tokens": some(random, WORDS + longer, 3, 14)}


def structure_case(random):
    schema, texts = random.choice(STRUCTURES)
    longer = [random.choice(PIECES) + random.choice(PIECES) for _ in range(12)]
    return {"schema": schema, "text": random.choice(texts), "tokens": some(random, PIECES + longer, 4, 20)}


def free_case(random):
    schema, texts = random.choice(FREE)
    longer = [random.choice("ab") + random.choice(ESCAPES) for _ in range(8)]
    return {"schema": schema, "text": random.choice(texts), "tokens": some(random, ESCAPES + longer + ["a", "ba"], 4, 16)}


LETTERS = {"type": "string", "pattern": "^[a-c]+$"}
FIRST = {
    "scan_text": [
        {"schema": LETTERS, "text": '"', "tokens": ["a", "x", "ab", "ax", "xa"]},
        {"schema": {"type": "string", "pattern": "^abc$"}, "text": '"', "tokens": ["a", "ab", "abc", "abcd", "b", "bc"]},
        {"schema": {"type": "string", "pattern": "^(ab)*$"}, "text": '"a', "tokens": ["ab", "b", "ba", "bab", "bb"]},
        {"schema": {"type": "string", "pattern": "^a"}, "text": '"', "tokens": ["a", "ab", "abc", "b", "ba"]},
        {"schema": {"type": "string", "pattern": "^[é€]+$"}, "text": '"', "tokens": ["é", "é€", "€", "ê", "a"]},
    ],
    "walk_structure": [
        {"schema": {"type": "array", "items": {"type": "integer"}}, "text": "", "tokens": ["[", "[1", "[]", "{", "]", "1"]},
        {"schema": {"type": "array", "items": {"type": "integer"}}, "text": "[1", "tokens": [",", ", 1", "]", "}", "],", "0"]},
        {"schema": {"type": "array", "items": {"type": "integer"}}, "text": "[", "tokens": [" ", "  ", "   ", "  1", "\n  1", "\t]"]},
        {"schema": STRUCTURES[4][0], "text": "", "tokens": ["[", "[1", "[n", "[null", "[t"]},
    ],
    "add_below": [
        {"schema": BEGINS_WITH_A, "text": '["', "tokens": ['a"', 'a",', 'a"]', 'b"', "a\\n", "a\\", 'ab"', '"']},
        {"schema": BEGINS_WITH_A, "text": '["', "tokens": ['"', "a\\x", "a\\n", 'ab"x', 'ab"]', 'b"]']},
        {"schema": LONG_ENOUGH, "text": '"', "tokens": ['a"', 'ab"', 'abc"', 'ab\\n"', "ab\\"]},
        {"schema": KEYS, "text": '{"', "tokens": ['a":', 'a": 1', 'a": n', 'b": 1', 'b": n', 'c":']},
    ],
}
RANDOM = {"scan_text": text_case, "walk_structure": structure_case, "add_below": free_case}


def shown(text):
    return json.dumps(text, ensure_ascii=False)


def describe(case):
    return [
        f"schema   {shown(case['schema'])}",
        f"text     {shown(case['text'])}",
        f"tokens   {'  '.join(map(shown, case['tokens']))}",
    ]


def difference(task, got, expected):
    """Steps are at most those of the project's walk, but steps there are."""
    if len(got) != len(expected):
        return "there are other lines"
    for line, right in zip(got, expected):
        if right.startswith(STEPS) and line.startswith(STEPS):
            took, most = int(line[len(STEPS) :]), int(right[len(STEPS) :])
            if took > most or (took == 0 and most > 0):
                return f"at most: {right}"
        elif line != right:
            return f"not {right}"
    return None
