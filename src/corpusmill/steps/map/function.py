"""A function of your own that makes another text of each document."""

from collections.abc import Callable
from dataclasses import dataclass

import pyarrow as pa

from corpusmill.errors import RecipeError
from corpusmill.schema import DOCUMENT
from corpusmill.steps.functions import Document, OfFunction, step_of

TEXT = DOCUMENT.get_field_index("text")


def as_map(function: Callable[[Document], str]) -> "MapFunction":
    """The step `map/function` of a function, for recipes in Python; also a decorator.

    A lambda, a function inside another one and one of a notebook cannot be imported by other processes: a run with one
    does all in this process, and says so. Raises RecipeError for what is no function.
    """
    return step_of(MapFunction, function)


@dataclass(frozen=True, kw_only=True)
class MapFunction(OfFunction):
    """Replace the text of documents by what a function of your own makes of it.

    As filter/function, but it returns the new text; a document whose new text is "" or white space is dropped as
    `empty`. The name may follow at once: `map/function: my_module:without_footer`.
    """

    def transform(self, docs: pa.RecordBatch) -> pa.RecordBatch:
        texts = [self._text(answer) for _, answer in self.answers(docs)]
        return docs.set_column(TEXT, DOCUMENT.field(TEXT), pa.array(texts, pa.large_string()))

    def _text(self, answer: object) -> str:
        if not isinstance(answer, str):
            raise RecipeError(
                f"{self.name} must return the new text of a document, a string; it returned {answer!r:.80}"
            )
        return answer
