"""The hidden exhibits of a class: for lab 14, other bugs of property_tests/museum than those which everybody
has, chosen by the secret. They are made in the folder of the class:

    hidden/14_museum/given/         for the students: a program for each task, and the file to begin with
    hidden/14_museum/findings.json  for the teacher: which bug each program has, and a finding of it

The museum's own search finds each bug and makes the events few. What it finds becomes a finding of the lab
and is played on the program; a bug which the lab cannot show in time is passed over.
"""

import json
import pathlib
import re
import shlex
import subprocess
import tempfile

import builder
import findings
import lab as labs
from program import Program

NUMBER = "14"
MUSEUM = labs.ROOT / "property_tests/museum"
# Of a trace, and what the lab calls it.
CONFIG = {
    "num_blocks": "blocks",
    "block_size": "block_size",
    "num_host_blocks": "host_blocks",
    "max_batch_size": "batch",
    "max_batch_tokens": "tokens",
    "prefill_chunk_size": "chunk",
    "priority_head_start": "head_start",
    "preemption": "preemption",
    "prefix_cache": "prefix_cache",
    "session_idle_steps": "session_idle_steps",
}
# Of an event, and what the lab says for it.
WORDS = {
    "clear the prefix cache": "clear",
    "commit: all KV is lost": "lose",
    "session ": "",
    "commit: ": "commit ",
    ", ": " ",
    " +1 token": "",
    " and ": " ",
    " drafts": "",
}
CAUGHT = re.compile(r'^caught by "(.*)" after .*\n.*\n((?:    .*\n)*)', re.MULTILINE)


class NotMade(Exception):
    pass


def folder_of(the_class, lab):
    return the_class.folder / "hidden" / lab.name


def given(the_class, lab):
    """The folder of the programs that the class was given, or none."""
    folder = folder_of(the_class, lab) / "given"
    return folder if folder.exists() else None


def candidates(the_class, lab):
    """The bugs that not everybody has, in an order that follows from the secret."""
    names = {path.stem for path in MUSEUM.glob("*.exhibit")} - set(lab.exhibits_of)
    return sorted(names, key=lambda name: the_class.keyed("exhibit", name))


def make(the_class):
    """Says, a line each, what was made."""
    lab = labs.find(NUMBER)
    folder = folder_of(the_class, lab)
    if folder.exists():
        raise NotMade(f"{folder} is there already, and may have been handed out")
    left = candidates(the_class, lab)
    own = builder.own_program(lab)
    found, starter = {}, {}
    for task in lab.tasks:
        program = folder / "given" / f"lab_{NUMBER}_{task.name}"
        while task.name not in found:
            if not left:
                raise NotMade(f"{MUSEUM} has too few bugs that lab {NUMBER} can show")
            name = left.pop(0)
            finding = hunt(name)
            link_with(lab, name, program)
            if is_full(lab, task, finding, program, own):
                found[task.name] = {"exhibit": name, **finding}
                starter[task.name] = finding
        yield f"{program}: {name}, {len(finding['events'])} events"
    (folder / "findings.json").write_text(findings.to_text(found))
    handed_out = folder / "given" / lab.file
    handed_out.write_text(findings.starter(json.dumps(starter)))
    yield f"{handed_out.parent} is for the students"


def is_full(lab, task, finding, program, own):
    started = lambda which: Program([program if which else own])  # noqa: E731
    return findings.judge(lab, task, {task.name: finding}, started).points == task.points


def link_with(lab, name, program):
    """The lab's program with the source that has the bug, as the museum compiles it."""
    _, link, own = builder.commands(lab)
    target = f"bin/museum_{name}"
    command = ["ninja", "-C", builder.BUILD, "-t", "commands", "-s", target]
    listed = shlex.split(subprocess.run(command, capture_output=True, text=True, check=True).stdout)
    (bug,) = [word for word in listed if word.endswith(f"museum_{name}.dir/{name}.cc.o")]
    program.parent.mkdir(parents=True, exist_ok=True)
    changed = {own: [own, bug], f"bin/lab_{lab.number}": [str(program)]}
    builder.run([new for word in link for new in changed.get(word, [word])])


def hunt(name):
    """What the museum finds of a bug, as a finding of the lab."""
    target = f"museum_{name}"
    builder.run(["cmake", "--build", str(builder.BUILD), "--target", target])
    with tempfile.TemporaryDirectory() as folder:
        trace = pathlib.Path(folder) / "trace.jsonl"
        command = [builder.BUILD / "bin" / target, MUSEUM / f"{name}.exhibit", trace]
        printed = subprocess.run(command, capture_output=True, text=True, check=True).stdout
        return finding_of(printed, trace.read_text())


def finding_of(printed, trace):
    lines = [json.loads(line) for line in trace.strip().split("\n")]
    config = {CONFIG[name]: value for name, value in lines[0]["scheduler"].items() if name in CONFIG}
    if config["preemption"] == "auto":  # what a swap costs is not the lab's affair
        config["preemption"] = "swap"
    requests = [request_of(line["submit"]["request"]) for line in lines if "submit" in line]
    promise, events = CAUGHT.search(printed).groups()
    events = [line.strip() for line in events.rstrip("\n").split("\n")]
    return {"promise": promise, "config": config, "requests": requests, "events": in_the_lab(events)}


def request_of(request):
    """A letter of a prompt is a token."""
    prompt = "".join(chr(96 + token) for token in request["prompt"])
    made = {"prompt": prompt, "new": request["max_new_tokens"]}
    made |= {name: request[name] for name in ("priority", "session", "client") if name in request}
    if "cache_salt" in request:
        made["salt"] = int(request["cache_salt"], 16)
    return made


def in_the_lab(events):
    """Requests have the numbers in which they come, from 1 on."""
    numbers = {}
    for event in events:
        if event.startswith("submit request "):
            numbers[event.split()[-1]] = str(len(numbers) + 1)
    return [in_words_of_the_lab(event, numbers) for event in events]


def in_words_of_the_lab(event, numbers):
    """What these words cannot say, the lab cannot read, and the bug is passed over."""
    for words, word in WORDS.items():
        event = event.replace(words, word)
    return re.sub(r"request (\d+)", lambda found: numbers[found[1]], event)
