"""How many duplicates all of a corpus has, from those that a sample of its pieces shows.

Two documents of a pair are both in a sample of a share p of all pieces with probability p², so a sample shows far fewer
duplicates than there are, and how many are unseen depends on how large the clusters are: a pair counts once, a cluster
of k documents k - 1 times, and is seen k(k - 1)/2 times as often. No estimator from a small sample can be sure of it
(Charikar et al. 2000, "Towards Estimation Error Guarantees for Distinct Values"), so this one says a range.

A cluster of k pieces is found in j of a sample with binomial probability. Of clusters, a share has two or more members,
whose number follows k^-a exp(-k/c), a law with a tail, a hump or neither, beside a share of pairs. All of these are not
fitted but averaged over, by how likely each makes what was found (Bayes, on a grid). No real corpus follows such a law
exactly, so what was found counts as EVIDENCE_WEIGHT of what it would if one did. Clusters found in LARGE_CLUSTER pieces
or more tell their own size.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

LARGE_CLUSTER = 10  # pieces in which a cluster is found that is taken at its word
PAIR_SHARES = (0.0, 0.3, 0.5, 0.7, 0.85, 0.95)
CLUSTER_LAWS = [
    (a, c, pairs)
    for pairs in PAIR_SHARES
    for a in (-6, -3, -1, 0, 1, 1.5, 2, 2.5, 3, 4, 6)
    for c in (0.5, 1, 2, 4, 8, 20, 100, 1000)
]
MAX_CLUSTER = 20_000  # members of a cluster of such a law
EVIDENCE_WEIGHT = 0.5
RANGE_COVERAGE = 0.9  # of the range


@dataclass(frozen=True)
class Range:
    """A value, and a range that it is in nine times of ten."""

    value: float
    low: float
    high: float

    def __mul__(self, factor: float) -> "Range":
        return Range(self.value * factor, self.low * factor, self.high * factor)

    def rounded(self) -> "Range":
        return Range(round(self.value), round(self.low), round(self.high))

    def within(self, value: float) -> bool:
        return self.low <= value <= self.high


def duplicates(cluster_sizes: NDArray[np.int64], share: float) -> Range:
    """The share of all documents that are dropped as duplicates: a cluster's but one.

    cluster_sizes   (clusters,) of the sample: in how many pieces each was found, single documents 1. Copies in one
                    piece count once
    share           of all pieces, that is in the sample
    """
    documents = int(cluster_sizes.sum())
    if not documents:
        return Range(0.0, 0.0, 0.0)
    if share >= 1:
        exact = 1 - len(cluster_sizes) / documents
        return Range(exact, exact, exact)
    large = cluster_sizes[cluster_sizes >= LARGE_CLUSTER]
    counts = np.bincount(cluster_sizes[cluster_sizes < LARGE_CLUSTER], minlength=LARGE_CLUSTER)[1:]
    small = int((counts * np.arange(1, LARGE_CLUSTER)).sum())
    in_large = float(large.sum()) - len(large) * share  # of their documents in the sample, those that all of it drops
    values, weights = _posterior(counts, share)
    dropped = (in_large + small * values) / documents
    found_again = _range(dropped, weights)
    if counts[1:].any() or len(large):
        return found_again
    # Of so many pairs, one would have been in the sample as often as not.
    pairs = math.log(2) / (share * documents)
    return Range(min(found_again.value, pairs), 0.0, found_again.high)


def _posterior(counts: NDArray[np.int64], share: float) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Shares of documents that are dropped, and how likely each is.

    counts   (LARGE_CLUSTER - 1,) clusters found in 1, 2, … pieces
    """
    sizes = np.unique(np.geomspace(2, MAX_CLUSTER, 160).astype(np.int64))
    edges = np.append(sizes, MAX_CLUSTER + 1)
    probabilities = _binomial(np.append(1, sizes), share)  # (1 + sizes, LARGE_CLUSTER - 1)
    found_at_all = -np.expm1(np.append(1, sizes) * math.log1p(-share))
    in_copies = np.concatenate([np.geomspace(1e-6, 1e-2, 40), np.linspace(0.015, 0.995, 140)])
    prior = np.gradient(in_copies) * (1 - in_copies)  # more copies are rarer
    values, logs = [], []
    middles = (edges[:-1] + edges[1:] - 1) / 2
    for exponent, cut, pairs in CLUSTER_LAWS:
        logs_of = np.log(np.diff(edges)) - exponent * np.log(middles) - middles / cut
        law = np.exp(logs_of - logs_of.max())
        law *= (1 - pairs) / law.sum()
        law[0] += pairs
        mean = float((law * middles).sum())
        # Clusters by document: those of single documents, and those of the law.
        single, several = 1 - in_copies, in_copies / mean
        expected = single[:, None] * probabilities[0] + several[:, None] * (law @ probabilities[1:])
        anywhere = single * found_at_all[0] + several * (law @ found_at_all[1:])  # none in LARGE_CLUSTER pieces
        chance = expected / anywhere[:, None]
        logs.append(EVIDENCE_WEIGHT * (counts * np.log(chance + 1e-300)).sum(1) + np.log(prior))
        values.append(in_copies - several)
    log_weights = np.concatenate(logs)
    weights = np.exp(log_weights - log_weights.max())
    return np.concatenate(values), weights / weights.sum()


def _binomial(sizes: NDArray[np.int64], share: float) -> NDArray[np.float64]:
    """(sizes, LARGE_CLUSTER - 1) the probability that 1, 2, … of so many pieces are in a sample of this share."""
    out = np.zeros((len(sizes), LARGE_CLUSTER - 1))
    for row, k in enumerate(sizes.tolist()):
        for j in range(1, min(k, LARGE_CLUSTER - 1) + 1):
            ways = math.lgamma(k + 1) - math.lgamma(j + 1) - math.lgamma(k - j + 1)
            out[row, j - 1] = math.exp(ways + j * math.log(share) + (k - j) * math.log1p(-share))
    return out


def _range(values: NDArray[np.float64], weights: NDArray[np.float64]) -> Range:
    order = np.argsort(values)
    below = np.cumsum(weights[order])
    low, middle, high = (
        float(values[order][min(int(np.searchsorted(below, part)), len(order) - 1)])
        for part in ((1 - RANGE_COVERAGE) / 2, 0.5, (1 + RANGE_COVERAGE) / 2)
    )
    return Range(middle, low, high)


def of_pieces(amounts: Sequence[float], share: float) -> tuple[float, float]:
    """Factors on the sum of pieces: between which it is, nine times of ten, if all of the corpus is like them.

    amounts   of each piece in the sample, which are of about equal size, neighbours one after another
    share     of all pieces, that is in the sample

    The sample has a piece of each stretch of the input, so what differs from stretch to stretch is no error of it, as
    little as neighbours tell apart: the variance is that of differences between them (Wolter 2007, "Introduction to
    Variance Estimation", section 8.2).
    """
    many = len(amounts)
    total = float(sum(amounts))
    if share >= 1 or not total:
        return 1.0, 1.0
    if many < 2:
        return 0.5, 2.0  # one piece says nothing of how pieces differ
    mean = total / many
    differences = sum((amount - neighbour) ** 2 for amount, neighbour in pairwise(amounts)) / 2
    spread = math.sqrt(differences / (many - 1) / many * (1 - share)) / mean
    students = 1.645 * (1 + 1.5 / (many - 1))  # of Student's t, about
    return math.exp(-students * spread), math.exp(students * spread)


def both(first: tuple[float, float], second: tuple[float, float]) -> tuple[float, float]:
    """The factors of a product of two values whose errors are independent, from those of each."""
    low, high = (math.hypot(*(math.log(max(pair[end], 1e-9)) for pair in (first, second))) for end in (0, 1))
    return math.exp(-low), math.exp(high)
