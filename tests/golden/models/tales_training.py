"""Trains the small model of the tales, so that the same bytes come out on every machine.

Sums of floating-point numbers differ between processors in their last bits. The training is in
float64, where the last bit is 2^-53, and its result is rounded to bfloat16 values, which are 2^-8
apart: what differs between machines is far below what the rounding leaves. make_tales.py --check
holds any machine to that.
"""

import math
import random

import torch

from reference import widened

STEPS = 1500
BATCH = 8
WARM_UP = 40
RATE = 6e-3


def batches(texts, end, chance):
    """`texts`, lists of tokens, BATCH at a time, filled up with `end`; and which are to be learnt."""
    while True:
        order = list(range(len(texts)))
        chance.shuffle(order)
        for first in range(0, len(order) - BATCH + 1, BATCH):
            chosen = [texts[i] for i in order[first : first + BATCH]]
            width = max(len(text) for text in chosen)
            tokens = torch.tensor([text + [end] * (width - len(text)) for text in chosen])
            learnt = torch.tensor([[1.0] * len(t) + [0.0] * (width - len(t)) for t in chosen])
            yield tokens, learnt.double()


def rate(step):
    warm = min(1.0, (step + 1) / WARM_UP)
    return RATE * warm * (0.02 + 0.98 * (1 + math.cos(math.pi * step / STEPS)) / 2)


def loss_of(model, tokens, learnt):
    logits = model(tokens[:, :-1], use_cache=False).logits
    wrong = -logits.log_softmax(dim=-1).gather(-1, tokens[:, 1:, None])[..., 0]
    return (wrong * learnt[:, 1:]).sum() / learnt[:, 1:].sum()


def train(model, texts, end, seed, report=lambda step, loss: None):
    """`model` is float64 and was built inside widened()."""
    optimizer = torch.optim.Adam(model.parameters(), eps=1e-6, foreach=False)
    chance = random.Random(seed)
    with widened():
        for step, (tokens, learnt) in zip(range(STEPS), batches(texts, end, chance)):
            for group in optimizer.param_groups:
                group["lr"] = rate(step)
            optimizer.zero_grad()
            loss = loss_of(model, tokens, learnt)
            loss.backward()
            torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0, foreach=False)
            optimizer.step()
            report(step, float(loss.detach()))


def rounded_weights(model):
    """The weights, by name, as float32 numbers that are bfloat16 values."""
    return {
        name: tensor.detach().to(torch.bfloat16).to(torch.float32)
        for name, tensor in model.state_dict().items()
    }
