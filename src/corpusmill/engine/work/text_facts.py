"""How long documents are and how many of them are damaged, as they come in and as they go out: facts of the units of
the first and the last pass.

    facts["texts"][side][source] = {
        "documents", "chars", "words",                  sums
        "markup", "code", "space", "encoding",          documents with each; see `text.integrity`
        "chars_by", "words_by",                         bin -> documents; see `LENGTHS`
    }

`side` is "input" or "output". The shortest and the longest cannot be summed: they are the note `texts_<side>` of each
unit, "chars,chars,words,words", empty of no documents.
"""

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from corpusmill.store.facts import Facts, merge
from corpusmill.text.integrity import INTEGRITY_FLAGS, integrity

FACTS = "texts"
COUNTED = ("chars", "words")
PER_OCTAVE = 8
# The least length in each bin: 0, 1, 2, …, and from 8 on eight bins per octave. The last one has no end.
LENGTHS = np.ceil(2 ** (np.arange(31 * PER_OCTAVE) / PER_OCTAVE) - 1e-9).astype(np.int64)
LENGTHS = np.concatenate([[0], LENGTHS[np.diff(LENGTHS, prepend=0) > 0]])


class TextFacts:
    """Counts the texts of a unit on one side: measures of batches in, facts and a note out, once at the end."""

    def __init__(self, side: str) -> None:
        self.side = side
        self._measured: list[tuple[pa.Array, NDArray[np.void]]] = []

    def add(self, sources: pa.Array, measured: NDArray[np.void]) -> None:
        """sources   (documents,) string; measured (documents,) MEASURED: 40 bytes a document are kept"""
        self._measured.append((sources.dictionary_encode(), measured))

    def finish(self, facts: Facts) -> tuple[str, str]:
        """Add the counts to the facts of the unit; returns name and value of the note of the shortest and longest."""
        values = np.concatenate([measured for _, measured in self._measured])
        names = pa.chunked_array([coded for coded, _ in self._measured]).unify_dictionaries().combine_chunks()
        codes = names.indices.to_numpy(zero_copy_only=False)
        by_source = {name: _counts(values[codes == code]) for code, name in enumerate(names.dictionary.to_pylist())}
        merge(facts, {FACTS: {self.side: by_source}})
        ends = [int(end) for name in COUNTED if len(values) for end in (values[name].min(), values[name].max())]
        return f"{FACTS}_{self.side}", ",".join(map(str, ends))


def _counts(measured: NDArray[np.void]) -> Facts:
    counts: Facts = {"documents": len(measured)}
    counts |= {name: int(measured[name].sum()) for name in (*COUNTED, *INTEGRITY_FLAGS)}
    for name in COUNTED:
        times = np.bincount(np.searchsorted(LENGTHS, measured[name], "right") - 1)
        counts[f"{name}_by"] = {str(at): int(times[at]) for at in np.flatnonzero(times).tolist()}
    return counts


def measure_again(first: pa.Array, last: pa.Array, measured: NDArray[np.void]) -> NDArray[np.void]:
    """(documents,) MEASURED of the texts `last`, of which most may equal `first`, whose measures are known."""
    changed = pc.fill_null(pc.not_equal(first, last), True)
    if not pc.any(changed).as_py():
        return measured
    updated = measured.copy()
    updated[np.flatnonzero(changed.to_numpy(zero_copy_only=False))] = integrity(last.filter(changed))
    return updated
