"""The effects of all factors in one experiment: the models of a design, and a linear model of what they cost."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from corpusmill.train.ablate import design
from corpusmill.train.ablate.documents import NO_BUCKET
from corpusmill.train.ablate.experiment import Choice, Experiment
from corpusmill.train.ablate.weights import ShareLaw


@dataclass(frozen=True)
class Factors:
    """What a design varies: its columns in this order.

    shares   source -> its share by the recipe's mix; None without one
    """

    stages: Sequence[str]
    sources: Sequence[str]
    buckets: Sequence[int]
    shares: Mapping[str, float] | None

    @property
    def count(self) -> int:
        return len(self.stages) + len(self.sources) + len(self.buckets)

    @property
    def are_sources(self) -> NDArray[np.bool_]:
        """(factors,)"""
        return np.repeat([False, True, False], [len(self.stages), len(self.sources), len(self.buckets)])


@dataclass(frozen=True)
class GroupEffects:
    """What an experiment gives.

    models    that were trained
    effects   (factors, 1 + targets) what a factor changes, of the mean over the targets and of each
    law       what shares of the sources that are factors change
    natural   (targets,) bits per byte of the run as it is
    counted   the experiment, to measure more with
    as_it_is  the choice that the run is
    size      bytes of a model
    """

    models: int
    effects: NDArray[np.float64]
    law: ShareLaw
    natural: NDArray[np.float64]
    counted: Experiment
    as_it_is: Choice
    size: int


def group_effects(
    counted: Experiment, factors: Factors, models: int, size: int, random: np.random.Generator
) -> GroupEffects:
    """Train the models of a design, and solve for the effects by least squares."""
    weighing = _weighing(counted, factors)
    choices, rows, given = [weighing.as_it_is], [], []
    for level, multiplier in _rows(counted, factors, models, random):
        stages, _, buckets = np.split(level, np.cumsum([len(factors.stages), len(factors.sources)]))
        read = weighing.as_it_is.buckets.copy()
        read[list(factors.buckets)] = buckets
        choice = replace(weighing.as_it_is, stages=stages, buckets=read, rounding=random.random(len(multiplier)))
        choices.append(weighing.weighed(counted, choice, multiplier))
        rows.append(level)
        given.append(weighing.base * multiplier / (weighing.base @ multiplier))
    (natural, *costs), (_, *shares) = counted.bits_per_byte(choices, size)
    reads = np.array([share.any() for share in shares])  # a model that reads no source says nothing
    cost_of, share_of = np.array(costs)[reads], np.array(shares)[reads]
    outcome = np.column_stack([np.nanmean(cost_of, axis=1), cost_of])
    levels, weights = np.array(rows)[reads], np.array(given)[reads]
    codes = levels.astype(np.float64) - 0.5
    effects = _solved(codes, np.empty((len(codes), 0)), outcome)
    # What the design gave to sources explains most of the rest, and has nothing to do with stages and buckets.
    others = ~factors.are_sources
    effects[others] = _solved(codes, np.sqrt(weights), outcome)[others]
    numbers = [counted.sources.index(name) for name in factors.sources]
    law = ShareLaw.fitted(share_of[:, numbers], codes[:, others], outcome[:, 0])
    return GroupEffects(len(codes), effects, law, natural, counted, weighing.as_it_is, size)


@dataclass(frozen=True)
class _Weighing:
    """How models weigh the sources.

    as_it_is   the choice that the run is
    base       (sources,) the weights where no stage drops anything
    per_byte   (sources,) the weight of a byte of a source, so that stages change its share; None: shares are those of
               the recipe's mix, whatever stages drop
    """

    as_it_is: Choice
    base: NDArray[np.float64]
    per_byte: NDArray[np.float64] | None

    def weighed(self, counted: Experiment, choice: Choice, multiplier: NDArray[np.float64]) -> Choice:
        weights = self.base if self.per_byte is None else counted.available(choice).sum(axis=1) * self.per_byte
        return replace(choice, weights=weights * multiplier)


def _weighing(counted: Experiment, factors: Factors) -> _Weighing:
    buckets = max((cell.bucket for cell in counted.cells), default=NO_BUCKET) + 1
    halves = np.full(len(counted.sources), 0.5)
    everything = Choice(np.zeros(len(factors.stages), bool), np.ones(buckets, bool), halves, halves)
    as_it_is = replace(everything, stages=np.ones(len(factors.stages), bool))
    if factors.shares is not None:
        shares = np.array([factors.shares.get(name, 0.0) for name in counted.sources])
        return _Weighing(replace(as_it_is, weights=shares), shares, None)
    as_it_is = replace(as_it_is, weights=counted.available(as_it_is).sum(axis=1))
    # The root of its size: a small source is read often enough to be judged, and a large one still counts more.
    base = np.sqrt(np.maximum(counted.available(everything).sum(axis=1), 1.0))
    return _Weighing(as_it_is, base, 1 / base)


def _rows(
    counted: Experiment, factors: Factors, models: int, random: np.random.Generator
) -> Iterator[tuple[NDArray[np.bool_], NDArray[np.float64]]]:
    """Of each model which factors are on, and what the weights of sources are multiplied with; those in which a source
    is read."""
    levels = design.levels(models, factors.count, random)
    multipliers = design.multipliers(len(levels), len(counted.sources), random)
    numbers = [counted.sources.index(name) for name in factors.sources]
    multipliers[:, numbers] *= levels[:, factors.are_sources]
    return ((level, multiplier) for level, multiplier in zip(levels, multipliers) if multiplier.any())


def _solved(
    codes: NDArray[np.float64], covariates: NDArray[np.float64], outcome: NDArray[np.float64]
) -> NDArray[np.float64]:
    """(factors, outcomes) the effects; NaN where an outcome is."""
    columns = np.hstack([codes, covariates, np.ones((len(codes), 1))])
    effects: NDArray[np.float64] = np.linalg.lstsq(columns, np.nan_to_num(outcome), rcond=None)[0][: codes.shape[1]]
    effects[:, np.isnan(outcome).any(axis=0)] = np.nan
    return effects
