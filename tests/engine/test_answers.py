"""What a step of a user's own returns is taken as it was meant, or refused with what to return."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from corpusmill.engine.work.batch import KEPT, Batch
from corpusmill.errors import RecipeError
from corpusmill.schema import DOCUMENT


def batch(*texts: str) -> Batch:
    rows = [{"id": str(number), "text": text} for number, text in enumerate(texts)]
    return Batch(pa.RecordBatch.from_pylist(rows, schema=DOCUMENT))


@dataclass(frozen=True)
class Returns:
    """A filter without `needs` that returns a value, whatever it is."""

    value: Any

    def reasons(self, docs: pa.RecordBatch, signals: Any) -> Any:
        return self.value


@dataclass(frozen=True)
class Measures:
    value: Any

    def signals(self, docs: pa.RecordBatch) -> Any:
        return self.value


@dataclass(frozen=True)
class Makes:
    make: Any

    def transform(self, docs: pa.RecordBatch) -> Any:
        return self.make(docs)


@pytest.mark.parametrize(
    "value",
    [
        pa.array([None, "bad"]),
        pa.chunked_array([[None], ["bad"]], pa.string()),
        pa.array([None, "bad"], pa.large_string()),
        pa.array([None, "bad"]).dictionary_encode(),
        [None, "bad"],
        (None, "bad"),
        np.array([None, "bad"], object),
    ],
)
def test_a_filter_without_needs_drops_what_it_names(value):
    docs = batch("good", "bad")
    docs.apply(0, "own", Returns(value))
    assert docs.dropped.tolist() == [KEPT, 0]
    assert docs.all_reasons().to_pylist() == [None, "own.bad"]


@pytest.mark.parametrize("value", [[None, None], pa.nulls(2)])
def test_a_filter_that_names_nothing_keeps_everything(value):
    docs = batch("good", "bad")
    docs.apply(0, "own", Returns(value))
    assert docs.dropped.tolist() == [KEPT, KEPT]


@pytest.mark.parametrize(
    ("value", "said"),
    [
        (None, "it returned nothing"),
        ("bad", "of the type str"),
        ([True, False], "it returned bools"),
        (pa.array([1, 2]), "it returned int64s"),
        ([None], "has 1 values for 2 documents"),
        ([None, {}, []], "own: `reasons` must return one string per document"),
        ({"a": 1}, "of the type dict"),
    ],
)
def test_a_filter_is_told_what_to_return(value, said):
    with pytest.raises(RecipeError, match=r"own: .*must return one string per document") as error:
        batch("good", "bad").apply(0, "own", Returns(value))
    assert said in str(error.value)


def test_measures_may_be_lists_and_must_have_a_value_per_document():
    docs = batch("a", "b")
    docs.apply(0, "own", Measures({"length": [1, 2], "half": np.array([0.5, 1.0])}))
    assert docs.signals["own.length"].to_pylist() == [1, 2]
    with pytest.raises(RecipeError, match=r"signals\['length'\] has 1 values for 2 documents"):
        batch("a", "b").apply(0, "own", Measures({"length": [1]}))
    with pytest.raises(RecipeError, match="own: `signals` must return a dict"):
        batch("a", "b").apply(0, "own", Measures([1, 2]))


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda docs: docs.slice(0, 1), "of 2 documents it returned 1"),
        (lambda docs: docs.take(pa.array([1, 0])), "in another order"),
        (lambda docs: docs.select(["id", "text"]), "none named"),
        (lambda docs: docs["text"], "of the type"),
        (lambda docs: docs.set_column(DOCUMENT.get_field_index("text"), "text", pa.array([1, 2])), "int64s"),
    ],
)
def test_a_transform_is_told_what_to_return(make, said):
    with pytest.raises(RecipeError, match="own: `transform` must return") as error:
        batch("a", "b").apply(0, "own", Makes(make))
    assert said in str(error.value)


def test_a_transform_may_return_a_table_and_short_strings():
    def shout(docs):
        texts = pa.array([text.upper() for text in docs["text"].to_pylist()], pa.string())
        changed = docs.set_column(docs.schema.get_field_index("text"), "text", texts)
        return pa.Table.from_batches([changed])

    docs = batch("a", "b")
    docs.apply(0, "own", Makes(shout))
    assert docs.docs["text"].to_pylist() == ["A", "B"]


def test_a_step_that_fails_on_no_documents_is_refused_with_its_error():
    @dataclass(frozen=True)
    class Wrong:
        def reasons(self, docs):
            return None

    with pytest.raises(RecipeError, match=r"own: fails on an empty batch.*takes 2 positional arguments"):
        batch().apply(0, "own", Wrong())
