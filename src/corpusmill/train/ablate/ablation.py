"""The worth of stages, sources and buckets in bits per byte, with intervals, and the mix that follows.

The documents are divided into GROUPS by a hash, near-duplicates together. Each group is an experiment of its own, with
its own held-out text and its own design, and gives the effects of all factors. The groups share no document, so their
effects are independent, and Student's t interval of their mean covers all there is of noise: of the documents that were
drawn, of the held-out text, of the design, and of what a linear model does not describe.
"""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa

from corpusmill.errors import InputError, did_you_mean
from corpusmill.report.figures.mix import Mix, mixes
from corpusmill.report.tables import RunTables, finite
from corpusmill.train.ablate.documents import GROUPS, DocumentSample, about, draw, sides
from corpusmill.train.ablate.experiment import HELD_OUT_LEAST, MAX_EPOCHS, ModelKind, experiment
from corpusmill.train.ablate.grams import NgramModels
from corpusmill.train.ablate.group_effects import Factors, GroupEffects, group_effects
from corpusmill.train.ablate.weights import ShareLaw, best_weights

DRAWN = 64  # times the bytes of a model: text that is drawn of the run
DRAWN_LEAST = 64 << 20  # bytes of it, or all
# Student's t, 97.5 %, by degrees of freedom.
T = {2: 4.3027, 3: 3.1824, 4: 2.7764, 5: 2.5706, 6: 2.4469, 7: 2.3646}
MIN_GROUPS = min(T) + 1
NGRAMS = NgramModels()


@dataclass(frozen=True)
class Interval:
    """Bits per byte, with a 95 % interval. Below 0 is better."""

    bits: float
    low: float
    high: float

    @property
    def verdict(self) -> str:
        """In a word; an interval that holds 0 shows nothing."""
        return "better" if self.high < 0 else "worse" if self.low > 0 else "not shown"


@dataclass(frozen=True)
class Effect:
    """What a factor changes.

    kind      "stage": that it drops its documents; "source" or "bucket": that models read it
    bytes     that it drops, or has, of those that were drawn
    change    of the mean over the targets
    targets   target -> of it alone
    """

    kind: str
    name: str
    bytes: int
    change: Interval
    targets: Mapping[str, Interval]


@dataclass(frozen=True)
class LearntMix:
    """Weights for mix/sources.

    weights   source -> share
    before    source -> share as it is
    change    what they change, measured: each group judges the weights that all others lead to
    """

    weights: Mapping[str, float]
    before: Mapping[str, float]
    change: Interval


@dataclass(frozen=True)
class Ablation:
    """The result.

    targets     name -> what a byte of held-out text costs models of the run as it is; NaN of too little text
    kind        of the models, in words
    models      that were trained, and `groups` of documents that they were trained on
    budget      bytes that each has read
    share       of the run's documents that were drawn
    without     stages that drop nothing that was drawn
    mix         None of a run with one source
    """

    targets: Mapping[str, float]
    kind: str
    models: int
    groups: int
    budget: int
    share: float
    seed: int
    effects: tuple[Effect, ...]
    without: tuple[str, ...]
    mix: LearntMix | None

    def to_json(self) -> dict[str, Any]:
        """As JSON has it: null for NaN."""
        record: dict[str, Any] = _finite(asdict(self))
        return record


def ablate(
    tables: RunTables,
    *,
    targets: Sequence[str] = (),
    own: Mapping[str, pa.LargeStringArray] | None = None,
    kind: ModelKind = NGRAMS,
    budget: int | None = None,
    seed: int = 0,
    workers: int | None = None,
    progress: Callable[[int, int], None] = lambda done, total: None,
) -> Ablation:
    """Measure what the stages, sources and buckets of a finished run are worth.

    targets    sources by whose held-out text models are judged; all of them if neither these nor `own` are given
    own        name -> text of yours to judge by
    kind       of models; n-grams if not given
    budget     bytes that a model reads, at most; what is right for the kind if not given
    workers    threads; as many as the kind can use if not given. They change nothing in the result
    progress   is called with the experiments that are done, and of all

    Raises ResumeError if the run is not finished, InputError if it has too little text, or no such source.
    """
    own, budget = dict(own or {}), budget or kind.budget
    flow = tables.files.waterfall()
    last = flow.rows[-1].sources if flow.rows else {}
    read = list(dict.fromkeys([*tables.files.inputs, *last]))  # some are made by a step
    keeping = [name for name in read if not last or last.get(name, {}).get("documents_out")]
    for name in targets:
        if name not in read:
            raise InputError(
                f'the run has no source "{name}"{did_you_mean(name, read) or "."} It has: {", ".join(read)}'
            )
        if name not in keeping:
            raise InputError(f'the run keeps no documents of "{name}", so models cannot be judged by it')
    judges = list(dict.fromkeys(targets)) or ([] if own else keeping)
    documents = draw(tables, judges, own, max(budget * DRAWN, DRAWN_LEAST))
    amounts = about(documents)
    sources = sorted({cell.source for cell in documents.cells}, key=read.index)
    kept_sources = [name for name in sources if amounts["sources"].get(name)]
    stages = [label for label in tables.labels if amounts["stages"].get(label)]
    buckets = [number for number in range(len(documents.buckets)) if amounts["buckets"].get(number)]
    factors = Factors(
        stages,
        kept_sources if len(kept_sources) > 1 else [],
        buckets if len(buckets) > 1 else [],
        next((wanted for mix in mixes(tables) if (wanted := _target_shares(mix)).keys() >= set(kept_sources)), None),
    )
    if not factors.count:
        raise InputError(
            f"{tables.folder}: nothing to compare: the run has one source, no buckets, and no dropped documents "
            "with a text. `run.dropped_text: all` stores them all"
        )
    divided = sides(documents, seed)
    # Half of what the run keeps, and half of that where models read half of the sources: a model reads little twice, or
    # a stage that drops anything would be worse for that alone.
    kinds = bool(factors.sources) + bool(factors.buckets)
    kept = sum(amounts["sources"].values())
    size = min(budget, int(kept * np.mean(divided.train) / GROUPS / 2 ** (1 + kinds)))

    def of_group(group: int) -> "GroupEffects | None":
        random = np.random.Generator(np.random.Philox(key=np.array([seed, group], np.uint64)))
        counted = experiment(documents, divided, group, sources, stages, kind, size, random)
        usable = counted.held_out.any() and len(counted.cell)
        models = kind.models(factors.count)
        return group_effects(counted, factors, models, size, random) if usable else None

    results: list[GroupEffects] = []
    with ThreadPoolExecutor(workers or kind.groups_at_once) as pool:
        for number, result in enumerate(pool.map(of_group, range(GROUPS)), 1):
            results += [result] if result is not None else []
            progress(number, GROUPS)
    if len(results) < MIN_GROUPS:
        raise InputError(
            f"{tables.folder}: too little text: {len(documents.texts):,} documents, of which {len(results)} of "
            f"{GROUPS} groups have {HELD_OUT_LEAST:,} bytes of held-out text. Choose another target, with more text"
        )
    return Ablation(
        {name: _mean([one.natural[i] for one in results]) for i, name in enumerate(documents.targets)},
        kind.about,
        sum(one.models for one in results),
        len(results),
        size,
        documents.share,
        seed,
        tuple(_effects(results, factors, documents, amounts)),
        tuple(label for label in tables.labels if label not in stages),
        _mix(results, kept_sources) if factors.sources else None,
    )


def _effects(
    results: Sequence[GroupEffects], factors: Factors, documents: DocumentSample, amounts: Mapping[str, Any]
) -> list[Effect]:
    names = [("stage", name, amounts["stages"][name]) for name in factors.stages]
    names += [("source", name, amounts["sources"][name]) for name in factors.sources]
    names += [("bucket", documents.buckets[number], amounts["buckets"][number]) for number in factors.buckets]
    effects = []
    for row, (kind, name, size) in enumerate(names):
        change, *of_targets = (
            interval([one.effects[row, column] for one in results]) for column in range(1 + len(documents.targets))
        )
        effects.append(Effect(kind, name, size, change, dict(zip(documents.targets, of_targets))))
    return effects


def _mix(results: Sequence[GroupEffects], sources: Sequence[str]) -> LearntMix:
    numbers = [results[0].counted.sources.index(name) for name in sources]
    there = np.sum([one.counted.available(one.as_it_is).sum(axis=1)[numbers] for one in results], axis=0)
    before = np.sum([one.as_it_is.weights[numbers] / one.as_it_is.weights.sum() for one in results], axis=0)
    before /= before.sum()
    limits = MAX_EPOCHS * there / there.sum()
    gains = []
    for left_out in results:
        others = ShareLaw.of_all([one.law for one in results if one is not left_out])
        weights = np.zeros(len(left_out.counted.sources))
        weights[numbers] = best_weights(others, before, limits)
        choice = replace(left_out.as_it_is, weights=weights)
        cost, _ = left_out.counted.bits_per_byte([choice], left_out.size)
        gains.append(float(np.nanmean(cost) - np.nanmean(left_out.natural)))
    weights = best_weights(ShareLaw.of_all([one.law for one in results]), before, limits)
    return LearntMix(
        {name: round(float(weight), 4) for name, weight in zip(sources, weights)},
        {name: round(float(weight), 4) for name, weight in zip(sources, before)},
        interval(gains),
    )


def interval(values: Iterable[float]) -> Interval:
    """Student's t interval of the mean of independent values; NaN, which groups without a value have, is left out.

    >>> interval([0.1, 0.2, 0.3])
    Interval(bits=0.2, low=-0.0484, high=0.4484)
    """
    known = np.array([value for value in values if not math.isnan(value)])
    if len(known) < MIN_GROUPS:
        return Interval(math.nan, math.nan, math.nan)
    mean, half = float(known.mean()), T[len(known) - 1] * float(known.std(ddof=1)) / math.sqrt(len(known))
    return Interval(*(round(value, 5) for value in (mean, mean - half, mean + half)))


def _target_shares(mix: Mix) -> dict[str, float]:
    return {source.source: source.share for source in mix.sources}


def _mean(values: Sequence[float]) -> float:
    """Of those that are not NaN; NaN if all are."""
    known = [float(value) for value in values if not math.isnan(value)]
    return round(sum(known) / len(known), 5) if known else math.nan


def _finite(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _finite(each) for name, each in value.items()}
    return [_finite(each) for each in value] if isinstance(value, (list, tuple)) else finite(value)
