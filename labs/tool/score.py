"""scripts/lab score: the competition of lab 12. A policy is a file; what it sustains is measured on a
virtual clock, so it is the same number on every machine.

The score is the most requests a second of which 95% have their first token within two seconds and 95%
of the next tokens within 50 ms, of made-up conversations and of questions with long documents, added
up. A policy that breaks a promise (a search of all states of small schedulers says so) scores nothing.
The board has some that people know (labs/12_chunks/policies), and is made anew by tests. With --recorded
FILE the same is asked of recorded requests (forge-bench --workload says of which files), of all of them.
"""

import json
import pathlib

import builder
import lab as labs
from program import Program
from work import Work

KINDS = ("chat", "documents")
REQUESTS = 2000
FINEST = 0.25  # requests a second
MOST = 64


class NotRecorded(Exception):
    """Why a recording cannot be served."""


def sustained(program, workload):
    """The most requests a second, and the digest of that run."""
    best, digest, worst = 0.0, 0, float(MOST)
    rate = 8.0
    while worst - best > FINEST:
        answer = program.ask("serve", {**workload, "rate": rate, "requests": REQUESTS}).get("answer")
        if answer and answer["sustained"]:
            best, digest = rate, answer["digest"]
        else:
            worst = rate
        rate = best + max(FINEST, (worst - best) / 2 // FINEST * FINEST)
        if rate >= worst:
            break
    return best, digest


def entry(command):
    """A line of the board."""
    with Program([command], seconds=300) as program:
        broken = program.ask("promises", {})
        said = broken.get("answer", broken.get("died", broken.get("not_begun")))
        rates, digests = {}, 0
        for kind in KINDS:
            rates[kind], digest = sustained(program, {"kind": kind})
            digests ^= digest
    score = 0 if said else sum(rates.values())
    return {**rates, "score": score, "breaks": said.split(":")[1].strip() if said else "", "digest": f"{digests:016x}"}


def known_policies(lab):
    """Programs with the policies that people know."""
    known = {"fcfs": builder.own_program(lab)}  # as it is: in order of arrival, whole prompts
    for name, policy in lab.exhibits("policies").items():
        known[name] = builder.BUILD / "labs/policies" / name
        text = policy.applied_to((labs.ROOT / policy.head["source"]).read_text())
        file = known[name].with_suffix(".cc")
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
        builder.build(lab, file, known[name], beside=policy.head["source"] != lab.source)
    return known


def board(lab):
    """The policies that people know, built and run."""
    return {name: entry(program) for name, program in known_policies(lab).items()}


def path_of(lab):
    return lab.folder / "board.json"


def table(entries):
    lines = [f"{'policy':<14} {'score':>7} {'chat':>7} {'documents':>10}  promises"]
    for name, each in sorted(entries.items(), key=lambda pair: (-pair[1]["score"], pair[1]["digest"])):
        kept = f"breaks {each['breaks']}" if each["breaks"] else "kept"
        lines.append(f"{name:<14} {each['score']:>7.2f} {each['chat']:>7.2f} {each['documents']:>10.2f}  {kept}")
    return lines


def score_recorded(lab, program, path):
    if not path.is_file():
        raise NotRecorded(f"there is no file {path}")
    workload = {"recorded": str(path.resolve())}
    with Program([builder.own_program(lab)], seconds=300) as asked:
        got = asked.ask("serve", {**workload, "rate": FINEST, "requests": REQUESTS})
        if "answer" not in got:
            raise NotRecorded(got["died"].split("what():")[-1].strip())
    print(f"{'policy':<14} {'requests/s':>10}")
    for name, command in {**known_policies(lab), "yours": program}.items():
        with Program([command], seconds=300) as asked:
            rate, _ = sustained(asked, workload)
        print(f"{name:<14} {rate:>10.2f}", flush=True)
    return 0


def add_to(commands):
    command = commands.add_parser("score")
    command.add_argument("--recorded", metavar="FILE", type=pathlib.Path, help="of recorded requests")


def run(options):
    lab = labs.find("12")
    work = Work(lab, options.work)
    program = builder.build(lab, work.must_be_there(), work.folder / "program")
    if options.recorded:
        return score_recorded(lab, program, options.recorded)
    entries = {**json.loads(path_of(lab).read_text()), "yours": entry(program)}
    print("\n".join(table(entries)))
    return 0 if entries["yours"]["score"] > 0 else 1
