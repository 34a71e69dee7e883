"""A forge-infer that a test talks to."""

import json
import os
import re
import signal
import subprocess
import sys
import urllib.request


class Server:
    """The program that the test was given first, at a free port, until stop(). It is made when the
    program has a model, or, unless waits_for_model, when it says where it will have one. said: its
    lines up to that with the url, without those on stderr where that goes elsewhere."""

    def __init__(self, *flags, stderr=subprocess.STDOUT, waits_for_model=True):
        environment = {name: value for name, value in os.environ.items() if name != "FORGE_ADDR"}
        self.process = subprocess.Popen(
            [sys.argv[1], "--addr", "127.0.0.1:0", *flags],
            stdout=subprocess.PIPE,
            stderr=stderr,
            text=True,
            env=environment,
        )
        self.said, found = "", None
        find = re.match if waits_for_model else re.search
        while not found:
            line = self.process.stdout.readline()
            assert line, f"forge-infer ended with {self.process.wait()}: {self.said}"
            self.said += line
            found = find(r"listening on (\S+)", line)
        self.url = found[1]

    def ask(self, path, body=None, key=None):
        """What it answers, as JSON, to `body`, or to a GET without one."""
        return json.loads(self.text(path, body, key))

    def text(self, path, body=None, key=None):
        headers = {"Content-Type": "application/json"}
        if key:
            headers["Authorization"] = f"Bearer {key}"
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(self.url + path, data, headers)
        with urllib.request.urlopen(request, timeout=30) as answer:
            return answer.read().decode()

    def stop(self, number=signal.SIGTERM):
        """Returns the exit status."""
        self.process.send_signal(number)
        try:
            self.process.communicate(timeout=30)
        finally:
            self.process.kill()
        return self.process.returncode
