"""What a batch has measured belongs to its texts as they are now."""

from typing import ClassVar

import pyarrow as pa
import pyarrow.compute as pc
import pytest

from conftest import docs
from corpusmill.engine.work.batch import Batch
from corpusmill.steps.measures import MEASURES

TEXTS = ("One two two.", "THREE three.\nthree.", "", "four 4 four four")


class Longer:
    """Changes every text, and fails on empty ones."""

    def transform(self, docs: pa.RecordBatch) -> pa.RecordBatch:
        if "" in docs["text"].to_pylist():
            raise ValueError("empty")
        place = docs.schema.get_field_index("text")
        text = pc.replace_substring(docs["text"], "t", "THE ")
        return docs.set_column(place, docs.schema.field("text"), text)


class Same:
    """A transform that leaves a signal and the texts as they were."""

    def transform(self, docs: pa.RecordBatch) -> pa.RecordBatch:
        return docs.append_column("seen", pa.array([True] * len(docs)))


class Fails:
    """Needs what is measured, and fails on empty texts."""

    needs: ClassVar[tuple[str, ...]] = ("stats",)

    def reasons(self, docs: pa.RecordBatch, signals: dict[str, pa.Array]) -> pa.Array:
        if "" in docs["text"].to_pylist():
            raise ValueError("empty")
        return pa.nulls(len(docs), pa.string())


@pytest.mark.parametrize(
    "steps", [[], [Same()], [Longer()], [Fails()], [Fails(), Same(), Longer()], [Longer(), Fails()]]
)
def test_measures_are_those_of_the_texts_whatever_steps_have_passed(steps):
    batch = Batch(docs(*TEXTS))
    for index, step in enumerate(steps):
        batch.needed("before", ("stats",))
        batch.apply(index, f"step{index}", step)
    for family, measure in MEASURES.items():
        assert batch.needed("after", (family,)) == measure(batch.docs)
