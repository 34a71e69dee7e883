#!/usr/bin/env python3
"""What drafts of the text gain and lose, for models from files and for the built-in one.

    python3 bench/drafts_bench.py build/release/bin FILE... [--threads N] [--tokens N]

For each model: decoding of one request whose text repeats (a sentence again and again, by a regex, so that
any weights write it), without drafts and with --draft ngram in turns, beside the bound that the cost of rows
sets: k drafts that are all kept make k + 1 tokens in a pass of k + 1 rows. For the built-in model and one like
it with random weights also what drafts cost where they do not pay: the answers to random prompts, in CPU time.
Ratios are of neighbouring runs: median (least to most).
"""

import argparse
import json
import pathlib
import resource
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.request

BUILT_IN = "forge-tiny"
RANDOM = "forge-tiny:seed=1"
SENTENCE = r"The key is at the mill with Ada, who goes to the barn\. "
DRAFTS = 8
RUNS = 5
PAIRS = 21  # of short runs, so that what else the machine does meets both of a pair


def spread(ratios):
    return f"{statistics.median(ratios):.2f} x ({min(ratios):.2f} to {max(ratios):.2f})"


class Bench:
    def __init__(self, options):
        self.bin = options.bin
        self.threads = options.threads
        self.tokens = options.tokens

    def flags(self, model):
        return ["--model", model] + (["--threads", str(self.threads)] if model != BUILT_IN else [])

    def forge_bench(self, *flags):
        with tempfile.NamedTemporaryFile() as out:
            subprocess.run(
                [self.bin / "forge-bench", *flags, "--json", out.name],
                check=True,
                stdout=subprocess.DEVNULL,
            )
            return json.load(out)

    def seconds_of_rows(self, model):
        """By the number of rows: of a pass, or of a step with as many sequences."""
        if model != BUILT_IN:
            cases = self.forge_bench(*self.flags(model))["cases"]
            return {c["rows"]: c["pass_ms"] / 1e3 for c in cases if c["name"].startswith("decode")}
        seconds = {}
        for rows in (1, 2, 4, 8):
            flags = ["--mode", "continuous", "--max-batch-size", str(rows)]
            result = self.forge_bench(*flags)["runs"][0]
            seconds[rows] = rows / result["tokens_per_second"]
        return seconds

    def bound(self, model):
        seconds = self.seconds_of_rows(model)
        return max(rows * seconds[1] / seconds[rows] for rows in seconds if rows <= DRAFTS + 1)

    def ask(self, model, *flags):
        """Tokens a second of a request that has a server for itself, and its usage."""
        server = subprocess.Popen(
            [self.bin / "forge-infer", "--addr", "127.0.0.1:0", *self.flags(model), *flags],
            stdout=subprocess.PIPE,
            text=True,
        )
        try:
            url = next((line for line in server.stdout if line.startswith("listening")), None)
            if url is None:
                sys.exit(f"forge-infer did not start for {model}")
            url = url.split()[-1]
            with urllib.request.urlopen(url + "/v1/models") as answer:
                name = json.load(answer)["data"][0]["id"]

            def complete(tokens):
                body = {"model": name, "prompt": "Once", "max_tokens": tokens, "temperature": 0}
                body["regex"] = f"({SENTENCE}){{{tokens}}}"  # longer than so many tokens
                request = urllib.request.Request(
                    url + "/v1/completions",
                    json.dumps(body).encode(),
                    {"Content-Type": "application/json"},
                )
                start = time.monotonic()
                with urllib.request.urlopen(request) as answer:
                    usage = json.load(answer)["usage"]
                return usage["completion_tokens"] / (time.monotonic() - start), usage

            complete(4)
            return complete(self.tokens)
        finally:
            server.terminate()
            server.wait()

    def repeats(self, model):
        without, drafted = [], []
        for _ in range(RUNS):
            without.append(self.ask(model)[0])
            rate, usage = self.ask(model, "--draft", "ngram")
            drafted.append(rate)
        ratios = [d / w for d, w in zip(drafted, without)]
        kept = usage["drafts"]
        print(
            f"{model}: text that repeats, {usage['completion_tokens']} tokens: "
            f"{statistics.median(without):.1f} tokens/s without, {statistics.median(drafted):.1f} with: "
            f"{spread(ratios)}; {kept['accepted']} of {kept['proposed']} kept; "
            f"at most {self.bound(model):.2f} x by the cost of rows",
            flush=True,
        )

    def cpu_seconds(self, *flags):
        def spent():
            used = resource.getrusage(resource.RUSAGE_CHILDREN)
            return used.ru_utime + used.ru_stime

        before = spent()
        run = self.forge_bench("--requests", "256", *flags)["runs"][0]
        return spent() - before, run

    def random_prompts(self, model, batch):
        flags = ["--model", model, "--max-batch-size", str(batch)]
        modes = {"without": ["--mode", "continuous"], "with": ["--mode", "speculative", "--draft", "ngram"]}
        ratios = []
        for pair in range(PAIRS):
            seconds, runs = {}, {}
            for mode in sorted(modes, reverse=pair % 2 == 0):
                seconds[mode], runs[mode] = self.cpu_seconds(*flags, *modes[mode])
            ratios.append(seconds["without"] / seconds["with"])
        kept = "{drafts_accepted} of {drafts_proposed} kept".format(**runs["with"])
        print(f"{model}: random prompts, batch {batch}: {spread(ratios)}; {kept}", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("bin", type=pathlib.Path)
    parser.add_argument("models", nargs="*", metavar="FILE")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--tokens", type=int, default=600)
    options = parser.parse_args()
    bench = Bench(options)
    for model in [BUILT_IN, *options.models]:
        bench.repeats(model)
    for model in (BUILT_IN, RANDOM):
        for batch in (1, 16):
            bench.random_prompts(model, batch)


main()
