"""The index of a run's texts, to find passages in them: made in units of 64 MB of text, in a folder of its own."""

from collections.abc import Sequence
from dataclasses import dataclass

import pyarrow as pa

from corpusmill.engine.plan.plan import RunPlan
from corpusmill.engine.work.pass_documents import read_documents
from corpusmill.engine.work.text_files import UnitPart, text_files
from corpusmill.recipe.model import Recipe
from corpusmill.store.run_folder import RunFolder
from corpusmill.store.unit_io import UnitIO, Upstream
from corpusmill.store.units import Resources, Results
from corpusmill.store.work import PlannedUnit, Stage
from corpusmill.text.suffixes import index, joined

STAGE = "text-index"
INDEX, DOCUMENTS = "index", "documents"  # outputs of a unit
BLOCK_MB = 64  # megabytes of text in a unit, roughly: a row group of up to 32 MiB more
INDEX_ROWS = 1024  # documents in memory at a time, beside the text of the unit
ORIGIN_COLUMNS = ("id", "source", "url", "file", "position")


@dataclass(frozen=True)
class TextPart:
    """Row groups [first, stop) of a file of documents, whose texts are in the same file or in another one.

    docs, texts   full names
    """

    docs: str
    texts: str
    first: int
    stop: int


@dataclass(frozen=True)
class TextBlock:
    """What a unit indexes."""

    parts: tuple[TextPart, ...]


@dataclass(frozen=True)
class IndexTexts:
    """Sorts the suffixes of a block of texts."""

    def run(self, inputs: TextBlock, io: UnitIO) -> None:
        texts: list[bytes] = []
        about: list[pa.RecordBatch] = []
        for part in inputs.parts:
            columns = [*ORIGIN_COLUMNS, "text"]
            for batch in read_documents(io, part.docs, part.texts, columns, INDEX_ROWS, range(part.first, part.stop)):
                texts += [text.encode() for text in batch["text"].to_pylist()]
                about.append(batch.select(ORIGIN_COLUMNS))
        text, start = joined(texts)
        rows = len(texts)
        texts.clear()
        io.write_arrays(INDEX, rows, start=start, **index(text)._asdict())
        for batch in about or [_empty()]:
            io.write(DOCUMENTS, batch)


def _empty() -> pa.RecordBatch:
    kinds = {name: pa.int64() if name == "position" else pa.string() for name in ORIGIN_COLUMNS}
    return pa.RecordBatch.from_pydict({name: [] for name in ORIGIN_COLUMNS}, pa.schema(list(kinds.items())))


def index_plan(recipe: Recipe, run: RunFolder, last: Results, texts: Results) -> RunPlan:
    """The plan that indexes the documents of a run.

    run     whose documents
    last    of its last pass
    texts   of the pass that holds their texts; the same one, or an earlier one
    """
    blocks = [[_part(run, last, texts, part) for part in file.parts] for file in text_files(BLOCK_MB, last)]

    def units(upstream: Upstream) -> list[PlannedUnit]:
        return [_planned(block, last, texts) for block in blocks]

    needs = Resources(memory_mb=16 * BLOCK_MB)
    return RunPlan(recipe, (Stage(STAGE, IndexTexts(), (), units, needs),), (), ())


def _part(run: RunFolder, last: Results, texts: Results, part: UnitPart) -> tuple[UnitPart, TextPart]:
    docs, texts_file = (run.name_of(results["docs"].path(part.unit)) for results in (last, texts))
    return part, TextPart(docs, texts_file, part.first, part.stop)


def _planned(block: Sequence[tuple[UnitPart, TextPart]], last: Results, texts: Results) -> PlannedUnit:
    content: list[str] = []
    for part, _ in block:
        sums = (results["docs"].checksum(part.unit) for results in (last, texts))
        content += [*sums, str(part.first), str(part.stop)]
    return PlannedUnit(TextBlock(tuple(names for _, names in block)), tuple(content))
