"""A program that answers (labs/answering.h), asked a case at a time. One that ended is started anew for
the next case, so that a crash is the answer to one case alone; {"late": true} is said, too, of one that
was still at work when its time was over."""

import json
import os
import selectors
import subprocess
import tempfile
import time

# Of a case. Its answer is a thing of milliseconds; under a checker that is slower, of a second.
SECONDS = 10
LONGEST = 8 << 20  # bytes of an answer


def is_answer(read):
    """The name of what is not begun is not empty: nothing said would be nothing missing."""
    if not isinstance(read, dict) or len(read) != 1:
        return False
    return "answer" in read or (isinstance(read.get("not_begun"), str) and read["not_begun"] != "")


class Program:
    def __init__(self, command, seconds=SECONDS):
        self.command = [str(word) for word in command]
        self.seconds = seconds
        self.process = None
        self.printed = tempfile.TemporaryFile()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.stop()
        self.printed.close()

    def stop(self):
        if self.process is None:
            return
        self.process.kill()
        self.process.wait()
        self.process.stdin.close()
        self.process.stdout.close()
        self.process = None

    def ask(self, task, case):
        """{"answer": ...}, {"not_begun": task}, or {"died": how}, perhaps {"died": how, "late": true}."""
        if self.process is None:
            self.printed.seek(0)
            self.printed.truncate()
            self.process = subprocess.Popen(
                self.command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self.printed, bufsize=0
            )
            os.set_blocking(self.process.stdin.fileno(), False)
        deadline = time.monotonic() + self.seconds
        self.send(json.dumps({"task": task, "case": case}).encode() + b"\n", deadline)
        line, late = self.line(deadline)
        if line is None:
            died = {"died": self.end(late)}
            return {**died, "late": True} if late else died
        try:
            answer = json.loads(line)
            if not is_answer(answer):
                raise ValueError
        except (ValueError, RecursionError):
            self.stop()
            return {"died": "it wrote something that is no answer"}
        if "not_begun" in answer:
            self.stop()
        return answer

    def send(self, question, deadline):
        """As much of it as is read; what is missing shows in the answer."""
        with selectors.DefaultSelector() as waiter:
            waiter.register(self.process.stdin, selectors.EVENT_WRITE)
            while question and waiter.select(deadline - time.monotonic()):
                try:
                    question = question[os.write(self.process.stdin.fileno(), question) :]
                except BrokenPipeError:
                    return

    def line(self, deadline):
        """The next line, or none and whether the time was over."""
        read = b""
        with selectors.DefaultSelector() as waiter:
            waiter.register(self.process.stdout, selectors.EVENT_READ)
            while not read.endswith(b"\n"):
                if not waiter.select(deadline - time.monotonic()):
                    return None, True
                part = os.read(self.process.stdout.fileno(), 1 << 20)
                if not part or len(read) > LONGEST:
                    return None, False
                read += part
        return read, False

    def end(self, late):
        """Why there is no answer."""
        if late:
            self.stop()
            return f"no answer within {self.seconds} s"
        try:
            status = self.process.wait(1)
        except subprocess.TimeoutExpired:
            self.stop()
            return "it closed its answers, or wrote one without an end"
        said = self.last_printed()
        self.stop()
        # A shell, and what shuts programs in (isolation.py), say 128 and the signal.
        killed_by = -status if status < 0 else status - 128
        how = f"signal {killed_by}" if killed_by > 0 else f"it ended with status {status} before it answered"
        return f"{how}: {said}" if said else how

    def last_printed(self):
        """The last line that it printed, of at most 300 bytes."""
        self.printed.seek(max(0, self.printed.seek(0, os.SEEK_END) - 300))
        lines = self.printed.read().decode(errors="replace").strip().split("\n")
        return lines[-1]
