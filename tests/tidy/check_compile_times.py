"""check_compile_times.py TIMES BUDGETS [again] [PART...]: what it costs to compile each library and
program.

TIMES is the compile_times.txt of a build folder (cmake/compile_time): lines "USER SYSTEM OBJECT", CPU
seconds of the compiler. BUDGETS has a line "TARGET SECONDS" for each target that may take longer than
the one named `default`. A third word is the part of the project that the target belongs to, where not
every build has it; this build has the PARTs. Prints the sum of all targets, and those that take
longest; fails where one is over its budget, and where a budget is of no target.

Machines differ, so a second of a budget is one of a machine that compiles the header that is
precompiled for all layers, nothing but the standard library, in `reference` seconds. Where the compiler
cache had that header nothing was measured, and nothing is checked. An object that it had counts as what
reading it took, so a warm cache hides what a cold one shows. Objects that are gone do not count.

A machine's speed also changes while it builds, by up to four times, with what else runs on it. So with
`again`, where a target seems over its budget, the header is compiled three times more, since it may have
met the machine at its best, and the slowest time counts. Then a target that still seems over is compiled
up to five times more, each object between two compilations of the header; of each object the fewest
seconds count. That goes without the compiler cache and leaves the build's own objects alone. The sum is of
what the build took, with what else ran then, and is not judged.
"""

import collections
import json
import os
import pathlib
import re
import resource
import shlex
import subprocess
import sys
import tempfile

REFERENCE = "forge_precompiled"
ATTEMPTS = 5


def target_of(name):
    found = re.search(r"CMakeFiles/([^/]+)\.dir/", name)
    return found[1] if found else None


def read_times(path):
    """Seconds by target; of an object compiled again, the last."""
    objects = {}
    with open(path, encoding="utf-8") as file:
        for line in file:
            user, system, name = line.split(" ", 2)
            objects[name.strip()] = float(user) + float(system)
    targets = collections.Counter()
    for name, seconds in objects.items():
        target = target_of(name)
        if target and (pathlib.Path(path).parent / name).exists():
            targets[target] += seconds
    return targets


def read_budgets(path, parts):
    """Seconds by target, of a build that has `parts`."""
    budgets = {}
    with open(path, encoding="utf-8") as file:
        for line in file:
            words = line.split("#")[0].split()
            if words:
                target, seconds, *needed = words
                if set(needed) <= set(parts):
                    budgets[target] = float(seconds)
    return budgets


class Compiler:
    """Compiles targets of a build folder again, to nowhere, and says in how many CPU seconds."""

    def __init__(self, folder):
        self.commands = collections.defaultdict(list)
        listed = subprocess.run(
            ["ninja", "-t", "compdb"], cwd=folder, check=True, capture_output=True, text=True
        ).stdout
        for entry in json.loads(listed):
            target = target_of(entry["output"])
            words = shlex.split(entry["command"])
            if target and words[0].endswith("/compile_time"):
                self.commands[target].append((words[1:], entry["directory"]))
        self.quiet = {**os.environ, "CCACHE_DISABLE": "1"}

    def seconds_of(self, target):
        """CPU seconds of each object of the target, compiled now."""
        with tempfile.TemporaryDirectory() as scratch:
            for words, folder in self.commands[target]:
                for option in ("-o", "-MF"):
                    if option in words:
                        place = words.index(option) + 1
                        name = os.path.basename(words[place])
                        words = [*words[:place], os.path.join(scratch, name), *words[place + 1 :]]
                before = resource.getrusage(resource.RUSAGE_CHILDREN)
                subprocess.run(words, cwd=folder, env=self.quiet, check=True)
                after = resource.getrusage(resource.RUSAGE_CHILDREN)
                yield after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime

    def headers(self, target):
        """What compiling each object of the target takes, in times that the header takes beside it."""
        before = sum(self.seconds_of(REFERENCE))
        for seconds in self.seconds_of(target):
            after = sum(self.seconds_of(REFERENCE))
            yield 2 * seconds / (before + after)
            before = after


def main(times_path, budgets_path, *words):
    again = "again" in words
    times = read_times(times_path)
    budgets = read_budgets(budgets_path, words)
    reference = budgets.pop("reference")
    default = budgets.pop("default")
    if times[REFERENCE] < reference / 10:
        print("compile times: the compiler cache had the precompiled header; nothing to compare with")
        return 0

    def seem_over(scale):
        return sorted(t for t in times if times[t] * scale > budgets.get(t, default))

    scale = reference / times[REFERENCE]
    suspects = seem_over(scale)
    if again and suspects:
        compiler = Compiler(os.path.dirname(os.path.abspath(times_path)))
        slowest = max(sum(compiler.seconds_of(REFERENCE)) for _ in range(3))
        scale = reference / max(slowest, times[REFERENCE])
        suspects = seem_over(scale)
    spent = {target: seconds * scale for target, seconds in times.items()}
    if again:
        fewest = {}
        for _ in range(ATTEMPTS):
            for target in suspects:
                budget = budgets.get(target, default)
                if spent[target] > budget:
                    now = [headers * reference for headers in compiler.headers(target)]
                    fewest[target] = [min(pair) for pair in zip(now, fewest.get(target, now))]
                    spent[target] = min(spent[target], sum(fewest[target]))
                    print(f"{spent[target]:8.1f} of {budget:3.0f}  {target}, again")
    print(f"CPU seconds (this machine's, times {scale:.2f}): {sum(spent.values()):.0f}")
    for target, seconds in sorted(spent.items(), key=lambda item: -item[1])[:12]:
        print(f"{seconds:8.1f} of {budgets.get(target, default):3.0f}  {target}")

    over = [
        f"{target} takes {seconds:.1f} CPU seconds to compile; its budget is {budget:.0f}"
        for target, seconds in sorted(spent.items())
        if seconds > (budget := budgets.get(target, default))
    ]
    over += [f"{target} has a budget, and is no target" for target in budgets if target not in spent]
    for line in over:
        print(line, file=sys.stderr)
    return 1 if over else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
