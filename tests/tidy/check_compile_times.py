"""check_compile_times.py TIMES BUDGETS: what it costs to compile each library and program.

TIMES is the compile_times.txt of a build folder (cmake/compile_time): lines "USER SYSTEM OBJECT", CPU
seconds of the compiler. BUDGETS has a line "TARGET SECONDS" for each target that may take longer than
the one named `default`, and `total` for all of them. Prints the targets that take longest; fails where
one is over its budget.

Machines differ, so a second of a budget is one of a machine that compiles the header that is
precompiled for all layers, nothing but the standard library, in `reference` seconds. Where the compiler
cache had that header nothing was measured, and nothing is checked. An object that it had counts as what
reading it took, so a warm cache hides what a cold one shows. Objects that are gone do not count.
"""

import collections
import pathlib
import re
import sys

REFERENCE = "forge_precompiled"


def read_times(path):
    """Seconds by target; of an object compiled again, the last."""
    objects = {}
    with open(path, encoding="utf-8") as file:
        for line in file:
            user, system, name = line.split(" ", 2)
            objects[name.strip()] = float(user) + float(system)
    targets = collections.Counter()
    for name, seconds in objects.items():
        found = re.search(r"CMakeFiles/([^/]+)\.dir/", name)
        if found and (pathlib.Path(path).parent / name).exists():
            targets[found[1]] += seconds
    return targets


def read_budgets(path):
    budgets = {}
    with open(path, encoding="utf-8") as file:
        for line in file:
            words = line.split("#")[0].split()
            if words:
                budgets[words[0]] = float(words[1])
    return budgets


def main(times_path, budgets_path):
    times = read_times(times_path)
    budgets = read_budgets(budgets_path)
    reference = budgets.pop("reference")
    default = budgets.pop("default")
    total = budgets.pop("total")
    if times[REFERENCE] < reference / 10:
        print("compile times: the compiler cache had the precompiled header; nothing to compare with")
        return 0

    scale = reference / times[REFERENCE]
    spent = {target: seconds * scale for target, seconds in times.items()}
    everything = sum(spent.values())
    print(f"CPU seconds (this machine's, times {scale:.2f}): {everything:.0f} of {total:.0f}")
    for target, seconds in sorted(spent.items(), key=lambda item: -item[1])[:12]:
        print(f"{seconds:8.1f} of {budgets.get(target, default):3.0f}  {target}")

    over = [
        f"{target} takes {seconds:.1f} CPU seconds to compile; its budget is {budget:.0f}"
        for target, seconds in sorted(spent.items())
        if seconds > (budget := budgets.get(target, default))
    ]
    if everything > total:
        over.append(f"all targets take {everything:.0f} CPU seconds to compile; the budget is {total:.0f}")
    over += [f"{target} has a budget, and is no target" for target in budgets if target not in spent]
    for line in over:
        print(line, file=sys.stderr)
    return 1 if over else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
