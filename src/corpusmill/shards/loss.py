"""Which tokens of shards have no loss, by a rule in their index: nothing is stored per token.

Needs NumPy and the standard library only, as a training loop does.

    sentinels   no loss where they are the target
    prefix      no loss for the metadata before a document (MeCo, Gao et al. 2025, arXiv:2501.01956)
    goldfish    no loss for one token of `k`, by a hash of the `h` tokens before it: the same passage lacks the same
                tokens wherever it occurs, so that it cannot be learned by heart (Hans et al. 2024, arXiv:2406.10209,
                section 3.1)
"""

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

Int64s = NDArray[np.int64]
Mask = NDArray[np.bool_]
LONGEST_PREFIX = 512  # tokens of a prefix: a host name has at most 253 bytes
HASH_BASE = 0x9E3779B97F4A7C15 | 1  # of the polynomial; odd, so that it has an inverse modulo 2**64
HASH_INVERSE = pow(HASH_BASE, -1, 1 << 64)


@dataclass(frozen=True)
class LossRule:
    """The rule of a folder of shards.

    without      ids that are no target
    begin, end   ids with which a prefix begins, at the beginning of a document, after its BOS, and ends; empty: none
    k, h         of goldfish; 0: none
    """

    without: tuple[int, ...] = ()
    begin: tuple[int, ...] = ()
    end: tuple[int, ...] = ()
    k: int = 0
    h: int = 0

    def to_json(self) -> dict[str, Any]:
        """Without what is not used."""
        return {
            name: list(value) if isinstance(value, tuple) else value for name, value in asdict(self).items() if value
        }

    @staticmethod
    def from_json(record: Any) -> "LossRule":
        """Raises TypeError or ValueError if it is none of `to_json`."""
        if not isinstance(record, dict):
            raise TypeError("loss must be an object")
        lists = ("without", "begin", "end")
        values: dict[str, Any] = {name: tuple(value) if name in lists else value for name, value in record.items()}
        loss = LossRule(**values)
        numbers = [*loss.without, *loss.begin, *loss.end, loss.k, loss.h]
        if not all(type(number) is int and number >= 0 for number in numbers) or bool(loss.k) != bool(loss.h):
            raise ValueError("loss has values that are not whole numbers, or only one of k and h")
        return loss


def goldfish(tokens: NDArray[Any], positions: Int64s, k: int, h: int) -> Mask:
    """(tokens,) True where the next token has no loss: about one of `k`, by a hash of the token and the h - 1 before.

    tokens      ids, of several pieces of documents one after the other
    positions   (tokens,) of each token in its piece, from 0; tokens after fewer than `h` in their piece keep their loss
    """
    n = len(tokens)
    powers, inverses = _powers(n + 1)
    sums = np.zeros(n + 1, np.uint64)
    np.cumsum((tokens.astype(np.uint64) + np.uint64(1)) * powers[:n], out=sums[1:])
    windows = sums[1:].copy()
    windows[h:] -= sums[1:-h]
    values = windows * inverses[:n]  # sum of (token + 1) × BASE ** (place - last place), modulo 2**64
    dropped: Mask = (mix64(values) % np.uint64(k) == 0) & (positions >= h - 1)
    return dropped


@lru_cache(2)
def _powers(n: int) -> tuple[NDArray[np.uint64], NDArray[np.uint64]]:
    """BASE ** i and its inverse, for i below n."""
    both = []
    for base in (HASH_BASE, HASH_INVERSE):
        factors = np.full(n, base, np.uint64)
        factors[0] = 1
        both.append(np.cumprod(factors))
    return both[0], both[1]


def mix64(x: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """The finaliser of SplitMix64 (Steele et al. 2014), as `corpusmill.text.splitmix64` has it."""
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return x ^ (x >> np.uint64(31))


def prefix_length(ids: NDArray[Any], loss: LossRule) -> int:
    """Tokens of the prefix with which these begin; 0 if they begin with none, or it does not end here.

    >>> prefix_length(np.array([7, 1, 2, 9, 5]), Loss(begin=(7,), end=(9,)))
    4
    """
    if tuple(ids[: len(loss.begin)].tolist()) != loss.begin:
        return 0
    head = ids[:LONGEST_PREFIX].tolist()
    for at in range(len(loss.begin), len(head) - len(loss.end) + 1):
        if tuple(head[at : at + len(loss.end)]) == loss.end:
            return at + len(loss.end)
    return 0


def begins_prefix(ids: NDArray[Any], starts: Int64s, loss: LossRule) -> Iterator[int]:
    """Those of the places at which `ids` have the beginning of a prefix."""
    starts = starts[starts + len(loss.begin) <= len(ids)]
    for i, token in enumerate(loss.begin):
        starts = starts[ids[starts + i] == token]
    yield from starts.tolist()
