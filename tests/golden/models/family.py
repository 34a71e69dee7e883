"""A small model: its configuration, and the features that it must show.

Every model is a few ten thousand random weights with the features of its family switched on, and
with sizes that differ from one another wherever the family lets them, so that two of them cannot be
mistaken for each other unseen. rms_norm_eps is 1e-3, far above a trained model's, because leaving
out an epsilon of 1e-6 would change no logit by more than rounding does.
"""

from copy import deepcopy
from dataclasses import dataclass, field

import transformers

VOCABULARY = 96
TOKENS = 72  # length of the prompt; longer than ORIGINAL_LENGTH and every sliding window
ORIGINAL_LENGTH = 48  # original_max_position_embeddings of the models with scaled rope


@dataclass(frozen=True)
class Feature:
    """A feature, and how to take it away: by other values in the configuration, or by filling the
    tensors, or setting the epsilon of the norms, whose names match a regular expression."""

    name: str
    config: dict = field(default_factory=dict)
    weights: dict = field(default_factory=dict)
    epsilons: dict = field(default_factory=dict)


@dataclass(frozen=True)
class Family:
    """A model: folder name, configuration class of transformers, its arguments and its features."""

    name: str
    config_class: str
    arguments: dict
    features: tuple
    reference: dict = field(default_factory=dict)  # of the reference alone; README, "Precision"
    bfloat16_grid: bool = False  # every weight is a bfloat16 value, so a bfloat16 copy is exact
    gguf: bool = False
    mxfp4_grid: bool = False  # the experts' weights are MXFP4 values, so a copy in MXFP4 is exact
    input_squares: bool = False  # how large the inputs of linear layers are is written too

    def config(self, **changes):
        shared = {
            "vocab_size": VOCABULARY,
            "hidden_size": 32,
            "intermediate_size": 64,
            "num_hidden_layers": 2,
            "num_attention_heads": 4,
            "num_key_value_heads": 2,
            "rms_norm_eps": 1e-3,
            "max_position_embeddings": 4 * ORIGINAL_LENGTH,
            "bos_token_id": 1,
            "eos_token_id": 2,
            "tie_word_embeddings": False,
            "rope_parameters": rope(),
        }
        merged = deepcopy(shared | self.arguments | changes)
        return getattr(transformers, self.config_class)(**merged)


def rope(theta=1000.0, kind="default", **scaling):
    """Rope parameters. A theta this small lets the slowest pair turn visibly in TOKENS steps."""
    return {"rope_theta": theta, "rope_type": kind, **scaling}


def yarn(**scaling):
    """YaRN by 4 whose ramp lies inside the pairs: with dimension 16, pairs 0 and 1 keep their
    frequency, 2 and 3 are mixed, 4 to 7 are divided by the factor."""
    fixed = {"factor": 4.0, "original_max_position_embeddings": ORIGINAL_LENGTH}
    ramp = {"beta_fast": 4.0, "beta_slow": 1.0}
    return rope(100.0, "yarn", **(fixed | ramp | scaling))


EPSILON = Feature("rms_norm_eps", {"rms_norm_eps": 1e-6})
NORMS = Feature("norm weights", weights={r"norm\.weight$": 1.0})
PLAIN = (EPSILON, NORMS, Feature("rope_theta", {"rope_parameters": rope(10000.0)}))
