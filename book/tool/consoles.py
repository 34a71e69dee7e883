"""Commands that pages show, and what they print.

    $ forge-trace show t.jsonl --from 28    a command; with a backslash at its end it goes on
    ...                                     any number of lines that the page leaves out

The commands of a section run one after the other in a folder of their own, which has the project's
files and the built programs on its PATH. What starts a server goes on in the background, on a free
port, and the commands after it ask that port in place of 8080; where no server was started they ask
one of the built-in model.
"""

import contextlib
import os
import pathlib
import re
import signal
import subprocess
import tempfile

import gaps

PROMPT = "$ "
LEFT_OUT = "..."
ADDRESS = "127.0.0.1:8080"  # as pages have it
WIDTH = 110  # of a line of an answer

# What is not the same in every run. A pattern holds what stands around it, so that nothing else is
# forgiven.
FORGIVEN = [
    # An answer's id, and when it was made.
    (r'"id":"(cmpl|chatcmpl|batch|call)[-_][0-9a-f]{32}"', r'"id":"\1-<id>"'),
    (r'"created":[0-9]+', r'"created":<s>'),
    # What has come back of a minute's tokens since the command before.
    (r"^(x-ratelimit-remaining-tokens: )[0-9]+$", r"\1<n>"),
    (r"^((?:x-ratelimit-reset-tokens|Retry-After): )[0-9]+", r"\1<n>"),
    (
        r"(for this client: )[0-9]+( are left, 81 are asked for; try again in )[0-9]+",
        r"\1<n>\2<n>",
    ),
    # How many cores this machine has.
    (r"(of weights, .*, )[0-9]+ threads$", r"\1<n> threads"),
    # forge-bench: tokens a second, latencies, seconds.
    (
        r"^((?:sequential|continuous|speculative) +[0-9]+ +[0-9]+ +[0-9]+ +[0-9.]+% +[0-9]+)"
        r" +[0-9]+( +[0-9]+ +[0-9]+) +[0-9]+/[0-9]+ +(-|[0-9.]+%)$",
        r"\1 <tok/s>\2 <us>/<us> \3",
    ),
    (r"(digest [0-9a-f]{16}  )[0-9.]+ s,", r"\1<s> s,"),
    # forge-bench --target null: what the policy and the run took.
    (
        r"^(policy +)[0-9.]+ ns (.*\()[0-9.]+ s (.*less )[0-9]+ ns",
        r"\1<ns> ns \2<s> s \3<ns> ns",
    ),
    (
        r"^(whole run +)[0-9]+( requests/s \()[0-9.]+( s of CPU time, )[0-9.]+ s,",
        r"\1<n>\2<s>\3<s> s,",
    ),
]


class Failed(Exception):
    """A command cannot be run."""


def transcripts(lines):
    """[(lines of the command, lines that it prints)]; what is before the first command is no output."""
    found = []
    for line in lines:
        if line.startswith(PROMPT):
            found.append(([line], []))
        elif not found:
            raise Failed(f"a console begins with a command, not with '{line}'")
        elif not found[-1][1] and found[-1][0][-1].endswith("\\"):
            found[-1][0].append(line)
        else:
            found[-1][1].append(line)
    return found


def command_of(lines):
    return "\n".join([lines[0].removeprefix(PROMPT), *lines[1:]])


def generalized(line):
    for pattern, replacement in FORGIVEN:
        line = re.sub(pattern, replacement, line)
    return line


def without_layout(lines):
    """As they are compared: without blanks and empty lines that end nothing."""
    lines = [generalized(line).rstrip() for line in lines]
    while lines and not lines[-1]:
        lines.pop()
    return lines


def shows(shown, printed):
    """Whether the page's lines are the printed ones, but for what is left out and what is forgiven."""
    return gaps.shows(without_layout(shown), without_layout(printed), lambda line: line == LEFT_OUT)


def unwrapped(lines):
    """A long line of JSON goes on, on a page, with a blank and a name."""
    whole = []
    for line in lines:
        if whole and line.startswith(' "'):
            whole[-1] += line[1:]
        else:
            whole.append(line)
    return whole


def wrapped(line):
    """The lines of a page for a line of JSON."""
    lines = []
    while line.lstrip().startswith(("{", '"')) and len(line) > WIDTH:
        end = max(line.rfind(',"', 1, WIDTH), line.find(',"', 1))
        if end < 0:
            break
        lines.append(line[: end + 1])
        line = " " + line[end + 1 :]
    return [*lines, line]


class Session:
    """Runs the commands of a section."""

    def __init__(self, root, programs):
        self.root, self.programs = root, pathlib.Path(programs).resolve()
        self.files = {}  # that the page shows, and its commands use: texts by name
        self.folder = tempfile.TemporaryDirectory(prefix="book-")
        self.server, self.port = None, None
        here = pathlib.Path(self.folder.name)
        for path in root.iterdir():
            if path.name not in (".git", "build"):
                (here / path.name).symlink_to(path)
        (here / "build/release").mkdir(parents=True)
        (here / "build/release/bin").symlink_to(self.programs)
        path = f"{self.programs}:{os.environ['PATH']}"
        self.environment = {**os.environ, "PATH": path, "LC_ALL": "C.UTF-8"}

    def close(self):
        self._end_server()
        self.folder.cleanup()

    def link(self, path):
        target = pathlib.Path(self.folder.name) / path.name
        if not target.exists():
            target.symlink_to(path)

    def put_first(self, folder):
        """Its programs are found before all others."""
        self.environment["PATH"] = f"{folder}:{self.environment['PATH']}"

    def run(self, command):
        """The lines that it prints."""
        if re.match(r"(scripts/run|forge-infer)( |$)", command) and "--make-key" not in command:
            return self._start_server(command.replace("scripts/run", "forge-infer"))
        for name, text in self.files.items():
            (pathlib.Path(self.folder.name) / name).write_text(self._here(text))
        done = subprocess.run(
            ["bash", "-c", self._here(command)],
            cwd=self.folder.name,
            env=self.environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=300,
        )
        if done.returncode not in (0, 1, 2):  # 1 and 2 are refusals, which pages show
            raise Failed(f"'{command}' ends with {done.returncode}: {done.stdout.strip()}")
        return self._there(done.stdout).removesuffix("\n").split("\n") if done.stdout else []

    def output_of(self, program, *words):
        """What a built program prints for a figure."""
        done = subprocess.run(
            [self.programs / program, *words],
            cwd=self.folder.name,
            env=self.environment,
            capture_output=True,
            text=True,
            timeout=300,
        )
        if done.returncode != 0:
            raise Failed(f"'{program} {' '.join(words)}': {done.stderr.strip()}")
        return done.stdout

    def text_of(self, name):
        """The text of a file of the section."""
        return (pathlib.Path(self.folder.name) / name).read_text()

    def _here(self, text):
        if ADDRESS not in text:
            return text
        if not self.server:
            self._start_server("forge-infer")
        return text.replace(ADDRESS, f"127.0.0.1:{self.port}")

    def _there(self, text):
        return text.replace(f"127.0.0.1:{self.port}", ADDRESS) if self.port else text

    def _start_server(self, command):
        """What it says until it listens."""
        self._end_server()
        self.server = subprocess.Popen(
            ["bash", "-c", f"exec {command} --addr 127.0.0.1:0"],
            cwd=self.folder.name,
            env=self.environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        said = []
        for line in self.server.stdout:
            said.append(line.removesuffix("\n"))
            if found := re.match(r"listening on http://127\.0\.0\.1:(\d+)", line):
                self.port = int(found[1])
            if self.port and line.startswith("  -d "):  # the end of what it suggests
                return [self._there(line) for line in said]
        raise Failed(f"'{command}' does not listen: {said}")

    def _end_server(self):
        if self.server:
            self.server.send_signal(signal.SIGTERM)
            with contextlib.suppress(subprocess.TimeoutExpired):
                self.server.communicate(timeout=30)
            self.server.kill()
        self.server, self.port = None, None
