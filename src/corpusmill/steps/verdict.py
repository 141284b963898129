"""Help for writing filters: rules that compare one signal with one threshold.

A filter names its rules in the class variable `RULES`. Where its parameters decide which rules there are, it has a
property `rules` instead. `rules_of` reads either.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Literal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from corpusmill.steps import Columns

COMPARE: dict[str, Callable[..., pa.Array]] = {
    "<": pc.less,
    "<=": pc.less_equal,
    ">": pc.greater,
    ">=": pc.greater_equal,
}


@dataclass(frozen=True)
class Rule:
    """A document is dropped when `signal` `drops` the step's `parameter`: Rule("min_words", "words", "<").

    The name of the parameter is the reason, so a reason in a report is also the setting to change.
    A parameter of None switches its rule off. A null or NaN signal never drops.
    """

    parameter: str
    signal: str
    drops: Literal["<", "<=", ">", ">="]


def failing(step: Any, rules: tuple[Rule, ...], signals: Columns) -> pa.Array:
    """(documents,) the names of the rules that each document fails, joined by commas in rule order; null if it fails
    none.

    step      the filter whose fields hold the thresholds
    signals   (documents,) each
    returns   (documents,) string
    """
    hits = {}
    for rule in rules:
        threshold = getattr(step, rule.parameter)
        if threshold is not None:
            # Without a type, pyarrow looks for optional packages for every number: 50 µs each time.
            bound = pa.scalar(threshold, pa.float64() if isinstance(threshold, float) else pa.int64())
            hits[rule.parameter] = COMPARE[rule.drops](signals[rule.signal], bound)
    return join_reasons(**hits) if hits else pa.nulls(len(next(iter(signals.values()))), pa.string())


def rules_of(step: Any) -> tuple[Rule, ...]:
    """The rules of any step: its property `rules`, or else its class variable `RULES`; none if it has neither.

    >>> from corpusmill.steps.filter.c4 import C4
    >>> rules_of(C4())
    (Rule(parameter='min_sentences', signal='sentences', drops='<'),)
    """
    # A field that a step happens to call `rules` is a parameter of that step.
    by_parameters = isinstance(getattr(type(step), "rules", None), property)
    rules: tuple[Rule, ...] = step.rules if by_parameters else getattr(step, "RULES", ())
    return rules


def thresholds(step: Any) -> tuple[str, ...]:
    """The parameters of a filter that only judge: its reasons for other values follow from the signals of a run.

    >>> from corpusmill.steps.filter.language import Language
    >>> thresholds(Language())
    ('languages', 'min_score', 'min_scores')
    """
    return (*(rule.parameter for rule in rules_of(step)), *getattr(step, "threshold_parameters", ()))


def join_reasons(**hits: pa.Array) -> pa.Array:
    """The names of all conditions that hold for each document, joined by commas; null if none does.

    hits      (documents,) bool each, null counts as false; keyword order is the order in the reason
    returns   (documents,) string
    """
    # Documents have few distinct combinations, so each is spelled once. A combination is a number with a bit per
    # condition.
    number = np.int32 if len(hits) < 31 else np.int64 if len(hits) < 63 else object
    combination: NDArray[Any] = np.zeros(len(next(iter(hits.values()))), number)
    for bit, hit in enumerate(hits.values()):
        combination |= _numpy(hit).astype(number) << bit
    combinations, row = distinct(combination, 1 << len(hits))
    names = tuple(hits)
    return pa.array([_spelled(names, bits) for bits in combinations.tolist()], pa.string()).take(pa.array(row))


@lru_cache(1 << 14)
def _spelled(names: tuple[str, ...], bits: int) -> str | None:
    return ",".join(name for bit, name in enumerate(names) if bits >> bit & 1) or None


def _numpy(hit: pa.Array) -> NDArray[np.bool_]:
    filled = hit if hit.null_count == 0 else pc.fill_null(hit, FALSE)
    array: NDArray[np.bool_] = filled.to_numpy(zero_copy_only=False)
    return array


FALSE = pa.scalar(False)


def distinct(codes: NDArray[Any], size: int) -> tuple[NDArray[Any], NDArray[np.int64]]:
    """The distinct codes, sorted, and the index of each code among them, as `np.unique` gives.

    codes   (documents,) whole numbers from 0 to size - 1

    >>> [part.tolist() for part in distinct(np.array([7, 2, 7]), 8)]
    [[2, 7], [1, 0, 1]]
    """
    if size > max(len(codes), 1 << 14):
        values, row = np.unique(codes, return_inverse=True)
        return values, row
    # Without sorting: a fifth of the time over a million documents.
    values = np.flatnonzero(np.bincount(codes, minlength=size))
    place = np.zeros(size, np.int64)
    place[values] = np.arange(len(values))
    return values, place[codes]
