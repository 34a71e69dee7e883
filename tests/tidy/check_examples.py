#!/usr/bin/env python3
"""check_examples.py ROOT -- COMPILER FLAG...: the examples in the comments of headers compile.

An example is a paragraph that begins with this word and ends with a colon, and indented code without
empty lines:

    // Example, given `const SchedulerConfig& config` and `Executor& executor`:
    //
    //   Engine engine(config, executor);
    //   while (engine.has_work()) {
    //     const auto [plan, result] = engine.step();
    //     ...
    //   }

What the paragraph has between backquotes is there before the code: an #include, or a declaration,
which becomes a parameter of a function whose body is the code. The function is in the namespace of
the header, and returns what the code returns. `...`, alone on a line or in braces, is what the reader
will do there.

Indented lines that end as statements do are code, and are refused where they are no example. Prints what the compiler says, by the header's lines; exit status 1 if anything is refused.
"""

import concurrent.futures
import pathlib
import re
import subprocess
import sys

import comments

FOLDERS = ("include", "src", "cuda", "sim")
GIVEN = re.compile(r"`([^`]+)`")
INCLUDE = re.compile(r"#include ")
LEFT_OUT = re.compile(r"(?:^|(?<=\{)) *\.\.\. *(?=\}|$)")
STATEMENT = re.compile(r"(\)|\}|\w.* = .*);( +//.*)?$|[\w)] \{$")
NAMESPACE = re.compile(r"^namespace ([\w:]+) \{", re.MULTILINE)


def examples_in(path):
    """([(declarations, lines of code)], [lines that look like code and are no example])."""
    examples, unmarked = [], []
    for block in comments.blocks(path):
        prose = ""
        for indented, lines in comments.paragraphs(block):
            text = " ".join(text.strip() for _, text in lines)
            if indented and prose.startswith("Example") and prose.endswith(":"):
                examples.append((GIVEN.findall(prose), lines))
            elif indented and not any(comments.ITEM.match(text) for _, text in lines):
                unmarked += [line for line in lines if STATEMENT.search(line[1])]
            prose = "" if indented else text
    return examples, unmarked


def unit_of(root, path, examples):
    """The translation unit of a header's examples."""
    header = path.relative_to(root / "include" if path.is_relative_to(root / "include") else root)
    namespaces = [name for name in NAMESPACE.findall(path.read_text(encoding="utf-8"))
                  if not name.endswith("detail")]
    given = [words for declarations, _ in examples for words in declarations]
    unit = [f'#include "{header}"', *filter(INCLUDE.match, given)]
    unit.append(f"namespace {namespaces[-1] if namespaces else 'forge'} {{")
    for index, (declarations, lines) in enumerate(examples):
        parameters = [words for words in declarations if not INCLUDE.match(words)]
        unit.append(f"auto example_{index}({', '.join(parameters)}) {{")
        unit.append(f'#line {lines[0][0]} "{path.relative_to(root)}"')
        unit += [LEFT_OUT.sub("", text) for _, text in lines]
        unit.append("}")
    return "\n".join(unit + ["}", ""])


def compile_unit(compiler, unit):
    """What the compiler has to say against it; empty if nothing."""
    flags = ["-x", "c++", "-fsyntax-only", "-Werror", "-Wno-return-type", "-"]
    done = subprocess.run([*compiler, *flags], input=unit, text=True, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT)
    return done.stdout if done.returncode else ""


def main():
    root, compiler = pathlib.Path(sys.argv[1]), sys.argv[3:]
    units, refused, count = [], [], 0
    for path in comments.sources(root, FOLDERS):
        examples, unmarked = examples_in(path)
        refused += [f"{path.relative_to(root)}:{number}: code, but no example that is compiled:\n"
                    f"  {text.strip()}\n" for number, text in unmarked]
        if examples:
            count += len(examples)
            units.append(unit_of(root, path, examples))
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        refused += filter(None, pool.map(lambda unit: compile_unit(compiler, unit), units))
    print("".join(refused), end="")
    print(f"{count} examples in {len(units)} headers, {len(refused)} refused")
    sys.exit(1 if refused or not count else 0)


if __name__ == "__main__":
    main()
