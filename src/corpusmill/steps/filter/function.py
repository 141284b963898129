"""A function of your own that says of each document whether it is kept."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from corpusmill.steps.functions import Document, OfFunction, reason, step_of


def as_filter(function: Callable[[Document], bool | str]) -> "FilterFunction":
    """The step `filter/function` of a function, for recipes in Python; also a decorator.

    A lambda, a function inside another one and one of a notebook cannot be imported by other processes: a run with one
    does all in this process, and says so. Raises RecipeError for what is no function.
    """
    return step_of(FilterFunction, function)


@dataclass(frozen=True, kw_only=True)
class FilterFunction(OfFunction):
    """Drop documents for which a function of your own says so.

    The function is given one document (`corpusmill.Document`: `text`, `id`, `url`, `date`, `source`, `metadata` …) and
    returns True to keep it, False to drop it for the function's name, or a string, the reason to drop it. It must
    always say the same of the same document. Where it raises an error the document becomes a dead letter. The name may
    follow at once: `filter/function: my_module:is_good`. It costs 5 to 10 µs a document beside what the function does.
    """

    def reasons(self, docs: pa.RecordBatch, signals: Any) -> pa.Array:
        return pa.array([reason(answer, self.name) for _, answer in self.answers(docs)], pa.string())
