"""The built-in model in JAX: forge/reference/tiny_transformer.h, with a loss at several depths."""

from functools import partial
from typing import NamedTuple

import jax
import jax.numpy as jnp


class Shape(NamedTuple):
    vocabulary: int = 512
    hidden: int = 96
    layers: int = 4
    heads: int = 3
    kv_heads: int = 3
    head: int = 32
    ffn: int = 192


ROPE_BASE = 10000.0
NORM_EPS = 1e-5
EARLY_EXITS = 2  # the first layers that are trained to answer alone, so that they can draft
EARLY_WEIGHT = 0.2


def initial_weights(shape, seed):
    """Matrices are [inputs, outputs]: x @ w. Most of what adds to the residual begins at zero."""
    keys = iter(jax.random.split(jax.random.PRNGKey(seed), 4 + 5 * shape.layers))
    d, q, kv = shape.hidden, shape.heads * shape.head, shape.kv_heads * shape.head

    def drawn(*size):
        return jax.random.normal(next(keys), size) * d**-0.5

    def layer():
        return {
            "attention_norm": jnp.ones(d), "query": drawn(d, q), "key": drawn(d, kv),
            "value": drawn(d, kv), "output": jnp.zeros((q, d)),
            "mlp_norm": jnp.ones(d), "gate": drawn(d, shape.ffn), "up": drawn(d, shape.ffn),
            "down": jnp.zeros((shape.ffn, d)),
        }

    embedding = (SIZE * drawn(shape.vocabulary, d)).at[:, 0].set(CONSTANT)
    layers = [layer() for _ in range(shape.layers)]
    add_induction(shape, layers, [drawn(d, d) for _ in range(3)])
    return {"embedding": embedding, "final_norm": jnp.ones(d), "layers": layers}


# What the model has to find out about stories is that a place belongs to the name some tokens
# before it, a color or a person to a thing, and that the answer has the same before it:
#
#   Ada is at the mill. Ben is at the inn. Where is Ada? Ada is at the
#    ^----- 4 -----^                                      ^---- 3 ---^      -> mill
#   Here is the key, which is red. Which color is the key? The key is
#                ^------ 4 -----^                               ^- 1 -^     -> red
#   The key is given to Ada. Who has the key? The key is now with
#        ^------ 4 ------^                         ^---- 3 ----^            -> Ada
#
# From random weights a model of this size does not, within an hour. So its first weights have
# circuits that do (Elhage et al., "A Mathematical Framework for Transformer Circuits", 2021; Olsson
# et al., "In-context Learning and Induction Heads", 2022; for weights that begin as what training
# would find: Trockman, Kolter, "Mimetic Initialization of Self-Attention Layers", ICML 2023).
# Training keeps them, sharpens them and learns all the rest.
SIZE = 1.5  # of embeddings: smaller ones, training would make alike (all names, all places) first
CONSTANT = SIZE  # what all embeddings have in their first element: a query that is always the same
LOOKS_BACK = (1, 3, 4)  # tokens: each head of the first layer
SHARPNESS = 5.0  # of that look, in logits
FAST_PAIRS = 3  # pairs of a head that turn fast enough to tell one token from the next
SLOW_TURN = 0.015  # a token: pairs below it turn little within a text, so that content can be matched
TOLD, MATCHED, COPIED = 0.4 * SIZE, 2.0, 0.6 * SIZE


def add_induction(shape, layers, random):
    """Heads of layer 1 write what they see into parts of the residual of their own; two heads of
    layer 2 find where the token 4 before is what is now 3 or 1 before, and copy. `random`: 3 of
    [d, d]"""
    D, half = shape.head, shape.head // 2
    heads = [slice(h * D, (h + 1) * D) for h in range(shape.heads)]
    first, second = layers[0], layers[1]
    frequency = ROPE_BASE ** (-2.0 * jnp.arange(half) / D)

    # The norm makes the constant so large, for an embedding that is SIZE long without it.
    constant = CONSTANT / ((CONSTANT**2 + SIZE**2) / shape.hidden) ** 0.5
    fast = (jnp.arange(half) < FAST_PAIRS) * (SHARPNESS * D**0.5) ** 0.5 / constant
    first["query"], first["key"] = 0.3 * first["query"], 0.3 * first["key"]
    for head, back in zip(heads, LOOKS_BACK):
        turned = jnp.concatenate([fast * jnp.cos(back * frequency), -fast * jnp.sin(back * frequency)])
        first["query"] = first["query"].at[0, head].set(turned)
        first["key"] = first["key"].at[0, head].set(jnp.concatenate([fast, 0 * fast]))

    seen = random[0][:, :D].at[0].set(0)
    written = jnp.linalg.qr(random[1])[0]
    first["value"] = jnp.tile(seen, shape.kv_heads)
    first["output"] = TOLD * written
    back_1, back_3, back_4 = (written[head].T for head in heads)  # [d, D]: what each has told

    slow = MATCHED * jnp.tile(frequency < SLOW_TURN, 2)
    copied = jnp.linalg.qr(random[2][:, :D].at[0].set(0))[0]
    for head, asked in (heads[0], back_3), (heads[1], back_1):
        second["query"] = second["query"].at[:, head].set(slow * asked)
        second["key"] = second["key"].at[:, head].set(slow * back_4)
        second["value"] = second["value"].at[:, head].set(copied)
        second["output"] = second["output"].at[head].set(COPIED * copied.T)


def norm(x, weight):
    return x * jax.lax.rsqrt(jnp.mean(x * x, -1, keepdims=True) + NORM_EPS) * weight


def rotate(x, turns):
    """x [B, T, heads, D], turns [T, D/2]"""
    half = x.shape[-1] // 2
    cos, sin = jnp.cos(turns)[:, None], jnp.sin(turns)[:, None]
    a, b = x[..., :half], x[..., half:]
    return jnp.concatenate([a * cos - b * sin, a * sin + b * cos], -1)


@jax.custom_vjp
def attend(q, k, v, hidden):
    """q [B, Hkv, G T, D], scaled; k, v [B, Hkv, T, D]; hidden [B, T, T], -1e9 where not to look.

    As a whole because its derivative, written by hand, takes fewer passes over the shares."""
    return attend_forward(q, k, v, hidden)[0]


def attend_forward(q, k, v, hidden):
    B, Hkv, T, _ = k.shape
    scores = jnp.einsum("bkid,bkjd->bkij", q, k).reshape(B, Hkv, -1, T, T)
    scores = (scores + hidden[:, None, None]).reshape(B, Hkv, -1, T)
    shares = jnp.exp(scores - scores.max(-1, keepdims=True))
    shares = jax.lax.optimization_barrier(shares)  # or each use would compute them again
    total = shares.sum(-1, keepdims=True)
    out = (shares @ v) / total
    return out, (q, k, v, shares, total, out)


def attend_backward(kept, d_out):
    q, k, v, shares, total, out = kept
    d_out = d_out / total
    d_v = jnp.einsum("bkij,bkid->bkjd", shares, d_out)
    d_shares = jnp.einsum("bkid,bkjd->bkij", d_out, v)
    d_scores = shares * (d_shares - (d_out * out).sum(-1, keepdims=True))
    d_scores = jax.lax.optimization_barrier(d_scores)
    return d_scores @ k, jnp.einsum("bkij,bkid->bkjd", d_scores, q), d_v, None


attend.defvjp(attend_forward, attend_backward)


def layer(shape, w, x, hidden, turns):
    """x [B T, d]"""
    B, T = hidden.shape[:2]
    h = norm(x, w["attention_norm"])
    q = rotate((h @ w["query"]).reshape(B, T, shape.heads, shape.head), turns)
    k = rotate((h @ w["key"]).reshape(B, T, shape.kv_heads, shape.head), turns)
    v = (h @ w["value"]).reshape(B, T, shape.kv_heads, shape.head)
    q = (q * shape.head**-0.5).transpose(0, 2, 1, 3).reshape(B, shape.kv_heads, -1, shape.head)
    out = attend(q, k.transpose(0, 2, 1, 3), v.transpose(0, 2, 1, 3), hidden)
    out = out.reshape(B, shape.heads, T, shape.head).transpose(0, 2, 1, 3).reshape(B * T, -1)
    x = x + out @ w["output"]
    h = norm(x, w["mlp_norm"])
    return x + (jax.nn.silu(h @ w["gate"]) * (h @ w["up"])) @ w["down"]


def logits_by_depth(shape, weights, tokens, document):
    """Logits [B T, V] after the first layers that are trained so, and after all.

    tokens, document [B, T]: a token sees those before it of the same document."""
    B, T = tokens.shape
    positions = jnp.arange(T)
    seen = (document[:, :, None] == document[:, None]) & (positions[:, None] >= positions)
    hidden = jnp.where(seen, 0.0, -1e9)
    frequency = ROPE_BASE ** (-2.0 * jnp.arange(shape.head // 2) / shape.head)
    turns = positions[:, None] * frequency
    # A product with rows of ones and zeros: its derivative is a product too, not a scatter.
    x = jax.nn.one_hot(tokens.reshape(-1), shape.vocabulary) @ weights["embedding"]
    found = []
    for depth, w in enumerate(weights["layers"], 1):
        x = layer(shape, w, x, hidden, turns)
        if depth <= EARLY_EXITS or depth == shape.layers:
            found.append(norm(x, weights["final_norm"]) @ weights["embedding"].T)
    return found


def nats(logits, targets):
    """How much less than certain each target is, [B T]."""
    highest = jax.lax.stop_gradient(logits.max(-1))
    total = jnp.log(jnp.exp(logits - highest[:, None]).sum(-1)) + highest
    return total - (logits * jax.nn.one_hot(targets.reshape(-1), logits.shape[-1])).sum(-1)


@partial(jax.jit, static_argnums=0)
def loss_gradient(shape, weights, batch):
    """Of the sum of nats times weight, at full depth and at the early exits."""
    tokens, targets, document, weight = batch

    def loss(weights):
        *early, last = [(nats(l, targets) * weight.reshape(-1)).sum()
                        for l in logits_by_depth(shape, weights, tokens, document)]
        return last + EARLY_WEIGHT * sum(early)

    return jax.grad(loss)(weights)
