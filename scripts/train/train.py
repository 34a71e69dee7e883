"""Trains the built-in model: python train.py --seed 1 --out DIR

DIR gets log.jsonl, state.pickle (the same command goes on from there if it was stopped) and
forge-tiny.safetensors. Documents, first weights and every step follow from the seed.
"""

import argparse
import functools
import itertools
import json
import math
import os
import pickle
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

os.environ.setdefault("JAX_PLATFORMS", "cpu")
os.environ.setdefault("XLA_FLAGS", "--xla_cpu_enable_fast_math=true")

import jax

import batches
import evaluate
import model
import optimizer
import weights_file

BATCHES_PER_STEP = 4
EVALUATE_EVERY = 100


def options():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, required=True)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--steps", type=int, default=5000)
    parser.add_argument("--threads", type=int, default=1, help="changes no result")
    return parser.parse_args()


def save(path, value):
    part = path.with_suffix(".part")
    part.write_bytes(pickle.dumps(value))
    part.replace(path)


def start(options):
    kept = options.out / "state.pickle"
    if kept.exists():
        return pickle.loads(kept.read_bytes())
    shape = model.Shape()
    weights = model.initial_weights(shape, options.seed)
    return {"shape": shape, "weights": weights, "optimizer": optimizer.start(weights), "step": 0,
            "tokens": 0}


def batches_from(seed, step):
    every = batches.batches_of(itertools.count(seed << 32))
    return itertools.islice(every, step * BATCHES_PER_STEP, None)


def gradient_of(shape, weights, batches_of_step, pool):
    """Sums over the batches: gradient, weight of their targets, tokens."""
    arrays = [batches.arrays(rows) for rows in batches_of_step]
    gradients = pool.map(lambda batch: model.loss_gradient(shape, weights, batch), arrays)
    total = functools.reduce(lambda a, b: jax.tree.map(jax.numpy.add, a, b), gradients)
    weight = sum(float(weight.sum()) for *_, weight in arrays)
    return total, weight, sum(row.used for rows in batches_of_step for row in rows)


def main():
    chosen = options()
    chosen.out.mkdir(parents=True, exist_ok=True)
    state = start(chosen)
    shape, weights, optimized = state["shape"], state["weights"], state["optimizer"]
    source = batches_from(chosen.seed, state["step"])
    log = open(chosen.out / "log.jsonl", "a", buffering=1)
    pool = ThreadPoolExecutor(chosen.threads)
    began, cpu, tokens = time.time(), time.process_time(), 0
    for step in range(state["step"], chosen.steps):
        gradient, weight, used = gradient_of(
            shape, weights, list(itertools.islice(source, BATCHES_PER_STEP)), pool)
        tokens += used
        weights, optimized = optimizer.update(weights, optimized, gradient, 1 / weight,
                                              1 - step / chosen.steps)
        if (step + 1) % EVALUATE_EVERY == 0 or step + 1 == chosen.steps:
            state = {"shape": shape, "weights": weights, "optimizer": optimized, "step": step + 1,
                     "tokens": state["tokens"] + tokens}
            result = evaluate.evaluate(shape, weights)
            if not math.isfinite(result["nats"]):
                sys.exit(f"step {step + 1}: the loss is {result['nats']}")
            save(chosen.out / "state.pickle", jax.device_get(state))
            weights_file.write(chosen.out / "forge-tiny.safetensors", shape, weights)
            spent = {"s": round(time.time() - began, 1), "cpu_s": round(time.process_time() - cpu, 1)}
            print(json.dumps({"step": step + 1, "tokens": state["tokens"], **spent, **result}),
                  file=log)
            began, cpu, tokens = time.time(), time.process_time(), 0


main()
