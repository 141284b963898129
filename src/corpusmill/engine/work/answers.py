"""What a step returned, as the engine goes on with it, or an error in the words of whoever wrote the step.

A step that ships returns what it should; one of a user's own may not. What can be taken as it was meant is taken (a
list of strings); the rest is a RecipeError that says what to return.
"""

from collections.abc import Mapping
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from corpusmill.errors import RecipeError
from corpusmill.schema import DOCUMENT


def reasons(label: str, answer: Any, docs: pa.RecordBatch) -> pa.Array:
    """(documents,) string: what a filter's `reasons` returned. Raises RecipeError if it is nothing of the kind."""
    contract = "must return one string per document, null to keep it, as in pa.array(reasons, pa.string())"
    array = _array(label, "reasons", answer, contract, len(docs))
    if array.type == pa.string():
        return array
    if pa.types.is_null(array.type) or pa.types.is_large_string(array.type) or pa.types.is_dictionary(array.type):
        try:
            return array.cast(pa.string())
        except pa.ArrowException:
            pass
    raise RecipeError(f"{label}: `reasons` {contract}; it returned {array.type}s")


def signals(label: str, answer: Any, docs: pa.RecordBatch) -> dict[str, pa.Array]:
    """name -> (documents,): what `signals` returned. Raises RecipeError if it is nothing of the kind."""
    contract = 'must return a dict of one array per signal, as in {"links": pa.array(links)}'
    if isinstance(answer, pa.RecordBatch | pa.Table):
        answer = dict(zip(answer.schema.names, answer.columns, strict=True))
    if not isinstance(answer, Mapping):
        raise RecipeError(f"{label}: `signals` {contract}; it returned {_kind(answer)}")
    return {
        str(name): _array(label, f"signals[{name!r}]", values, contract, len(docs)) for name, values in answer.items()
    }


def batch(label: str, answer: Any, docs: pa.RecordBatch) -> pa.RecordBatch:
    """What `transform` returned: the same documents in the same order. Raises RecipeError if they are not."""
    contract = "must return the batch that it was given, with the same documents in the same order and all its columns"
    if isinstance(answer, pa.Table):
        batches = answer.combine_chunks().to_batches()
        answer = batches[0] if batches else docs.slice(0, 0)
    if not isinstance(answer, pa.RecordBatch):
        raise RecipeError(f"{label}: `transform` {contract}; it returned {_kind(answer)}")
    if len(answer) != len(docs):
        raise RecipeError(
            f"{label}: `transform` {contract}; of {len(docs)} documents it returned {len(answer)}. To drop one, set "
            "its text to null, or write a filter."
        )
    if absent := [name for name in DOCUMENT.names if name not in answer.schema.names]:
        raise RecipeError(
            f"{label}: `transform` {contract}; it returned none named {', '.join(absent)}. Change a column with "
            'docs.set_column(docs.schema.get_field_index("text"), "text", texts).'
        )
    if not answer["id"].equals(docs["id"]):
        raise RecipeError(f"{label}: `transform` {contract}; it returned other ids, or the same in another order")
    text = answer["text"]
    if not pa.types.is_large_string(text.type):
        if not (pa.types.is_string(text.type) or pa.types.is_null(text.type)):
            raise RecipeError(f"{label}: `transform` must return texts as large_string; it returned {text.type}s")
        text_index = answer.schema.get_field_index("text")
        answer = answer.set_column(text_index, DOCUMENT.field("text"), pc.cast(text, pa.large_string()))
    return answer


def _array(label: str, subject: str, answer: Any, contract: str, rows: int) -> pa.Array:
    """As one Arrow array of so many rows."""
    if isinstance(answer, pa.ChunkedArray):
        answer = answer.combine_chunks()
    if not isinstance(answer, pa.Array):
        method = subject.partition("[")[0]
        if answer is None or isinstance(answer, str | bytes | Mapping) or not hasattr(answer, "__len__"):
            raise RecipeError(f"{label}: `{method}` {contract}; it returned {_kind(answer)}")
        try:
            answer = pa.array(answer) if len(answer) else pa.nulls(0)
        except (pa.ArrowException, TypeError, ValueError) as error:
            raise RecipeError(f"{label}: `{method}` {contract}; it returned {_kind(answer)}: {error}") from error
    if len(answer) != rows:
        raise RecipeError(f"{label}: {subject} has {len(answer)} values for {rows} documents; it {contract}")
    return answer


def _kind(answer: Any) -> str:
    """The kind of a value, for people."""
    return "nothing" if answer is None else f"a value of the type {type(answer).__name__}"
