"""How good weights are, on documents that they were not trained on.

An answer is right if each of its tokens, and the one that ends it, has the highest logit after what
comes before it: then greedy decoding writes exactly this answer.
"""

from collections import defaultdict
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np

import batches
import model

DOCUMENTS = 600
TEMPERATURES = (0.0, 0.7, 1.0)


@partial(jax.jit, static_argnums=0)
def look(shape, weights, tokens, targets, document, key):
    """nats [B T], whether the target is on top, and whether the draft of layer 1 is kept, by
    temperature: draft and model draw with the same noise, as Forge's executors do."""
    first, *_, last = model.logits_by_depth(shape, weights, tokens, document)
    noise = jax.random.gumbel(key, last.shape)
    right = last.argmax(-1) == targets.reshape(-1)
    kept = [(first + t * noise).argmax(-1) == (last + t * noise).argmax(-1) for t in TEMPERATURES]
    return model.nats(last, targets), right, jnp.stack(kept)


def evaluate(shape, weights, count=DOCUMENTS, first_seed=batches.UNSEEN):
    by_length = defaultdict(list)
    for length, row in batches.rows_of(range(first_seed, first_seed + count), always_begins=True):
        by_length[length].append(row)
    asked, right = defaultdict(int), defaultdict(int)
    total, floor, tokens, kept = 0.0, 0.0, 0, np.zeros(len(TEMPERATURES))
    for length, rows in by_length.items():
        size = batches.ROWS[length]
        for at in range(0, len(rows), size):
            part = rows[at : at + size]
            padded = part + [batches.Row(length)] * (size - len(part))
            x, y, document, _ = batches.arrays(padded)
            nats, hit, drafts = look(shape, weights, x, y, document, jax.random.PRNGKey(at))
            is_text = document.reshape(-1) > 0
            total += float(np.asarray(nats)[is_text].sum())
            kept += np.asarray(drafts)[:, is_text].sum(1)
            tokens += int(is_text.sum())
            hit = np.asarray(hit).reshape(len(padded), length)
            for i, row in enumerate(part):
                floor += row.nats
                for kind, begin, end in row.answers:
                    asked[kind] += 1
                    right[kind] += bool(hit[i, begin:end].all())
    return {"nats": total / tokens, "excess": (total - floor) / tokens,
            "drafts": dict(zip(TEMPERATURES, (kept / tokens).round(4).tolist())),
            "right": {kind: round(right[kind] / asked[kind], 4) for kind in sorted(asked)},
            "asked": dict(asked)}
