"""Help for writing filters: rules that compare one signal with one threshold.

A filter names its rules in the class variable `RULES`. Where its parameters decide which rules there are, it has a property
`rules` instead. `rules_of` reads either.
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

    The parameter's name is the reason, so a reason in a report and the setting that causes it are one word.
    A parameter of None switches its rule off. A null or NaN signal never drops.
    """

    parameter: str
    signal: str
    drops: Literal["<", "<=", ">", ">="]


def failing(step: Any, rules: tuple[Rule, ...], signals: Columns) -> pa.Array:
    """The names of all the rules that each document fails, joined by commas in rule order; null where none fails.

    step      the filter whose fields hold the thresholds
    signals   (documents,) each
    returns   (documents,) string
    """
    hits = {}
    for rule in rules:
        threshold = getattr(step, rule.parameter)
        if threshold is not None:
            # Without a type, pyarrow looks for optional packages whenever it meets a number: 50 µs each time.
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
    """The names of all the conditions that hold for each document, joined by commas; null where none does.

    hits      (documents,) bool each, null counts as false; keyword order is the order in the reason
    returns   (documents,) string
    """
    # Documents share few combinations, so each is spelled once. A combination is a number with a bit a condition.
    number = np.int32 if len(hits) < 31 else np.int64 if len(hits) < 63 else object
    combination: NDArray[Any] = np.zeros(len(next(iter(hits.values()))), number)
    for bit, hit in enumerate(hits.values()):
        combination |= _numpy(hit).astype(number) << bit
    found, row = distinct(combination, 1 << len(hits))
    names = tuple(hits)
    return pa.array([_spelled(names, bits) for bits in found.tolist()], pa.string()).take(pa.array(row))


@lru_cache(1 << 14)
def _spelled(names: tuple[str, ...], bits: int) -> str | None:
    return ",".join(name for bit, name in enumerate(names) if bits >> bit & 1) or None


def _numpy(hit: pa.Array) -> NDArray[np.bool_]:
    found: NDArray[np.bool_] = (hit if hit.null_count == 0 else pc.fill_null(hit, FALSE)).to_numpy(zero_copy_only=False)
    return found


FALSE = pa.scalar(False)


def distinct(codes: NDArray[Any], size: int) -> tuple[NDArray[Any], NDArray[np.int64]]:
    """The different codes, sorted, and for each code which of them it is, as `np.unique` has them.

    codes   (documents,) whole numbers from 0 to size - 1

    >>> [part.tolist() for part in distinct(np.array([7, 2, 7]), 8)]
    [[2, 7], [1, 0, 1]]
    """
    if size > max(len(codes), 1 << 14):
        found, row = np.unique(codes, return_inverse=True)
        return found, row
    # Without sorting: a fifth of the time over a million documents.
    found = np.flatnonzero(np.bincount(codes, minlength=size))
    place = np.zeros(size, np.int64)
    place[found] = np.arange(len(found))
    return found, place[codes]
