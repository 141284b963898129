"""The weights by which lid.wide distinguishes close pairs; see `corpusmill.models.close_pairs`."""

import re
from collections import Counter
from collections.abc import Iterator
from math import log

import numpy as np
from numpy.typing import NDArray

from corpusmill.models.close_pairs import LONGEST_NGRAM, SCALE

LEAST, KAPPA = 2.5, 0.7
MASK = (1 << 64) - 1


def ngrams(text: str) -> Iterator[bytes]:
    for word in re.findall(rb"[A-Za-z'\x80-\xff]+", text.encode()):
        padded = b" " + word.lower() + b" "
        for n in range(1, LONGEST_NGRAM + 1):
            for i in range(len(padded) - n + 1):
                yield padded[i : i + n]
        if len(padded) > LONGEST_NGRAM:
            yield padded


def tables(first: list[str], second: list[str]) -> tuple[NDArray[np.uint64], NDArray[np.int8]]:
    """Hashes of the n-grams of two lists of texts, the larger one scaled down, and the logarithms of their ratios."""
    counts = [Counter(ngram for text in texts for ngram in ngrams(text)) for texts in (first, second)]
    sizes = [sum(count.values()) for count in counts]
    scale = [min(sizes) / size for size in sizes]
    weights = {}
    for ngram in sorted(counts[0].keys() | counts[1].keys()):
        a, b = counts[0][ngram] * scale[0], counts[1][ngram] * scale[1]
        weight = round(SCALE * log((a + KAPPA) / (b + KAPPA)))
        if a + b >= LEAST and weight:
            weights[fnv(ngram)] = max(-127, min(127, weight))
    hashes = sorted(weights)
    return np.array(hashes, np.uint64), np.array([weights[h] for h in hashes], np.int8)


def fnv(data: bytes) -> int:
    h = 0xCBF29CE484222325
    for byte in data:
        h = (h ^ byte) * 0x100000001B3 & MASK
    return h
