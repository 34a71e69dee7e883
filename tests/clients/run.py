"""The real clients, unchanged, against forge-infer: scripts/clients runs this.

    run.py VENV [--server PROGRAM] [--model DIR] [--client NAME]... [--record FOLDER]

Makes a virtual environment VENV with the packages of requirements.txt (once; mcp is there because
litellm imports it as soon as there are tools). Then each client talks to PROGRAM
(build/release/bin/forge-infer), which serves the built-in model, and then to one that serves DIR
(../shared/data/stories260K, where there is one; forge-model beside PROGRAM computes what lm-eval must
find). Prints a line for each check. What the server does not say that it honours, structured output
or tools, is not asked for.

--record writes what the clients sent, and the shape of what they got, as a file for each client into
FOLDER; tests/serve/recorded is such a folder, which a test replays without the clients.

Exit status: 0 if every check passed.
"""

import argparse
import importlib
import importlib.metadata
import json
import os
import pathlib
import sys
import time
import traceback

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
sys.path.insert(0, str(HERE.parent / "serve"))

from client_venv import make_venv  # noqa: E402

# Module of the checks, and the package whose version is told.
CLIENTS = {
    "aiperf": ("aiperf_checks", "aiperf"),
    "litellm": ("litellm_checks", "litellm"),
    "langchain": ("langchain_checks", "langchain-openai"),
    "guidellm": ("guidellm_checks", "guidellm"),
    "lm-eval": ("lm_eval_checks", "lm-eval"),
}

# Nothing is looked up anywhere, and nobody is told.
QUIET = {
    "HF_HUB_OFFLINE": "1",
    "HF_DATASETS_OFFLINE": "1",
    "HF_HUB_DISABLE_TELEMETRY": "1",
    "TRANSFORMERS_VERBOSITY": "error",
    "LANGSMITH_TRACING": "false",
    "LITELLM_LOCAL_MODEL_COST_MAP": "True",
    "LITELLM_LOG": "ERROR",
    "OPENAI_API_KEY": "none",
}


def enter_venv():
    """Goes on inside the environment; returns when it is already there."""
    path = pathlib.Path(sys.argv[1]).resolve()
    if pathlib.Path(sys.prefix).resolve() == path:
        return
    python = make_venv(path, HERE / "requirements.txt", system_site_packages=True)
    os.execve(python, [str(python), *sys.argv], os.environ | QUIET)


def arguments():
    parser = argparse.ArgumentParser(prog="scripts/clients")
    parser.add_argument("venv")
    parser.add_argument("--server", default=ROOT / "build/release/bin/forge-infer")
    stories = ROOT.parent / "shared/data/stories260K"
    parser.add_argument("--model", type=pathlib.Path, default=stories if stories.is_dir() else None)
    parser.add_argument("--client", action="append", choices=CLIENTS)
    parser.add_argument("--record", type=pathlib.Path)
    options = parser.parse_args()
    options.client = options.client or list(CLIENTS)
    return options


class Run:
    """Checks one client after the other, and counts."""

    def __init__(self, recording):
        self.recording = recording
        self.recorded = {}
        self.passed = 0
        self.failed = []

    def check(self, name, function):
        began = time.monotonic()
        try:
            function()
        except Exception:  # whatever a client throws
            self.failed.append(name)
            traceback.print_exc()
            print(f"FAILED  {name}", flush=True)
        else:
            self.passed += 1
            print(f"ok      {name} ({time.monotonic() - began:.1f} s)", flush=True)

    def check_all(self, server, clients):
        """Whatever `clients` have to ask of `server`."""
        from recorder import Recorder

        recorder = Recorder(server.url) if self.recording else None
        if recorder:
            server.url = recorder.url
        for client in clients:
            module = importlib.import_module(CLIENTS[client][0])
            for sentence, function in module.checks(server):
                self.check(f"{client}, {server.model}: {sentence}", function)
            if recorder:
                # What the built-in model was asked comes first, and stays.
                self.recorded[client] = recorder.taken() | self.recorded.get(client, {})
        self.check(f"{server.model}: the server ends with status 0", lambda: ends_well(server))

    def write(self, folder):
        folder.mkdir(parents=True, exist_ok=True)
        for client, exchanges in self.recorded.items():
            in_order = [exchanges[form] for form in sorted(exchanges)]
            recording = {"client": version(client), "exchanges": in_order}
            text = json.dumps(recording, indent=1, ensure_ascii=False)
            (folder / f"{client}.json").write_text(text + "\n")


def ends_well(server):
    status = server.stop()
    assert status == 0, f"it ended with {status}"


def version(client):
    package = CLIENTS[client][1]
    return f"{package} {importlib.metadata.version(package)}"


def main():
    from server import Server

    options = arguments()
    began = time.monotonic()
    print(", ".join(version(client) for client in options.client), flush=True)
    run = Run(options.record is not None)
    for path in (None, options.model) if options.model else (None,):
        run.check_all(Server(options.server, path), options.client)
    if options.record:
        run.write(options.record)
    for name in run.failed:
        print(f"failed: {name}")
    print(f"{run.passed} passed, {len(run.failed)} failed in {time.monotonic() - began:.0f} s")
    return 1 if run.failed else 0


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    enter_venv()
    sys.exit(main())
