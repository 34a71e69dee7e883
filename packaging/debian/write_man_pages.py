#!/usr/bin/env python3
"""write_man_pages.py CHANGELOG FOLDER PROGRAM...: writes a man page of each PROGRAM into FOLDER.

What --help says of a program and of each of its commands becomes a page, in the words of the page of
flags; its exit status is what the first comment of its source says. Version and date are those of the
last entry of CHANGELOG.
"""

import email.utils
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "book"))
from write_flags import cells, help_of, parse_help  # noqa: E402



def roff(text):
    """`text` as it has to be spelled in a page; `code` becomes bold."""
    for character, spelled in (("\\", "\\(rs"), ("-", "\\-"), ("~", "\\(ti"), ("^", "\\(ha")):
        text = text.replace(character, spelled)
    text = re.sub(r"`([^`]*)`", r"\\fB\1\\fR", text)
    return re.sub(r"^([.'])", r"\\&\1", text, flags=re.M)


def option(head, words):
    flag, accepted, default, words = cells(head, words)
    line = roff(flag)
    if accepted:
        line += " " + (roff(accepted) if "`" in accepted else f"\\fI{roff(accepted)}\\fR")
    if default:
        line += " (required)" if default == "required" else f" (default: {roff(default)})"
    return f".TP\n{line}\n{roff(words)}\n"


def options(groups, heading):
    """The groups of options, each but the first under its name."""
    out = ""
    for name, entries in groups.items():
        if name != "Options" and entries:
            out += heading.format(roff(name))
        out += "".join(option(*entry) for entry in entries)
    return out


def synopsis(text):
    program, *rest = re.search(r"^Usage: (.*)$", text, re.M)[1].split()
    words = [f"\\fI{roff(word)}\\fR" if re.match(r"\W*[A-Z]", word) else f"\\fB{roff(word)}\\fR" for word in rest]
    return f"\\fB{roff(program)}\\fR " + " ".join(words) + "\n"


def exit_status(program):
    name = program.removeprefix("forge-")
    source = ROOT / "src" / "apps" / name / f"forge_{name}.cc"
    comment = re.match(r"(?://[^\n]*\n)+", source.read_text())[0]
    paragraph = re.search(r"^// Exit status: (.*?)(?=^//\n|\Z)", comment, re.M | re.S)[1]
    return re.sub(r"\s*\n(?:// )?\s*", " ", paragraph).strip()


def page_of(path, version, date, others):
    program = path.name
    text = help_of(path.parent, [program])
    does, groups = parse_help(text)
    commands = {name: help_of(path.parent, [program, name]) for name, _ in groups.pop("Subcommands", [])}
    of_command = "; after a command, that of the command" if commands else ""
    groups["Options"].append(("-h,--help", "Print this help message and exit" + of_command))
    brief = re.match(r"[^.:]+", does)[0]

    out = f'.TH {roff(program.upper())} 1 {date} "Forge {version}" "User Commands"\n'
    out += f".SH NAME\n{program} \\- {roff(brief[0].lower() + brief[1:])}\n"
    out += ".SH SYNOPSIS\n" + ".br\n".join(map(synopsis, commands.values() or [text]))
    out += f".SH DESCRIPTION\n{roff(does)}\n"
    out += ".SH OPTIONS\n" + options(groups, ".SS {}\n")
    if commands:
        out += ".SH COMMANDS\n"
    for name, text in commands.items():
        does, groups = parse_help(text)
        out += f".SS {roff(name)}\n{synopsis(text)}.PP\n{roff(does.rstrip('.'))}.\n"
        out += options(groups, ".PP\n{}:\n")
    out += f".SH EXIT STATUS\n{roff(exit_status(program))}\n"
    return out + ".SH SEE ALSO\n" + ",\n".join(f"\\fB{roff(name)}\\fR(1)" for name in others) + "\n"


def main():
    if len(sys.argv) < 4:
        sys.exit(__doc__)
    changelog, folder = map(pathlib.Path, sys.argv[1:3])
    programs = sorted(map(pathlib.Path, sys.argv[3:]))
    entry = changelog.read_text()
    version = re.match(r"\S+ \((.*?)\)", entry)[1]
    date = email.utils.parsedate_to_datetime(re.search(r"^ -- .*>  (.*)$", entry, re.M)[1]).date()
    for program in programs:
        others = [other.name for other in programs if other != program]
        (folder / f"{program.name}.1").write_text(page_of(program, version, date, others))


if __name__ == "__main__":
    main()
