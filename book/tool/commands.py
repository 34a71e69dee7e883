"""Commands for the reader to type. They are not run; their programs and flags are there."""

import pathlib
import re
import shlex
import subprocess

FLAG = re.compile(r"--[a-z][a-z0-9-]*")
# What cannot be looked up here; the reader's own machine has it.
OF_THE_SYSTEM = set(
    "aiperf apt-get cat chmod cmake cp ctest curl docker echo export git guidellm jq kill kubectl lm_eval ls mkdir"
    " openssl pip podman python python3 rm sed sudo systemctl".split()
)


class Commands:
    def __init__(self, root, programs):
        self.root, self.programs = root, pathlib.Path(programs).resolve()
        self.known = {}

    def faults(self, lines):
        """What is wrong with the commands: (line, sentence)."""
        text, begin = "", 0
        for at, line in enumerate(lines):
            begin = begin if text else at
            text += line
            if text.endswith("\\"):
                text = text[:-1] + " "
                continue
            yield from ((begin, fault) for fault in self._faults_of(text))
            text = ""

    def _faults_of(self, text):
        lexer = shlex.shlex(text, posix=True, punctuation_chars=True)
        lexer.whitespace_split = True
        try:
            words = list(lexer)
        except ValueError as error:
            return [f"a shell cannot read '{text}': {error}"]
        faults, command = [], []
        for word in [*words, ";"]:
            if word and set(word) <= set(";&|()"):
                faults += self._faults_of_command(command)
                command = []
            else:
                command.append(word)
        return faults

    def _faults_of_command(self, words):
        while words and re.match(r"[A-Za-z_]+=", words[0]):
            words = words[1:]
        if not words or words[0] in OF_THE_SYSTEM:
            return []
        name = pathlib.PurePath(words[0]).name
        if "venv/bin" in words[0] or words[0].startswith("build/flashinfer/"):
            return []  # of an environment that the commands make
        if words[0].startswith(("scripts/", "bench/", "book/")):
            there = (self.root / words[0]).is_file()
            return [] if there else [f"there is no {words[0]}"]
        if not (self.programs / name).is_file():
            return [f"'{words[0]}' is no program that is built or known"]
        flags = self._flags_of(name, words[1] if len(words) > 1 else "")
        return [
            f"{name} has no {word.split('=')[0]}"
            for word in words[1:]
            if FLAG.match(word) and not word.startswith(("--gtest", "--benchmark")) and word.split("=")[0] not in flags
        ]

    def _flags_of(self, name, subcommand):
        key = name, subcommand if re.match(r"[a-z]", subcommand) else ""
        if key not in self.known:
            text = ""
            for words in {(name,), tuple(word for word in key if word)}:
                done = subprocess.run(
                    [self.programs / words[0], *words[1:], "--help"],
                    capture_output=True,
                    text=True,
                    timeout=60,
                )
                text += done.stdout
            self.known[key] = set(FLAG.findall(text))
        return self.known[key]
