"""packaging_test.py FORGE_INFER PACKAGING: what stands in PACKAGING is what the program has.

Metrics and their labels, flags, paths of probes, and times that must fit each other. Nothing is
built or deployed. Each kind of mistake is planted once, too, and must be noticed.
"""

import json
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

FAMILIES = re.compile(r"\b(?:(?:vllm|forge):[a-z0-9_]+|(?:process|http)_[a-z_]+)")
OF_CONTAINERS = {"--from", "--start-period"}
EVERYWHERE = {"instance", "le", "job", "model_name", "engine"}


def said(program, flag):
    return subprocess.run([program, flag], capture_output=True, text=True, check=True).stdout


def rows(page):
    """The cells of a Markdown table, without its head."""
    lines = [line for line in page.splitlines() if line.startswith("|")][2:]
    return [[cell.strip() for cell in line.strip("|").split(" | ")] for line in lines]


class Server:
    """What the program says of itself."""

    def __init__(self, program):
        self.metrics = {}
        for name, kind, labels, _ in rows(said(program, "--list-metrics")):
            names = set(re.findall(r"`([a-z_]+)`", labels))
            self.metrics[name.strip("`")] = (kind, names)
        self.paths = {row[1].strip("`") for row in rows(said(program, "--list-routes"))}
        help_text = said(program, "--help")
        self.flags = set(re.findall(r"--[a-z][a-z-]+", help_text))
        self.shutdown_s = float(re.search(r"--shutdown-timeout-s [^=\n]*=(\S+)", help_text)[1])


def faults_of_expression(expression, server):
    for name in FAMILIES.findall(expression):
        base = name
        for suffix in ("_bucket", "_sum", "_count"):
            short = name.removesuffix(suffix)
            if short != name and server.metrics.get(short, ("",))[0] == "histogram":
                base = short
        if base not in server.metrics:
            yield f"there is no metric {name}"
    known = set().union(*(labels for _, labels in server.metrics.values())) | EVERYWHERE
    used = re.findall(r"[{,]\s*([a-z_]+)\s*=", expression)
    for listed in re.findall(r"\b(?:by|on)\s*\(([^)]*)\)", expression):
        used += [label.strip() for label in listed.split(",")]
    for label in used:
        if label not in known:
            yield f"no metric has the label {label}"


def expressions(name, text):
    if name == "grafana.json":
        return [target["expr"] for panel in json.loads(text)["panels"] for target in panel["targets"]]
    return re.findall(r"expr: (.*)", text)


def faults(name, text, server):
    """What is wrong with a file, in sentences."""
    if name in ("grafana.json", "alerts.yaml"):
        found = expressions(name, text)
        if not found:
            yield "there is no expression"
        for expression in found:
            yield from faults_of_expression(expression, server)
    else:
        commands = "\n".join(line for line in text.splitlines() if not line.lstrip().startswith("#"))
        commands = re.sub(r"RUN .*?\n\n|RUN .*?(?=\n[A-Z]+ )", "", commands, flags=re.S)
        for flag in re.findall(r"(?<![\w-])--[a-z][a-z-]+", commands):
            if flag not in server.flags and flag not in OF_CONTAINERS:
                yield f"there is no flag {flag}"
    for path in re.findall(r"(?:path: |http://127.0.0.1:\d+)(/[a-z/]+)", text):
        if path not in server.paths:
            yield f"there is no route {path}"
    for grace in re.findall(r"(?:terminationGracePeriodSeconds: |TimeoutStopSec=)(\d+)", text):
        if float(grace) <= server.shutdown_s:
            yield f"{grace} s to end are not more than --shutdown-timeout-s, {server.shutdown_s}"
    is_run = name.startswith("forge-infer.")
    if not is_run and "our tests" not in " ".join(text.splitlines()[:2]):
        yield "its first lines do not say what was not built or deployed"


def verify_unit(folder, program):
    """Has systemd look at the unit, with the program that was built."""
    if shutil.which("systemd-analyze") is None:
        return []
    built = str(pathlib.Path(program).resolve())
    unit = (folder / "forge-infer.service").read_text().replace("/usr/bin/forge-infer", built)
    with tempfile.TemporaryDirectory() as scratch:
        path = pathlib.Path(scratch) / "forge-infer.service"
        path.write_text(unit)
        run = subprocess.run(["systemd-analyze", "verify", "--man=no", str(path)], capture_output=True, text=True,
                             check=False)
    is_well = run.returncode == 0 and not run.stderr
    return [] if is_well else [f"forge-infer.service: systemd-analyze: {run.stderr}"]


def parse_yaml(folder):
    try:
        import yaml  # not on every machine
    except ImportError:
        return []
    found = []
    for path in folder.glob("*.yaml"):
        try:
            list(yaml.safe_load_all(path.read_text()))
        except yaml.YAMLError as error:
            found.append(f"{path.name}: {error}")
    return found


PLANTED = [
    ("alerts.yaml", "vllm:num_requests_running", "vllm:num_request_running", "no metric vllm:num_request_running"),
    ("alerts.yaml", 'finished_reason="error"', 'reason="error"', "no metric has the label reason"),
    ("grafana.json", "forge:step_seconds_bucket", "forge:steps_bucket", "no metric forge:steps_bucket"),
    ("kubernetes.yaml", "--metrics-open", "--metrics-public", "no flag --metrics-public"),
    ("kubernetes.yaml", "/health/ready", "/health/started", "no route /health/started"),
    ("kubernetes.yaml", "terminationGracePeriodSeconds: 40", "terminationGracePeriodSeconds: 20", "20 s to end"),
    ("forge-infer.service", "TimeoutStopSec=40", "TimeoutStopSec=25", "25 s to end"),
    ("forge-infer.default", "--request-log", "--log-requests", "no flag --log-requests"),
    ("Containerfile", "/health/live", "/health/alive", "no route /health/alive"),
    ("Containerfile", "our tests", "anybody", "do not say what was not built"),
]


def main():
    program, folder = sys.argv[1], pathlib.Path(sys.argv[2])
    server = Server(program)
    files = {path.name: path.read_text() for path in sorted(folder.iterdir()) if path.is_file()}
    wrong = [f"{name}: {fault}" for name, text in files.items() for fault in faults(name, text, server)]
    wrong += verify_unit(folder, program) + parse_yaml(folder)
    for name, right, planted, noticed in PLANTED:
        if right not in files[name]:
            wrong.append(f"{name}: has no '{right}' to plant a mistake in")
            continue
        found = list(faults(name, files[name].replace(right, planted, 1), server))
        if not any(noticed in fault for fault in found):
            wrong.append(f"{name}: '{planted}' goes unnoticed: {found}")
    print("\n".join(wrong) or f"{len(files)} files, {len(PLANTED)} planted mistakes")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
