"""The dropped documents of a unit as a table, and which of them have their text in it.

Columns: those of documents as passes store them, with the text that came to the step that dropped each, or null;
`dropped_by` and `reasons`; `bytes`, those of this text, stored or not.

Where texts stay in the files of the pass before (see `texts_in_place`), all of them are there, and none is here.
Of a sample, the text of a document is stored

    - if it is one of the first EXAMPLES of the unit that are dropped for its first reason, so that no reason is without
    - or if its id is below the bound of the unit. An id is a hash, so these are drawn at random, and the documents of a
      run below the lowest bound of all units are a random sample of it, kept and dropped ones alike. The bound halves
      whenever more than SAMPLED texts below it are stored: a unit that drops fewer stores them all
"""

from collections import Counter
from collections.abc import Mapping, Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from corpusmill.engine.work.batch import KEPT, Batch
from corpusmill.schema import COUNTED

EXAMPLES, SAMPLED = 8, 512
STORED_TEXT = COUNTED.get_field_index("text")
DIGITS = 8  # of a bound
EVERY_ID = "g"  # is greater than each digit
BELOW = "texts_below"  # the note of the bound; there is none if all texts are stored


class ChosenTexts:
    """Chooses the documents of a unit whose text is stored, in the order in which they were read.

    which   "all", "none" or "sample"
    """

    def __init__(self, which: str) -> None:
        self._which = which
        self._below = EVERY_ID if which != "none" else ""
        self._halved = 0
        self._stored: list[str] = []  # the ids below the bound
        self._seen: Counter[str] = Counter()  # first reason -> documents

    def choose(self, ids: pa.Array, reasons: pa.Array) -> NDArray[np.bool_]:
        """(documents,) which of these dropped documents; those of the unit come in order, in whatever batches."""
        chosen = np.full(len(ids), self._which == "all")
        if self._which != "sample" or not len(ids):
            return chosen
        coded = pc.list_element(pc.split_pattern(reasons, ",", max_splits=1), 0).dictionary_encode()
        code = coded.indices.to_numpy()
        for at, reason in enumerate(coded.dictionary.to_pylist()):
            rows = np.flatnonzero(code == at)
            chosen[rows[: max(EXAMPLES - self._seen[reason], 0)]] = True
            self._seen[reason] += len(rows)
        for row in pc.indices_nonzero(pc.less(ids, pa.scalar(self._below, pa.string()))).to_pylist():
            name = ids[row].as_py()
            if name < self._below:
                chosen[row] = True
                self._stored.append(name)
                while len(self._stored) > SAMPLED:
                    self._halve()
        return chosen

    def _halve(self) -> None:
        self._halved += 1
        bound = 16**DIGITS >> self._halved
        self._below = f"{bound:0{DIGITS}x}" if bound else ""
        self._stored = [id for id in self._stored if id < self._below]

    @property
    def notes(self) -> dict[str, str]:
        """What a report must know of the unit: the texts of all dropped documents with a lesser id are stored."""
        return {} if self._below == EVERY_ID else {BELOW: self._below}


def dropped_rows(
    parts: Sequence[Batch],
    stored: Sequence[pa.RecordBatch],
    verdicts: Sequence[Mapping[str, pa.Array]],
    chosen: ChosenTexts,
) -> pa.RecordBatch:
    """The dropped documents of a batch, in order.

    parts      the batch, and what has left it
    stored     of each part, the documents as passes store them, with whatever text
    verdicts   and `dropped_by` and `reasons`
    """
    own = [np.flatnonzero(part.dropped != KEPT) for part in parts]
    rows = [part.rows[these] for part, these in zip(parts, own)]
    table = in_order([_about(*part_columns) for part_columns in zip(parts, stored, verdicts, own)], rows)
    if parts[0].beside is not None:  # all texts are in the files of the pass before
        return table
    order = np.argsort(np.concatenate(rows))
    is_chosen = np.empty(len(order), bool)  # in the order of the parts
    is_chosen[order] = chosen.choose(table["id"], table["reasons"])
    starts = np.cumsum([0, *map(len, own)])
    texts = [_texts(part, these, is_chosen[start:]) for part, these, start in zip(parts, own, starts.tolist())]
    text = pa.concat_arrays(texts).take(pa.array(order))
    return table.add_column(STORED_TEXT, COUNTED.field("text"), text)


def _about(
    part: Batch, stored: pa.RecordBatch, verdicts: Mapping[str, pa.Array], rows: NDArray[np.int64]
) -> pa.RecordBatch:
    """All but the text of these rows."""
    these = pa.array(rows)
    table = (stored if part.beside is not None else stored.remove_column(STORED_TEXT)).take(these)
    for name, column in verdicts.items():
        table = table.append_column(name, column.take(these))
    return table.append_column("bytes", pa.array(part.sizes_of_dropped(rows)))


def _texts(part: Batch, rows: NDArray[np.int64], is_chosen: NDArray[np.bool_]) -> pa.Array:
    """(rows,) the texts of the chosen rows, null for the others."""
    stored = is_chosen[: len(rows)]
    index = np.cumsum(stored) - 1
    return part.dropped_texts(rows[stored]).take(pa.array(index, mask=~stored))


def in_order(tables: Sequence[pa.RecordBatch], rows: Sequence[NDArray[np.int64]]) -> pa.RecordBatch:
    """The rows of several tables as one, sorted. Columns that a table does not have are null there.

    rows   one (rows,) a table: the place of each
    """
    if len(tables) == 1:
        return tables[0]
    merged = pa.concat_tables([pa.Table.from_batches([table]) for table in tables], promote_options="default")
    ordered = merged.take(pa.array(np.argsort(np.concatenate(rows))))
    columns = [pa.concat_arrays(column.chunks) if column.num_chunks else column.combine_chunks() for column in ordered]
    return pa.RecordBatch.from_arrays(columns, schema=merged.schema)
