"""scripts/lab submit N: gathers what you hand in. work/submission has a folder for each lab that you
submitted, and is handed in as it is:

    NN_name/FILE             your file
    NN_name/submission.json  the variant; what your program answered to the cases of a check, as a digest for
                             each task; and the commits of the file, where it is in a git repository of yours
"""

import hashlib
import json
import shutil
import subprocess

import builder
import lab as labs
from check import SEED
from program import Program
from work import Work


def digest_of_answers(lab, task, program):
    digest = hashlib.sha256()
    for case in lab.cases_of(task, SEED):
        got = program.ask(task.name, case)
        digest.update(json.dumps(got, sort_keys=True).encode() + b"\n")
        if "answer" not in got:  # it goes on like this, each time until the time is over
            break
    return digest.hexdigest()


def answers(lab, work):
    if lab.kind == "findings":
        return {}
    builder.own_program(lab)
    program = builder.build(lab, work.file, work.folder / "program")
    with Program([program]) as asked:
        return {task.name: digest_of_answers(lab, task, asked) for task in lab.tasks}


def commits(file):
    """Of the repository that the file lies in; none where it is in none, or is ignored there."""
    command = ["git", "-C", file.parent, "log", "--oneline", "--", file.name]
    try:
        listed = subprocess.run(command, capture_output=True, text=True, check=False)
    except FileNotFoundError:  # there is no git
        return []
    return listed.stdout.strip().split("\n") if listed.returncode == 0 and listed.stdout.strip() else []


def add_to(commands):
    commands.add_parser("submit").add_argument("lab", metavar="N")


def run(options):
    lab = labs.find(options.lab)
    work = Work(lab, options.work)
    file = work.must_be_there()
    folder = work.folder.parent / "submission" / lab.name
    members = {
        "lab": lab.name,
        "file": lab.file,
        "variant": work.kept.get("variant", ""),
        "sha256": hashlib.sha256(file.read_bytes()).hexdigest(),
        "answers": answers(lab, work),
        "commits": commits(file),
    }
    folder.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(file, folder / lab.file)
    (folder / "submission.json").write_text(json.dumps(members, indent=1) + "\n")
    print(f"{folder} is ready: {folder.parent} is what you hand in")
    return 0
