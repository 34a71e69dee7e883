"""A forge-infer that clients talk to."""

import pathlib
import re
import signal
import subprocess


def honoured_fields(program):
    """Names of the fields that this server does something with: the first table of --list-fields."""
    page = subprocess.run([program, "--list-fields"], check=True, capture_output=True, text=True)
    honoured = page.stdout.split("## Accepted at one value only")[0]
    return set(re.findall(r"^\| `(\w+)` ", honoured, re.MULTILINE))


class Server:
    """Serves the built-in model, or that of the folder `path`, until stop().

    url: where it listens; a recorder puts itself in between and changes it.
    model: the id that requests name.
    honours: names of fields, see honoured_fields."""

    def __init__(self, program, path=None):
        self.path = path
        self.honours = honoured_fields(program)
        self.dump_program = pathlib.Path(program).with_name("forge-model")
        flags = ["--model", str(path)] if path else []
        self.process = subprocess.Popen(
            [program, "--addr", "127.0.0.1:0", *flags], stdout=subprocess.PIPE, text=True
        )
        said = self.process.stdout.readline()
        while said and not said.startswith("listening on "):
            said = self.process.stdout.readline()
        assert said, f"forge-infer ended with {self.process.wait()}"
        self.url = said.removeprefix("listening on ").strip()
        while '"model"' not in said:  # of the command that it prints to try it
            said = self.process.stdout.readline()
        self.model = re.search(r'"model": "([^"]*)"', said)[1]

    @property
    def name(self):
        return self.model

    def stop(self):
        """Returns the exit status."""
        self.process.send_signal(signal.SIGTERM)
        try:
            self.process.communicate(timeout=30)
        finally:
            self.process.kill()
        return self.process.returncode
