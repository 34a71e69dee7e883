#!/usr/bin/env python3
"""write_flags.py [--check] BIN [PAGE]: writes the flags of the programs in BIN into book/flags.md.

What --help says becomes tables. A group of flags that several commands have in the same words is
shown once. --check changes nothing, and exits with status 1 where the page says something else.
"""

import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
PROGRAMS = ["forge-infer", "forge-chat", "forge-bench", "forge-trace", "forge-model", "forge-kernel", "forge-grammar",
            "explore_policy"]
HELP_COLUMN = 30  # where explanations begin

HEAD = """# Flags

<!-- written by book/write_flags.py from what the programs' --help says -->

Every program explains itself with `--help`; this page is the same, in tables. A number outside what is
accepted is refused with the flag, the value and the range. What each number of the policy does exactly is in
[scheduler_config.h](../include/forge/core/scheduler_config.h).
"""


def help_of(folder, words):
    return subprocess.run([folder / words[0], *words[1:], "--help"], check=True, capture_output=True, text=True).stdout


def entries(lines):
    """[(head, explanation)] of a group: a head is "--flag TYPE=default", an explanation may be on its own lines."""
    found = []
    indent = " " * HELP_COLUMN
    for line, after in zip(lines, lines[1:] + [""]):
        if line.startswith(indent):
            found[-1] = (found[-1][0], line.strip())
        elif after.startswith(indent):
            found.append((line.strip(), ""))
        else:
            found.append((line[:HELP_COLUMN].strip(), line[HELP_COLUMN:].strip()))
    return found


def parse_help(text):
    """What the program or command does, {group: [(head, explanation)]}."""
    words, rest = re.match(r"(.*?)\nUsage: [^\n]*\n(.*)", text, re.S).groups()
    groups, name = {}, None
    for line in rest.splitlines():
        if re.fullmatch(r"\S.*:", line):
            name = line[:-1]
            groups[name] = []
        elif line.strip():
            groups[name].append(line)
    groups = {name: entries(lines) for name, lines in groups.items()}
    options = [entry for entry in groups["Options"] if entry[0] != "-h,--help"]
    groups["Options"] = groups.pop("Positionals", []) + options
    return " ".join(words.split()), groups


def accepted(kind):
    """ "1 .. 64" of "UINT in [1 - 64]", "`a`, `b`" of "{a,b}"."""
    numbers = re.search(r"in \[(\S+) (?:-|to) (\S+)\]", kind)
    if numbers:
        lowest, highest = numbers.groups()
        return f"from {lowest}" if int(float(highest)) == 2**64 else f"{lowest} .. {highest}"
    if kind.startswith("{"):
        return ", ".join(f"`{choice}`" for choice in kind[1:-1].split(","))
    words = {"TEXT": "text", "TEXT ...": "texts", "FILE": "a file", "[FILE]": "a file or nothing", "OWNER": "`NAME:client`, `NAME:operator`",
             "ORIGIN": "`SCHEME://HOST[:PORT]`, `*`", "URL": "an address", "ENDPOINT": "`tcp://HOST:PORT`, `ipc://PATH`",
             "FAULT": "a fault", "": ""}
    return words[kind] if kind in words else {"UINT": "a number", "INT": "a number", "FLOAT": "a number"}[kind]


def cells(head, words):
    """What a flag is: its name, what it accepts, its default, what it means."""
    head = re.sub(r" ?Excludes: (\S+ ?)+", "", head)
    environment = re.search(r" \(Env:(\w+)\)", head)
    head = re.sub(r" \(Env:\w+\)| \.\.\.$", "", head)
    required = head.endswith(" REQUIRED")
    flag, _, kind = head.removesuffix(" REQUIRED").partition(" ")
    kind, _, default = kind.partition("=")
    kind = re.sub(r"^[A-Z]+:", "", kind)
    said = re.search(r" \[([^][]+)\]$", words)  # a default that is not a value
    if said:
        default, words = said[1], words[: said.start()]
    elif default:
        default = f"`{default}`"
    if required:
        default = "required"
    if environment:
        default += f", or `{environment[1]}` of the environment"
    names = ", ".join(f"`{name}`" for name in flag.split(","))
    return [names, accepted(kind), default, words]


def row(head, words):
    """A line of a table."""
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells(head, words)) + " |\n"


def table(group):
    head = "\n| flag | accepted | default | |\n|---|---|---|---|\n"
    return head + "".join(row(*entry) for entry in group)


def page_of(folder):
    commands = []  # (words, what it does, groups)
    for program in PROGRAMS:
        text, groups = parse_help(help_of(folder, [program]))
        subcommands = groups.pop("Subcommands", [])
        commands.append(([program], text, groups))
        for name, _ in subcommands:
            commands.append(([program, name], *parse_help(help_of(folder, [program, name]))))

    shared = {}  # (group, its text): the commands that have it so
    for words, _, groups in commands:
        for name, group in groups.items():
            shared.setdefault((name, table(group)), []).append(" ".join(words))

    out = HEAD
    for words, text, groups in commands:
        out += f"\n{'#' * (len(words) + 1)} {' '.join(words)}\n\n{text.rstrip('.')}.\n"
        for name, group in groups.items():
            if not group:
                continue
            users = shared[name, table(group)]
            title = f"\n{name}" if name != "Options" else ""
            if users[0] != " ".join(words):
                out += f"{title or chr(10) + 'Flags'}: those of `{users[0]}`.\n"
            else:
                out += (f"{title}:\n" if title else "") + table(group)
    return out


def main():
    arguments = sys.argv[1:]
    check = "--check" in arguments
    arguments = [word for word in arguments if word != "--check"]
    if len(arguments) not in (1, 2):
        sys.exit(__doc__)
    page = pathlib.Path(arguments[1]) if len(arguments) == 2 else ROOT / "book" / "flags.md"
    text = page_of(pathlib.Path(arguments[0]))
    if not check:
        page.write_text(text)
    elif page.read_text() != text:
        sys.exit(f"{page} is not what the programs say; run book/write_flags.py {arguments[0]}")


if __name__ == "__main__":
    main()
