"""What was found in a batch, as signals: the best match of each document, all of them, and where they are."""

from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from corpusmill.steps.decontaminate._benchmarks import Benchmarks
from corpusmill.text.buffers import view
from corpusmill.text.folded_words import folded_words

HIT = pa.struct([("benchmark", pa.string()), ("item", pa.string()), ("overlap", pa.float64()), ("ngrams", pa.int32())])
SIGNALS = {
    "overlap": pa.float64(),
    "benchmark": pa.string(),
    "item": pa.string(),
    "asked": pa.string(),
    "before": pa.string(),
    "passage": pa.string(),
    "after": pa.string(),
    "hits": pa.list_(HIT),
    "material": pa.list_(HIT),
}
SHOWN = 60  # words of the passage and of the question, kept as evidence
AROUND = 20  # words before and after the passage


def nothing_found(documents: int) -> dict[str, pa.Array]:
    empty = {name: pa.nulls(documents, kind) for name, kind in SIGNALS.items()}
    return empty | {"overlap": pa.array(np.zeros(documents))}


def columns(text: pa.LargeStringArray, items: Benchmarks, passages: NDArray[Any], least: float) -> dict[str, pa.Array]:
    """The signals of a batch from the passages in it; `least` is the overlap of a hit."""
    public = items.material[passages["item"]]
    material = _best(passages[public], items)
    passages = _best(passages[~public], items)
    overlap = items.overlap(passages)
    documents, best = np.unique(passages["document"], return_index=True)
    shown = passages[best]
    first, end = shown["first"], np.minimum(shown["end"], shown["first"] + SHOWN)
    # In one call: to find the words of the documents takes most of the time.
    starts, stops = np.concatenate([first - AROUND, first, end]), np.concatenate([first, end, end + AROUND])
    around = texts_at(text, places(text, np.tile(shown, 3), starts, stops))
    row = np.full(len(text), -1)  # of each document in the arrays of best matches; -1 becomes null
    row[documents] = np.arange(len(documents))
    at = pa.array(row, mask=row < 0)
    named = pa.array(shown["item"], pa.int32())
    asked = [" ".join(question.split()[:SHOWN]) for question in items.question.take(named).to_pylist()]
    found = {
        "benchmark": items.benchmark.take(named),
        "item": items.id.take(named),
        "asked": pa.array(asked, pa.string()),
    }
    for number, name in enumerate(("before", "passage", "after")):
        found[name] = pa.array(around[number * len(shown) : (number + 1) * len(shown)], pa.string())
    score = np.zeros(len(text))
    score[documents] = overlap[best]
    return {
        "overlap": pa.array(score),
        **{name: found[name].take(at) for name in SIGNALS if name in found},
        "hits": _listed(passages[overlap >= least], items, len(text)),
        "material": _listed(material[items.overlap(material) >= least], items, len(text)),
    }


def _best(passages: NDArray[Any], items: Benchmarks) -> NDArray[Any]:
    """The best passage of each item in each document, by document, the best first."""
    document, item, overlap = passages["document"], passages["item"], items.overlap(passages)
    order = np.lexsort((passages["first"], -passages["grams"], item, -passages["covered"], -overlap, document))
    pairs = document[order].astype(np.int64) << 32 | item[order]
    _, first_of_pair = np.unique(pairs, return_index=True)
    best: NDArray[Any] = passages[order[np.sort(first_of_pair)]]
    return best


def _listed(passages: NDArray[Any], items: Benchmarks, documents: int) -> pa.Array:
    """(documents,) list of HIT; null without any."""
    named = pa.array(passages["item"], pa.int32())
    values = [items.benchmark.take(named), items.id.take(named), pa.array(items.overlap(passages))]
    hits = pa.StructArray.from_arrays([*values, pa.array(passages["grams"])], fields=list(HIT))
    ends = np.searchsorted(passages["document"], np.arange(documents + 1))
    return pa.ListArray.from_arrays(pa.array(ends, pa.int32()), hits, mask=pa.array(ends[1:] == ends[:-1]))


def places(
    text: pa.LargeStringArray, passages: NDArray[Any], first: NDArray[np.int32], end: NDArray[np.int32]
) -> NDArray[np.int64]:
    """(passages, 3) document, first byte and end of the words [first, end) of each, as far as the document has them; 0
    and 0 of no words."""
    documents, row = np.unique(passages["document"], return_inverse=True)
    words, offsets = folded_words(text.take(pa.array(documents)))
    base, count = offsets[row], np.diff(offsets)[row]
    first, end = np.maximum(first, 0), np.minimum(end, count)
    some = first < end
    start = np.where(some, words[base + np.where(some, first, 0), 0], 0)
    stop = np.where(some, words[base + np.where(some, end, 1) - 1, 1], 0)
    return np.stack([passages["document"].astype(np.int64), start, stop], axis=1)


def texts_at(text: pa.LargeStringArray, spans: NDArray[np.int64]) -> list[str]:
    """The text of each of the spans: document, first byte, end."""
    data, offsets = view(text)
    return [data[offsets[d] + start : offsets[d] + stop].tobytes().decode() for d, start, stop in spans.tolist()]


def merged(spans: NDArray[np.int64]) -> NDArray[np.int64]:
    """The spans in order, as `replace_spans` takes them; those that touch or overlap are merged."""
    disjoint: list[list[int]] = []
    for document, start, stop in sorted(spans.tolist()):
        if disjoint and disjoint[-1][0] == document and start <= disjoint[-1][2]:
            disjoint[-1][2] = max(disjoint[-1][2], stop)
        else:
            disjoint.append([document, start, stop])
    return np.array(disjoint, np.int64).reshape(-1, 3)
