"""How many tokens to train a model on: the estimates of scaling laws.

C = 6 N D: training takes 6 floating-point operations for each parameter and token (Kaplan et al. 2020,
arXiv:2001.08361, section 2.1).
"""

import math
import re
from typing import Literal, NamedTuple

UNITS = {"": 1.0, "k": 1e3, "m": 1e6, "b": 1e9, "g": 1e9, "t": 1e12}
TOKENS_PER_PARAMETER = (
    20.0  # tokens per parameter: 20.0 to 21.2 for models of 0.4 to 1,000 B parameters in table 3 of Hoffmann et al.
)
Given = Literal["params", "tokens", "flops"]


def amount(text: str | float) -> float:
    """Parse a large number: "7B", "1.5T", "400k", "1e23", 20000.

    k is a thousand, M a million, B or G a billion, T a trillion. Raises ValueError for anything else, and for a number
    that is not above 0.

    >>> amount("1.5T"), amount("7B"), amount(20000)
    (1500000000000.0, 7000000000.0, 20000.0)
    """
    match = re.fullmatch(r"\s*([\d.,_]+(?:[eE][+-]?\d+)?)\s*([kKmMbBgGtT]?)\s*", str(text))
    try:
        value = float(re.sub("[,_]", "", match[1])) * UNITS[match[2].lower()] if match else math.nan
    except ValueError:
        value = math.nan
    if not 0 < value < math.inf:
        raise ValueError(f'"{text}" is not an amount above 0; write it as 20000, "7B", "1.5T" or 1e23')
    return value


def steps_of(tokens: int, batch: int, length: int) -> int:
    """Steps of `batch` rows of `length` tokens: as many whole ones as a budget has room for, one at least.

    >>> steps_of(300_000, 16, 512), steps_of(10, 16, 512)
    (36, 1)
    """
    return max(1, tokens // (batch * length))


class ModelPlan(NamedTuple):
    """A model and its training: parameters, tokens, floating-point operations."""

    params: float
    tokens: float

    @property
    def flops(self) -> float:
        return 6 * self.params * self.tokens

    @property
    def ratio(self) -> float:
        """Tokens per parameter."""
        return self.tokens / self.params


def with_ratio(quantity: Given, value: float, ratio: float) -> ModelPlan:
    """The model with one given quantity, trained on `ratio` tokens per parameter."""
    params = {"params": value, "tokens": value / ratio, "flops": math.sqrt(value / 6 / ratio)}[quantity]
    return ModelPlan(params, ratio * params)


OPTIMAL_TOLERANCE = 0.05  # within so much of the compute-optimal tokens a model counts as trained on them


def in_words(model: ModelPlan) -> str:
    """Its tokens against the compute-optimal ones, TOKENS_PER_PARAMETER a parameter.

    >>> in_words(Model(175e9, 300e9)), in_words(Model(70e9, 1.4e12)), in_words(Model(70e9, 15e12))
    ('undertrained ×11.7', 'compute-optimal', 'overtrained ×10.7')
    """
    factor = model.ratio / TOKENS_PER_PARAMETER
    if abs(factor - 1) <= OPTIMAL_TOLERANCE:
        return "compute-optimal"
    return f"overtrained ×{factor:.3g}" if factor > 1 else f"undertrained ×{1 / factor:.3g}"


class Law(NamedTuple):
    """The loss of a model of N parameters after D tokens: L = E + A / N**alpha + B / D**beta."""

    a: float
    b: float
    alpha: float
    beta: float

    def optimal(self, quantity: Given, value: float) -> ModelPlan:
        """The compute-optimal model with one given quantity: no other has a lower loss for the same operations.

        With C = 6 N D, the loss is lowest where N = G (C / 6) ** (beta / (alpha + beta)) and
        D = (C / 6) ** (alpha / (alpha + beta)) / G, with G = (alpha A / (beta B)) ** (1 / (alpha + beta)): equation 4
        of Hoffmann et al. 2022.
        """
        both = self.alpha + self.beta
        g = (self.alpha * self.a / (self.beta * self.b)) ** (1 / both)
        sixth = {
            "flops": value / 6,
            "params": (value / g) ** (both / self.beta),
            "tokens": (value * g) ** (both / self.alpha),
        }[quantity]
        return ModelPlan(g * sixth ** (self.beta / both), sixth ** (self.alpha / both) / g)


# Approach 3 of Hoffmann et al. 2022, arXiv:2203.15556, section 3.3. It disagrees with their other two.
HOFFMANN = Law(a=406.4, b=410.7, alpha=0.34, beta=0.28)
# A replication of that fit on the same data: Besiroglu et al. 2024, arXiv:2404.10102. It agrees with the other two.
BESIROGLU = Law(a=482.01, b=2085.43, alpha=0.3478, beta=0.3658)

PUBLISHED_RUNS = {  # published training runs
    "GPT-3 175B": ModelPlan(175e9, 300e9),  # Brown et al. 2020, arXiv:2005.14165, table 2.1
    "Chinchilla 70B": ModelPlan(70e9, 1.4e12),  # Hoffmann et al. 2022, arXiv:2203.15556
    "LLaMA 65B": ModelPlan(65.2e9, 1.4e12),  # Touvron et al. 2023, arXiv:2302.13971, table 2
    "LLaMA 7B": ModelPlan(6.7e9, 1.0e12),
    "Llama 2 7B": ModelPlan(6.7e9, 2.0e12),  # Touvron et al. 2023, arXiv:2307.09288, table 1
    "Llama 2 70B": ModelPlan(70e9, 2.0e12),
    "Llama 3 8B": ModelPlan(8.0e9, 15e12),  # Llama Team 2024: "over 15T tokens"
    "Llama 3 70B": ModelPlan(70e9, 15e12),
    "Llama 3 405B": ModelPlan(405e9, 15.6e12),  # Llama Team 2024, arXiv:2407.21783, section 1
}
