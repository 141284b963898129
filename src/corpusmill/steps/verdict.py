"""Help for writing filters: rules that compare one signal with one threshold."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

import pyarrow as pa
import pyarrow.compute as pc

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
    hits = {
        rule.parameter: COMPARE[rule.drops](signals[rule.signal], threshold)
        for rule in rules
        if (threshold := getattr(step, rule.parameter)) is not None
    }
    return join_reasons(**hits) if hits else pa.nulls(len(next(iter(signals.values()))), pa.string())


def join_reasons(**hits: pa.Array) -> pa.Array:
    """The names of all the conditions that hold for each document, joined by commas; null where none does.

    hits      (documents,) bool each, null counts as false; keyword order is the order in the reason
    returns   (documents,) string
    """
    # Each name brings its comma, and the first comma is cut off: binary_join_element_wise with null_handling="skip"
    # says it shorter, but leaves out the rows in which everything is null (pyarrow 26).
    named = [pc.if_else(pc.fill_null(hit, False), f",{name}", "") for name, hit in hits.items()]
    joined = pc.binary_join_element_wise(*named, "")
    return pc.if_else(pc.equal(joined, ""), pa.scalar(None, pa.string()), pc.utf8_slice_codeunits(joined, 1))
