"""Runs of a model in transformers: the float64 reference, and the runs it is compared with.

model.double() alone does not give a float64 forward pass: the modelling code casts to float32
inside RMSNorm, rope, softmax and the router. widened() makes those casts casts to float64, and
NoFloat32 proves it by refusing every operation whose result is narrower.
"""

import re
from contextlib import contextmanager, nullcontext
from unittest import mock

import torch
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves
from transformers import AutoModelForCausalLM, DynamicCache

NARROW = frozenset({torch.float32, torch.float16, torch.bfloat16, torch.complex64})


@contextmanager
def widened():
    """Python code that names torch.float32, torch.float or Tensor.float() gets float64 instead."""
    with (
        mock.patch.object(torch, "float32", torch.float64),
        mock.patch.object(torch, "float", torch.float64),
        mock.patch.object(torch.Tensor, "float", torch.Tensor.double),
    ):
        yield


class NoFloat32(TorchDispatchMode):
    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        result = func(*args, **(kwargs or {}))
        for leaf in tree_leaves(result):
            if isinstance(leaf, torch.Tensor) and leaf.dtype in NARROW:
                raise TypeError(f"{func} gives {leaf.dtype} inside the float64 reference")
        return result


def build(config, dtype):
    """A model with untouched weights; eager attention and eager experts, so no fused kernel."""
    return AutoModelForCausalLM.from_config(
        config, dtype=dtype, attn_implementation="eager", experts_implementation="eager"
    ).eval()


def matching(pattern, named):
    found = [thing for name, thing in named if re.search(pattern, name)]
    if not found:
        raise ValueError(f"{pattern} matches nothing in the model")
    return found


class Reference:
    """A model in one precision, with `state`, the float32 tensors of the checkpoint, as weights."""

    def __init__(self, config, state, dtype=torch.float64, wide=True):
        self.wide = wide
        with self.precision(checked=False):
            self.model = build(config, dtype)
        self.model.load_state_dict(state)

    def take_away(self, feature):
        """What of a feature is not in the configuration."""
        named = [*self.model.named_parameters(), *self.model.named_buffers()]
        for pattern, value in feature.weights.items():
            for tensor in matching(pattern, named):
                tensor.data.fill_(value)
        for pattern, value in feature.epsilons.items():
            for norm in matching(pattern, self.model.named_modules()):
                norm.variance_epsilon = value

    @contextmanager
    def precision(self, checked=True):
        with (
            torch.no_grad(),
            widened() if self.wide else nullcontext(),
            NoFloat32() if self.wide and checked else nullcontext(),
        ):
            yield

    def logits(self, tokens, cache=None):
        """[T, vocabulary] in float64. With a cache, `tokens` continue what it holds."""
        with self.precision():
            batch = torch.tensor([tokens])
            out = self.model(batch, past_key_values=cache, use_cache=cache is not None)
        return out.logits[0].to(torch.float64)

    def logits_in_chunks(self, tokens, sizes):
        cache, rows, start = DynamicCache(config=self.model.config), [], 0
        for size in sizes:
            rows.append(self.logits(tokens[start : start + size], cache))
            start += size
        if start != len(tokens):
            raise ValueError(f"chunks hold {start} tokens, the prompt {len(tokens)}")
        return torch.cat(rows)

    def greedy(self, tokens, count):
        """The next `count` tokens of largest logit; the logits [count, vocabulary] they won in."""
        cache, rows, chosen = DynamicCache(config=self.model.config), [], []
        row = self.logits(tokens, cache)[-1]
        for _ in range(count):
            rows.append(row)
            chosen.append(int(row.argmax()))
            row = self.logits(chosen[-1:], cache)[-1]
        return chosen, torch.stack(rows)

    def hidden(self, tokens):
        """At the last position: the first layer's input, each layer's output, the final norm's."""
        inner, seen = self.model.model, []

        def keep(tensor):
            seen.append(tensor[0, -1].to(torch.float64).clone())

        hooks = [inner.layers[0].register_forward_pre_hook(lambda _, args: keep(args[0]))]
        for module in (*inner.layers, inner.norm):
            hooks.append(module.register_forward_hook(lambda _, args, out: keep(out)))
        self.logits(tokens)
        for hook in hooks:
            hook.remove()
        return torch.stack(seen)

    def input_squares(self, tokens):
        """By name of every linear layer, the mean squares of its inputs over the tokens [inputs]."""
        squares, hooks = {}, []

        def watch(name, module):
            def keep(_, args):
                squares[name] = args[0].flatten(0, -2).to(torch.float64).square().mean(dim=0)

            hooks.append(module.register_forward_pre_hook(keep))

        for name, module in self.model.named_modules():
            if isinstance(module, torch.nn.Linear):
                watch(name, module)
        self.logits(tokens)
        for hook in hooks:
            hook.remove()
        return squares

    def routing_margin(self, tokens):
        """Smallest gap between the last score that torch.topk took and the first that it left.

        None for a model without experts. An error in a score below half of this cannot send a token
        to another expert.
        """
        gaps, topk = [], torch.topk

        def recording(scores, k, **options):
            ordered = scores.sort(dim=-1, descending=True).values
            if k < ordered.shape[-1]:
                gaps.append(float((ordered[..., k - 1] - ordered[..., k]).min()))
            return topk(scores, k, **options)

        with mock.patch.object(torch, "topk", recording):
            self.logits(tokens)
        return min(gaps, default=None)
