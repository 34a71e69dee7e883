"""Makes the goldens of tests/chat with Python's jinja2.

    make_goldens.py [FOLDER OF TEMPLATES]

Needs the packages of requirements.txt. FOLDER has the chat templates of models, which are not part of
this project: of what they render, digests.txt keeps 64-bit FNV-1a digests, a line for each template
and conversation, a word for each setting. Without FOLDER their lines stay as they are.

    context.json, cases.jsonl          snippets and random templates, with what they render
    conversations.json, digests.txt    conversations and settings, rendered by the templates of models
                                       and by those of the folder families
"""

import json
import pathlib
import re
import sys
import warnings

import conversations
import random_templates
import reference
import snippets

HERE = pathlib.Path(__file__).parent
RANDOM_CASES = 200


def templates_of_snippets():
    for line in snippets.EXPRESSIONS.strip("\n").split("\n"):
        yield "{{ [" + line + "] }}"
    for line in snippets.ERRORS.strip("\n").split("\n"):
        yield "{{ " + line + " }}"
    yield from snippets.SYNTAX.strip("\n").split("\n")
    yield from snippets.TEMPLATES


def random_cases():
    for seed in range(RANDOM_CASES):
        yield random_templates.expression(seed)
        yield random_templates.template(seed)


def is_golden(result):
    """Python prints addresses and integers of any size."""
    text = result.get("text", "")
    return " object at 0x" not in text and not re.search(r"\d{20}", text)


def write_cases():
    with open(HERE / "context.json", "w") as out:
        json.dump(snippets.CONTEXT, out, ensure_ascii=False, indent=1)
        out.write("\n")
    with open(HERE / "cases.jsonl", "w") as out:
        for template in [*templates_of_snippets(), *random_cases()]:
            result = reference.outcome(template, snippets.CONTEXT)
            if not is_golden(result):
                continue
            if "error" in result:
                result = {"error": True}
            out.write(json.dumps({"template": template, **result}, ensure_ascii=False) + "\n")


def digest(text):
    state = 14695981039346656037
    for byte in text.encode():
        state = ((state ^ byte) * 1099511628211) & (2**64 - 1)
    return f"{state:016x}"


def word(result):
    if "error" in result:
        return "error"
    return digest(result["text"]) if "text" in result else "!" + digest(result["raised"])


def digest_lines(name, template):
    for conversation, messages in conversations.conversations():
        words = [
            word(reference.outcome(template, {**variables, "messages": messages}))
            for _, variables in conversations.settings()
        ]
        yield f"{name}|{conversation}|{' '.join(words)}\n"


def write_digests(folder):
    with open(HERE / "conversations.json", "w") as out:
        both = {
            "conversations": [
                {"name": name, "messages": messages}
                for name, messages in conversations.conversations()
            ],
            "settings": [
                {"name": name, "variables": variables} for name, variables in conversations.settings()
            ],
        }
        json.dump(both, out, ensure_ascii=False, indent=0)
        out.write("\n")
    path = HERE / "digests.txt"
    kept = [] if folder else [line for line in open(path) if line.startswith("models/")]
    lines = []
    for file in sorted((HERE / "families").glob("*.jinja")):
        lines += digest_lines(f"families/{file.name}", file.read_text())
    for file in sorted(pathlib.Path(folder).glob("*.jinja")) if folder else []:
        lines += digest_lines(f"models/{file.name}", file.read_text())
    path.write_text("".join(lines + kept))


if __name__ == "__main__":
    warnings.simplefilter("ignore")  # Python's, of templates that do what they should not
    write_cases()
    write_digests(sys.argv[1] if len(sys.argv) > 1 else None)
