"""scripts/lab class FOLDER: a class, which is a folder of the teacher's, outside the repository.

    init                writes class.json: a secret, and the variants that each lab has today
    variant STUDENT     the variants that this student gets, and how they are started
    hidden              makes the hidden exhibits of the class (hidden.py)

What a student gets follows from the secret, the student's name and the lab, by HMAC-SHA256: the same
whenever it is asked for, and nobody without the secret can say it beforehand. A lab that has variants gives
out one of them and not the project's own rule, whose source everybody can read.
"""

import hashlib
import hmac
import json
import os
import pathlib

import hidden
import lab as labs

SECRET_BYTES = 32


class NotAClass(Exception):
    pass


class Class:
    """`variants` are those that there were in the beginning: a variant that a lab gets later changes
    nobody's."""

    def __init__(self, folder, secret, variants):
        self.folder, self.secret, self.variants = folder, bytes.fromhex(secret), variants

    def keyed(self, *words):
        """A number of 256 bits that the secret gives to these words."""
        text = json.dumps(words).encode()
        return int.from_bytes(hmac.digest(self.secret, text, hashlib.sha256), "big")

    def variant(self, student, lab):
        names = self.variants.get(lab.name, [])
        return names[self.keyed("variant", student, lab.name) % len(names)] if names else ""

    def seed(self, student, lab):
        """Of the hidden cases of a student."""
        return f"{self.keyed('seed', student, lab.name):064x}"


def file_of(folder):
    return pathlib.Path(folder) / "class.json"


def load(folder):
    folder = pathlib.Path(folder).resolve()
    try:
        return Class(folder, **json.loads(file_of(folder).read_text()))
    except (OSError, ValueError, TypeError) as error:
        raise NotAClass(f"{folder} is no class ({error}); scripts/lab class FOLDER init makes one") from error


def init(folder):
    folder = pathlib.Path(folder).resolve()
    if labs.ROOT == folder or labs.ROOT in folder.parents:
        raise NotAClass(f"{folder} is in the repository, where students would find it")
    if file_of(folder).exists():
        raise NotAClass(f"{folder} is a class already")
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    variants = {lab.name: list(lab.exhibits("variants")) for lab in labs.all_labs()}
    members = {
        "secret": os.urandom(SECRET_BYTES).hex(),
        "variants": {name: names for name, names in variants.items() if names},
    }
    made = os.open(file_of(folder), os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(made, "w") as file:
        file.write(json.dumps(members, indent=1) + "\n")
    return load(folder)


def print_variants(the_class, student):
    for lab in labs.all_labs():
        variant = the_class.variant(student, lab)
        if variant:
            number = int(lab.number)
            print(f"{number:>3}  {lab.title:<40} scripts/lab start {number} --variant {variant}")


def make_hidden(the_class):
    try:
        for line in hidden.make(the_class):
            print(line, flush=True)
    except hidden.NotMade as error:
        raise NotAClass(error) from error


def add_to(commands):
    command = commands.add_parser("class")
    command.add_argument("folder", metavar="FOLDER")
    actions = command.add_subparsers(dest="action", required=True, metavar="ACTION")
    actions.add_parser("init")
    actions.add_parser("hidden")
    actions.add_parser("variant").add_argument("student", metavar="STUDENT")


def run(options):
    if options.action == "init":
        the_class = init(options.folder)
        print(f"{file_of(the_class.folder)} has the secret: who reads it knows the hidden cases")
    elif options.action == "variant":
        print_variants(load(options.folder), options.student)
    else:
        make_hidden(load(options.folder))
    return 0
