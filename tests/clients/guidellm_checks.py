"""guidellm: short benchmarks, each of one kind of request. It asks GET /health before it begins."""

import json
import pathlib
import subprocess
import sys
import tempfile

REQUESTS = 6
OUTPUT_TOKENS = 8


def data_of(server, folder):
    """Synthetic prompts need a tokenizer; the built-in model, which has none as a file, gets texts."""
    if server.path:
        return [
            "--tokenizer",
            f"kind=huggingface_auto,model={server.path}",
            "--data",
            f"kind=synthetic_text,prompt_tokens=24,output_tokens={OUTPUT_TOKENS}",
        ]
    rows = [
        {"prompt": f"Tell me about the number {i}.", "output_tokens_count": OUTPUT_TOKENS}
        for i in range(REQUESTS)
    ]
    path = pathlib.Path(folder) / "prompts.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return ["--data", f"kind=json_file,path={path}"]


def run_benchmark(server, backend, profile):
    with tempfile.TemporaryDirectory() as folder:
        report = pathlib.Path(folder) / "report.json"
        command = [
            pathlib.Path(sys.prefix) / "bin/guidellm",
            "run",
            "--disable-console",
            "--backend",
            f"kind=openai_http,target={server.url},{backend}",
            "--profile",
            profile,
            "--constraint",
            f"kind=max_requests,count={REQUESTS}",
            "--output",
            f"kind=json,path={report}",
            *data_of(server, folder),
        ]
        done = subprocess.run(command, capture_output=True, text=True, timeout=600)
        assert done.returncode == 0, f"{done.stdout}\n{done.stderr}"
        [benchmark] = json.loads(report.read_text())["benchmarks"]
    metrics = benchmark["metrics"]
    totals = metrics["request_totals"]
    assert totals["successful"] == totals["total"] == REQUESTS, totals
    told = metrics["output_token_count"]["successful"]
    assert told["min"] == told["max"] == OUTPUT_TOKENS, f"ignore_eos: {told}"


def checks(server):
    def benchmark(*arguments):
        return lambda: run_benchmark(server, *arguments)

    chat = "request_format=/v1/chat/completions"
    yield "a benchmark of chats, streamed", benchmark(chat, "kind=synchronous")
    if server.path:
        return
    completions = "request_format=/v1/completions"
    yield "a benchmark of completions, streamed", benchmark(completions, "kind=synchronous")
    yield (
        "a benchmark of whole answers, three at a time",
        benchmark("stream=false", "kind=concurrent,streams=3"),
    )
