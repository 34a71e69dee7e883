"""Muon for the matrices of the layers, Adam for the embedding and the norms.

Muon (Jordan et al., 2024, https://kellerjordan.github.io/posts/muon) takes the momentum of a
matrix's gradient and makes its singular values alike, so that rare directions are learnt as fast as
common ones. Here it needs about half of Adam's steps.
"""


import jax
import jax.numpy as jnp

MUON_RATE, MUON_MOMENTUM, MUON_DECAY = 0.012, 0.95, 0.1
ADAM_RATE, ADAM_BETAS, ADAM_EPS = 0.0024, (0.9, 0.98), 1e-10
WARMUP_STEPS = 240


def is_matrix_of_layer(path):
    name = path[-1].key
    return name != "embedding" and not name.endswith("norm")


def start(weights):
    zeros = jax.tree.map(jnp.zeros_like, weights)
    return {"first": zeros, "second": zeros, "step": jnp.zeros((), jnp.int32)}


def orthogonal(m):
    """Nearly U V^T of m = U S V^T: five steps of a polynomial that drives singular values to 1."""
    tall = m.shape[0] > m.shape[1]
    x = m.T if tall else m
    x = x / (jnp.linalg.norm(x) + 1e-7)
    for _ in range(5):
        a = x @ x.T
        x = 3.4445 * x + (-4.7750 * a + 2.0315 * a @ a) @ x
    return x.T if tall else x


@jax.jit
def update(weights, state, gradient, scale, rate):
    """One step with `gradient` times `scale`; `rate` is 1 at full speed."""
    step = state["step"] + 1
    rate = rate * jnp.minimum(1.0, step / WARMUP_STEPS)
    b1, b2 = ADAM_BETAS

    def one(path, w, g, first, second):
        g = g * scale
        if is_matrix_of_layer(path):
            first = MUON_MOMENTUM * first + g
            change = orthogonal(g + MUON_MOMENTUM * first)
            change *= max(1.0, w.shape[1] / w.shape[0]) ** 0.5
            return w - rate * MUON_RATE * (change + MUON_DECAY * w), first, second
        first = b1 * first + (1 - b1) * g
        second = b2 * second + (1 - b2) * g * g
        change = first / (1 - b1**step) / (jnp.sqrt(second / (1 - b2**step)) + ADAM_EPS)
        return w - rate * ADAM_RATE * change, first, second

    moved = jax.tree_util.tree_map_with_path(one, weights, gradient, state["first"],
                                             state["second"])
    pick = lambda i: jax.tree.map(lambda t: t[i], moved, is_leaf=lambda t: isinstance(t, tuple))
    return pick(0), {"first": pick(1), "second": pick(2), "step": step}
