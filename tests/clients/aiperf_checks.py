"""aiperf: short benchmarks, each of one kind of request. It reads GET /metrics meanwhile.

It counts the tokens of its prompts itself, so it wants a tokenizer as a file, which the built-in model
does not have."""

import json
import os
import pathlib
import subprocess
import sys
import tempfile

REQUESTS = 6
OUTPUT_TOKENS = 8


def run_benchmark(server, *flags):
    """What it reports of the requests, and the names of the metrics that it has read."""
    with tempfile.TemporaryDirectory() as folder:
        command = [
            pathlib.Path(sys.prefix) / "bin/aiperf",
            "profile",
            *("--model", server.model),
            *("--url", server.url),
            *("--tokenizer", str(server.path.resolve())),
            *("--request-count", str(REQUESTS)),
            *("--prompt-input-tokens-mean", "24"),
            *("--prompt-output-tokens-mean", str(OUTPUT_TOKENS)),
            *("--extra-inputs", "ignore_eos:true"),
            *("--output-artifact-dir", folder),
            "--use-server-token-count",
            "--no-gpu-telemetry",
            *flags,
        ]
        # Where it is told to be offline, it takes a folder for a name.
        environment = {key: value for key, value in os.environ.items() if key != "HF_HUB_OFFLINE"}
        done = subprocess.run(
            command, cwd=folder, env=environment, capture_output=True, text=True, timeout=600
        )
        assert done.returncode == 0, f"{done.stdout}\n{done.stderr}"
        report = json.loads((pathlib.Path(folder) / "profile_export_aiperf.json").read_text())
        read = json.loads((pathlib.Path(folder) / "server_metrics_export.json").read_text())
    return report, set(read["metrics"])


def check_benchmark(server, *flags):
    report, metrics = run_benchmark(server, *flags)
    assert report["is_complete"] and not report["error_summary"], report["error_summary"]
    assert report["request_count"]["avg"] == REQUESTS, report["request_count"]
    told = report["usage_completion_tokens"]
    assert told["min"] == told["max"] == OUTPUT_TOKENS, f"ignore_eos: {told}"
    assert {"vllm:num_requests_running", "vllm:time_to_first_token_seconds"} <= metrics, metrics


def checks(server):
    def benchmark(*flags):
        return lambda: check_benchmark(server, *flags)

    if not server.path:
        return
    yield (
        "a benchmark of chats, streamed, with usage in each chunk",
        benchmark("--streaming", "--per-chunk-usage"),
    )
    yield "a benchmark of completions", benchmark("--endpoint-type", "completions")
    yield (
        "a benchmark of conversations, three at a time",
        benchmark("--streaming", "--concurrency", "3", "--conversation-turn-mean", "2"),
    )
