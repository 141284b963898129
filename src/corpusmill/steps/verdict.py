"""Help for writing filters: rules that compare one signal with one threshold.

A filter names its rules in the class variable `RULES`. Where its parameters decide which rules there are, it has a
property `rules` instead. `rules_of` reads either.

A step that has many rules lets a recipe name those that are on: it has a field `rules`, the parameters that are rules
in the class variable `SWITCHES`, and calls `only` first of all in its `__post_init__`.
"""

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, fields
from functools import lru_cache
from typing import Any, Literal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from corpusmill.errors import RecipeError, did_you_mean
from corpusmill.steps import Columns

COMPARE: dict[str, Callable[..., pa.Array]] = {
    "<": pc.less,
    "<=": pc.less_equal,
    ">": pc.greater,
    ">=": pc.greater_equal,
}
MOST = 2**63 - 1  # no signal is above it
COMPARED = {"<": "below", "<=": "at most", ">": "above", ">=": "at least"}


@dataclass(frozen=True)
class Rule:
    """A document is dropped when `signal` `drops` the step's `parameter`: Rule("min_words", "words", "<").

    The name of the parameter is the reason, so a reason in a report is also the setting to change.
    A parameter of None switches its rule off. A null or NaN signal never drops.
    """

    parameter: str
    signal: str
    drops: Literal["<", "<=", ">", ">="]


@dataclass(frozen=True)
class Bound:
    """A document is dropped where the column `signal` `drops` the threshold: below 50, above 0.9."""

    signal: str  # `<step>.<signal>`
    drops: str  # <, <=, >, >=
    threshold: float

    def __str__(self) -> str:
        return f"{self.signal.partition('.')[2]} {COMPARED[self.drops]} {self.threshold:,.6g}"


def bounds(steps: Iterable[tuple[str, Any]]) -> dict[str, Bound]:
    """reason (`step.rule`) -> its bound, for every rule of steps, by their labels, that has one and is switched on."""
    return {
        f"{label}.{rule.parameter}": Bound(f"{label}.{rule.signal}", rule.drops, float(threshold))
        for label, step in steps
        for rule in rules_of(step)
        if isinstance(threshold := getattr(step, rule.parameter), int | float)
    }


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
            if isinstance(threshold, float):
                bound = pa.scalar(threshold, pa.float64())
            else:
                bound = pa.scalar(min(threshold, MOST), pa.int64())
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


def only(step: Any, name: str) -> None:
    """Switch off every rule of a step that its parameter `rules` does not list; None lists all.

    name   of the step in a recipe, for messages

    A rule is off at None, False or an empty list. Raises RecipeError for a rule that does not exist, one that is listed
    and off, and one that is set and not listed.
    """
    if step.rules is None:
        return
    switches = type(step).SWITCHES
    defaults = {field.name: field.default for field in fields(step)}
    if not step.rules:
        raise RecipeError(f"{name}: rules is empty, so nothing would be judged. Name some of: {', '.join(switches)}.")
    for rule in step.rules:
        if rule not in switches:
            hint = did_you_mean(rule, switches) or "."
            raise RecipeError(f'{name}: there is no rule "{rule}"{hint} There are: {", ".join(switches)}.')
        if _is_off(getattr(step, rule)):
            if _is_off(defaults[rule]):
                advice = f"it has no default: write a value beside it, as in {{rules: [{rule}], {rule}: …}}"
            else:
                advice = "it is switched off beside it: leave out one of the two"
            raise RecipeError(f"{name}: rules has {rule}, and {advice}")
    set_here = {rule: getattr(step, rule) for rule in switches if getattr(step, rule) != defaults[rule]}
    for rule in unlisted(type(step), step.rules, set_here):
        raise RecipeError(f"{name}: {NOT_LISTED.format(rule)}")
    for rule in switches:
        if rule not in step.rules:
            object.__setattr__(step, rule, _off(defaults[rule]))
    # In one order, so that the order in a recipe makes no difference to the fingerprint.
    object.__setattr__(step, "rules", tuple(rule for rule in switches if rule in step.rules))


NOT_LISTED = "{0} is set, and is not one of rules; name it there, or leave it out"


def in_order(step: Any, name: str, *of: str) -> None:
    """Raises RecipeError if the step's `min_` of one of these is above its `max_`, where both are numbers."""
    for parameter in of:
        lower, upper = getattr(step, f"min_{parameter}"), getattr(step, f"max_{parameter}")
        if isinstance(lower, int | float) and isinstance(upper, int | float) and lower > upper:
            raise RecipeError(
                f"{name}: need min_{parameter} <= max_{parameter}, got min_{parameter}={lower}, max_{parameter}={upper}"
            )


def unlisted(cls: type[Any], rules: Collection[str] | None, values: Mapping[str, Any]) -> list[str]:
    """The parameters that are rules, have a value that is not off, and are not among those named in `rules`."""
    switches = getattr(cls, "SWITCHES", ()) if rules else ()
    return [rule for rule in switches if rule in values and rule not in (rules or ()) and not _is_off(values[rule])]


def switched_off(step: Any) -> tuple[str, ...]:
    """The parameters that are off because `rules` does not name them."""
    switches = getattr(type(step), "SWITCHES", ())
    return tuple(rule for rule in switches if step.rules is not None and rule not in step.rules)


def _is_off(value: Any) -> bool:
    return value is None or value is False or value == ()


def _off(default: Any) -> Any:
    """The value that switches a rule of this default off."""
    return False if isinstance(default, bool) else () if isinstance(default, tuple | str) else None


def thresholds(step: Any) -> tuple[str, ...]:
    """The parameters of a filter that only judge: its reasons for other values follow from the signals of a run.

    >>> from corpusmill.steps.filter.language import FilterLanguage
    >>> thresholds(FilterLanguage())
    ('min_score', 'languages', 'min_scores')
    """
    names = (*(rule.parameter for rule in rules_of(step)), *getattr(step, "threshold_parameters", ()))
    return tuple(dict.fromkeys(names))


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
    index = np.zeros(size, np.int64)
    index[values] = np.arange(len(values))
    return values, index[codes]
