"""lm-eval's `local-completions` on the tasks of tasks/: texts that go on until a stop, and
log-likelihoods of endings, which must be what the logits of `forge-model dump` say.

It needs a tokenizer to know where an ending begins, so log-likelihoods are asked for only of a model
from a folder."""

import json
import pathlib
import subprocess
import sys
import tempfile

import numpy
import transformers

HERE = pathlib.Path(__file__).resolve().parent
TOLERANCE = 1e-6


def evaluate(server, tasks, **arguments):
    """The samples that lm-eval logs, of each task."""
    arguments = {"model": server.model, "base_url": server.url + "/v1/completions"} | arguments
    with tempfile.TemporaryDirectory() as folder:
        command = [
            pathlib.Path(sys.prefix) / "bin/lm_eval",
            "run",
            *("--model", "local-completions"),
            *("--model_args", ",".join(f"{key}={value}" for key, value in arguments.items())),
            *("--tasks", ",".join(tasks)),
            *("--include_path", "tasks"),
            *("--batch_size", "4"),
            *("--output_path", folder),
            "--log_samples",
        ]
        done = subprocess.run(command, cwd=HERE, capture_output=True, text=True, timeout=600)
        assert done.returncode == 0, f"{done.stdout}\n{done.stderr}"
        return [samples_of(pathlib.Path(folder), task) for task in tasks]


def samples_of(folder, task):
    [log] = folder.glob(f"**/samples_{task}_*.jsonl")
    samples = [json.loads(line) for line in log.read_text().splitlines()]
    documents = (HERE / "tasks" / f"{task}.jsonl").read_text().splitlines()
    assert len(samples) == len(documents), f"{len(samples)} samples of {len(documents)}"
    return samples


def check_generated(samples):
    texts = [sample["resps"][0][0] for sample in samples]
    for text in texts:
        assert not set(text) & set(".!?"), f"{text!r} goes on after a stop"
    assert any(texts), "nothing is generated"


def dumped_logits(server, tokens):
    """[tokens, vocabulary] in double precision."""
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "dump.safetensors"
        command = [server.dump_program, "dump", server.path, "--points", "logits", "--out", path]
        command += ["--tokens", ",".join(map(str, tokens))]
        subprocess.run(command, check=True, capture_output=True)
        data = path.read_bytes()
    start = 8 + int.from_bytes(data[:8], "little")
    tensor = json.loads(data[8:start])["logits"]
    begin, end = tensor["data_offsets"]
    values = numpy.frombuffer(data[start + begin : start + end], dtype="<f4")
    return values.reshape(tensor["shape"]).astype(numpy.float64)


def expected(server, tokenizer, beginning, ending):
    """The sum of log-probabilities, and whether each token is the likeliest."""
    tokens = tokenizer.encode(beginning + ending, add_special_tokens=False)
    first = len(tokenizer.encode(beginning, add_special_tokens=False))
    logits = dumped_logits(server, tokens)
    total = 0.0
    greedy = True
    for position in range(first, len(tokens)):
        row = logits[position - 1]
        best = row.max()
        total += row[tokens[position]] - best - numpy.log(numpy.exp(row - best).sum())
        greedy = greedy and row[tokens[position]] == best
    return total, bool(greedy)


def check_loglikelihoods(server, samples):
    tokenizer = transformers.AutoTokenizer.from_pretrained(server.path)
    worst = 0.0
    for sample in samples:
        document = sample["doc"]
        for ending, [[told, greedy]] in zip(document["endings"], sample["resps"], strict=True):
            wanted, likeliest = expected(server, tokenizer, document["beginning"], ending)
            worst = max(worst, abs(float(told) - wanted))
            assert greedy == str(likeliest), f"{ending!r}: is_greedy {greedy}"
    print(f"        largest difference from the sums of forge-model dump: {worst:.1e}")
    assert worst <= TOLERANCE, worst


def by_texts(server):
    [generated] = evaluate(server, ["stories_next"], tokenizer_backend="None")
    check_generated(generated)


def by_token_ids(server):
    tokenizer = {"tokenizer": server.path, "tokenizer_backend": "huggingface"}
    generated, endings = evaluate(server, ["stories_next", "stories_endings"], **tokenizer)
    check_generated(generated)
    check_loglikelihoods(server, endings)


def checks(server):
    if server.path:
        yield "a generate and a loglikelihood task, by token ids", lambda: by_token_ids(server)
    else:
        yield "a generate task, by texts", lambda: by_texts(server)
