"""What a reason means: the signal that was judged, and the threshold that it is compared with."""

from collections.abc import Mapping
from typing import Any

from corpusmill.recipe.model import Recipe
from corpusmill.recipe.names import labels
from corpusmill.report.numbers import measured
from corpusmill.report.visible import one_line
from corpusmill.steps.verdict import COMPARED, Bound
from corpusmill.steps.verdict import bounds as bounds_of

MAX_GUESSED_SIGNALS = 4  # signals of a step that are shown where none of them is known to be the one


def bounds(recipe: Recipe) -> dict[str, Bound]:
    """reason (`step.rule`) -> its bound, for every rule of the recipe's steps that has one and is switched on."""
    return bounds_of(zip(labels(recipe.steps), recipe.steps))


def because(reason: str, signals: Mapping[str, Any], rule_bounds: Mapping[str, Bound]) -> str:
    """`gopher_quality.min_words: content_words 12, below 50`"""
    values = evidence(reason, signals, rule_bounds)
    words = ", ".join(f"{name} {one_line(measured(value))}" for name, value in values.items())
    if reason in rule_bounds:
        words += f", {COMPARED[rule_bounds[reason].drops]} {rule_bounds[reason].threshold:,.6g}"
    return f"{reason}: {words}" if words else reason


def evidence(reason: str, signals: Mapping[str, Any], rule_bounds: Mapping[str, Bound]) -> dict[str, Any]:
    """signal -> value, of the signals that a reason was decided by, as far as one can tell.

    Those are the signal of its bound; or the signal of the same name; or, where the step has only a few, all of them
    that have a value.
    """
    step, _, rule = reason.partition(".")
    if reason in rule_bounds:
        column = rule_bounds[reason].signal
        return {column.partition(".")[2]: signals.get(column)}
    if signals.get(reason) is not None:
        return {} if signals[reason] is True else {rule: signals[reason]}
    own = {name.partition(".")[2]: value for name, value in signals.items() if name.partition(".")[0] == step}
    own = {name: value for name, value in own.items() if value is not None}
    return own if len(own) <= MAX_GUESSED_SIGNALS else {}
