"""A small GPT that attends within documents only: for proxy models, for the examples, and to check masks with.

The decoder of GPT-2 (Radford et al. 2019): learned positions, pre-layer norm, GELU, tied embeddings. No dropout: a
proxy model sees little data twice.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from corpusmill.assets.extras import TORCH
from corpusmill.errors import InputError

try:
    import torch
    from torch import nn
    from torch.nn import functional
except ImportError:
    raise TORCH.error("corpusmill.train.gpt") from None

# (queries, keys, values) -> output of attention, each (rows, heads, length, width / heads).
Attend = Callable[[Any, Any, Any], Any]


@dataclass(frozen=True, kw_only=True)
class Shape:
    """vocabulary: every id is below it. length: the maximum of tokens in a row. width: divided among the heads."""

    vocabulary: int
    length: int
    width: int = 128
    layers: int = 4
    heads: int = 4

    def __post_init__(self) -> None:
        if min(self.vocabulary, self.length, self.width, self.layers, self.heads) < 1 or self.width % self.heads:
            raise InputError(f"a model needs sizes of 1 or more, and a width divisible by its heads; got {self}")


class GPT(nn.Module):  # type: ignore[misc]
    """tokens and position_ids, (rows, length) each, to logits, (rows, length, vocabulary)."""

    def __init__(self, shape: Shape) -> None:
        super().__init__()
        self.shape = shape
        self.tokens = nn.Embedding(shape.vocabulary, shape.width)
        self.positions = nn.Embedding(shape.length, shape.width)
        self.blocks = nn.ModuleList(TransformerBlock(shape) for _ in range(shape.layers))
        self.norm = nn.LayerNorm(shape.width)
        for name, weight in self.named_parameters():
            if weight.dim() == 2:  # projections into the residual stream start smaller, the more of them there are
                last = name.endswith(("out.weight", "down.weight"))
                nn.init.normal_(weight, std=0.02 / math.sqrt(2 * shape.layers) if last else 0.02)

    def forward(self, tokens: Any, position_ids: Any, attend: Attend | None = None) -> Any:
        """attend   how attention is limited to documents; by default `within_documents(position_ids)`"""
        attend = attend or within_documents(position_ids)
        x = self.tokens(tokens) + self.positions(position_ids)
        for block in self.blocks:
            x = block(x, attend)
        return functional.linear(self.norm(x), self.tokens.weight)


class TransformerBlock(nn.Module):  # type: ignore[misc]
    def __init__(self, shape: Shape) -> None:
        super().__init__()
        self.heads = shape.heads
        self.before_attention, self.before_mlp = nn.LayerNorm(shape.width), nn.LayerNorm(shape.width)
        self.qkv = nn.Linear(shape.width, 3 * shape.width)
        self.out = nn.Linear(shape.width, shape.width)
        self.up = nn.Linear(shape.width, 4 * shape.width)
        self.down = nn.Linear(4 * shape.width, shape.width)

    def forward(self, x: Any, attend: Attend) -> Any:
        rows, length, width = x.shape
        q, k, v = self.qkv(self.before_attention(x)).view(rows, length, 3, self.heads, -1).permute(2, 0, 3, 1, 4)
        x = x + self.out(attend(q, k, v).transpose(1, 2).reshape(rows, length, width))
        return x + self.down(functional.gelu(self.up(self.before_mlp(x))))


def within_documents(position_ids: Any) -> Attend:
    """Each token attends to itself and to earlier tokens of its piece, by a mask of length × length bytes per row.

    The mask is that of `loader.masks.block_mask`, computed on the tensor's device.
    """
    piece = (position_ids == 0).cumsum(dim=1)
    mask = (piece[:, :, None] == piece[:, None, :]).tril()[:, None]
    return lambda q, k, v: functional.scaled_dot_product_attention(q, k, v, attn_mask=mask)


def losses(logits: Any, targets: Any) -> Any:
    """(rows, length) cross entropy in nats of each token; 0 where the target is IGNORE."""
    flat = functional.cross_entropy(logits.flatten(0, 1), targets.flatten(), reduction="none", ignore_index=-100)
    return flat.view_as(targets)


def best_device() -> Any:
    return torch.device("cuda" if torch.cuda.is_available() else "cpu")
