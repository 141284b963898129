"""The order of samples as a function: which row is the n-th, without a table of all rows and without state.

A permutation of 0 … n - 1 is a Feistel network over the smallest even number of bits that n fits in, iterated until the
value is below n (cycle walking: Black and Rogaway 2002, "Ciphers with arbitrary finite domains", section 3). A mixture
is drawn in cycles of SAMPLES_PER_CYCLE samples, each of which holds every source in exact proportion to its weight.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from corpusmill.shards.loss import Int64s, mix64

UInt64s = NDArray[np.uint64]
FEISTEL_ROUNDS = 8
SAMPLES_PER_CYCLE = 10_000  # samples; weights are rounded to one part in so many
SAMPLES_PER_BLOCK = 1 << 12  # samples that are drawn at a time
GOLDEN = 0x9E3779B97F4A7C15
MASK64 = 0xFFFFFFFFFFFFFFFF


@dataclass(frozen=True)
class Permutation:
    """The numbers 0 … size - 1 in a pseudo-random order that depends on the key alone.

    size   up to 2**62; memory and time of a draw do not depend on it
    key    64 bits
    """

    size: int
    key: int

    def __call__(self, numbers: Int64s) -> Int64s:
        """(n,) the numbers at these positions of the order, each from 0 to size - 1."""
        return self._walk(numbers, _encrypt)

    def inverse(self, values: Int64s) -> Int64s:
        """(n,) the positions of these numbers in the order: what `__call__` takes to give them."""
        return self._walk(values, _decrypt)

    def _walk(self, numbers: Int64s, network: Callable[[UInt64s, int, UInt64s], UInt64s]) -> Int64s:
        """The numbers through the network, again and again until they are below `size`."""
        if self.size < 2:
            return np.zeros_like(numbers)
        half = max(1, -(-(self.size - 1).bit_length() // 2))
        keys = mix64(np.array([(self.key + i * GOLDEN) & MASK64 for i in range(2, FEISTEL_ROUNDS + 2)], np.uint64))
        values = network(numbers.astype(np.uint64), half, keys)
        while len(outside := np.flatnonzero(values >= self.size)):
            values[outside] = network(values[outside], half, keys)
        return values.astype(np.int64)


def _encrypt(values: UInt64s, half: int, keys: UInt64s) -> UInt64s:
    mask = np.uint64((1 << half) - 1)
    high, low = values >> np.uint64(half), values & mask
    for key in keys:
        high, low = low, high ^ (mix64(low ^ key) & mask)
    return (high << np.uint64(half)) | low


def _decrypt(values: UInt64s, half: int, keys: UInt64s) -> UInt64s:
    mask = np.uint64((1 << half) - 1)
    high, low = values >> np.uint64(half), values & mask
    for key in keys[::-1]:
        high, low = low ^ (mix64(high ^ key) & mask), high
    return (high << np.uint64(half)) | low


def mixed(*numbers: int) -> int:
    """64 bits that depend on all of the numbers and on their order."""
    state = np.zeros(1, np.uint64)
    for number in numbers:
        state = mix64(state + np.uint64((GOLDEN + number) & MASK64))
    return int(state[0])


class MixtureSamples(NamedTuple):
    """Samples of a mixture.

    source   (n,) the source of each
    row      (n,) its row in the source
    epoch    (n,) complete passes over that source before it
    """

    source: Int64s
    row: Int64s
    epoch: Int64s


@dataclass(frozen=True)
class SampleOrder:
    """The endless sequence of samples of one or more sources.

    rows      of each source
    weights   of each source, in samples
    seed      of the shuffle
    shuffle   False: the rows of each source in order
    """

    rows: tuple[int, ...]
    weights: tuple[float, ...]
    seed: int
    shuffle: bool = True

    @property
    def shares(self) -> tuple[int, ...]:
        """Samples of each source in every SAMPLES_PER_CYCLE samples: the weights, rounded so that they add up (largest
        remainder)."""
        if len(self.rows) == 1:
            return (SAMPLES_PER_CYCLE,)
        exact = [SAMPLES_PER_CYCLE * weight / sum(self.weights) for weight in self.weights]
        counts = [int(value) for value in exact]
        by_rest = sorted(range(len(exact)), key=lambda i: (counts[i] - exact[i], i))
        for i in by_rest[: SAMPLES_PER_CYCLE - sum(counts)]:
            counts[i] += 1
        return tuple(counts)

    def draw(self, samples: Int64s) -> MixtureSamples:
        """Source, row and epoch of the samples with these numbers."""
        block, offset = np.divmod(samples, SAMPLES_PER_BLOCK)
        drawn = MixtureSamples(*(np.empty_like(samples) for _ in MixtureSamples._fields))
        for b in np.unique(block).tolist():
            members = np.flatnonzero(block == b)
            for column, values in zip(drawn, _block(self, b)):
                column[members] = values[offset[members]]
        return drawn

    def compute(self, samples: Int64s) -> MixtureSamples:
        """The same, without the cache of blocks."""
        source, number = np.zeros_like(samples), samples
        if len(self.rows) > 1:
            source, number = self._mixture(samples)
        row, epoch = np.empty_like(samples), np.empty_like(samples)
        for i, size in enumerate(self.rows):
            in_source = np.flatnonzero(source == i)
            epoch[in_source] = number[in_source] // size
            row[in_source] = number[in_source] % size
            if self.shuffle:
                for e in np.unique(epoch[in_source]).tolist():
                    in_epoch = in_source[epoch[in_source] == e]
                    row[in_epoch] = Permutation(size, mixed(self.seed, i, e))(row[in_epoch])
        return MixtureSamples(source, row, epoch)

    def samples(self, source: int, rows: Int64s, epoch: int) -> Int64s:
        """The numbers of the samples that are these rows of a source in one of its epochs: the inverse of `draw`."""
        size = self.rows[source]
        position = Permutation(size, mixed(self.seed, source, epoch)).inverse(rows) if self.shuffle else rows
        number = epoch * size + position
        if len(self.rows) == 1:
            return number
        share = self.shares[source]
        samples = np.empty_like(number)
        cycle, index = np.divmod(number, max(share, 1))
        for c in np.unique(cycle).tolist():
            in_cycle = np.flatnonzero(cycle == c)
            sources, _ = _cycle(self.shares, mixed(self.seed, 1 << 32, c))
            samples[in_cycle] = c * SAMPLES_PER_CYCLE + np.flatnonzero(sources == source)[index[in_cycle]]
        return samples

    def _mixture(self, samples: Int64s) -> tuple[Int64s, Int64s]:
        """The source of each sample, and the number of samples of that source before it."""
        shares = np.array(self.shares)
        cycle, offset = np.divmod(samples, SAMPLES_PER_CYCLE)
        source, number = np.empty_like(samples), np.empty_like(samples)
        for c in np.unique(cycle).tolist():
            in_cycle = np.flatnonzero(cycle == c)
            sources, before = _cycle(self.shares, mixed(self.seed, 1 << 32, c))
            source[in_cycle] = sources[offset[in_cycle]]
            number[in_cycle] = c * shares[source[in_cycle]] + before[offset[in_cycle]]
        return source, number


@lru_cache(8)
def _block(order: SampleOrder, number: int) -> MixtureSamples:
    """The samples of a block: computing a whole block costs little more than computing one sample."""
    return order.compute(np.arange(number * SAMPLES_PER_BLOCK, (number + 1) * SAMPLES_PER_BLOCK))


@lru_cache(8)
def _cycle(shares: tuple[int, ...], key: int) -> tuple[Int64s, Int64s]:
    """(SAMPLES_PER_CYCLE,) the source of each sample of a cycle, and how many samples of that source come before it."""
    slots = Permutation(SAMPLES_PER_CYCLE, key)(np.arange(SAMPLES_PER_CYCLE))
    source = np.searchsorted(np.cumsum(shares), slots, "right")
    order = np.argsort(source, kind="stable")
    before = np.empty(SAMPLES_PER_CYCLE, np.int64)
    before[order] = np.arange(SAMPLES_PER_CYCLE) - np.repeat(np.cumsum(shares) - shares, shares)
    return source, before
