"""What was found in a batch, as signals: the best match of each document, all of them, and where they are."""

from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from corpusmill.steps.decontaminate._benchmarks import SHOWN, Benchmarks
from corpusmill.text.buffers import view
from corpusmill.text.folded_words import folded_words
from corpusmill.text.loosened import Loosened
from corpusmill.text.overlap import best_passages
from corpusmill.text.shapes import span_texts
from corpusmill.text.unicode import ALNUM, SPACE, SPECIAL, Classes, classes

HIT = pa.struct(
    [
        ("benchmark", pa.string()),
        ("item", pa.string()),
        ("overlap", pa.float64()),
        ("ngrams", pa.int32()),
        ("template", pa.int32()),
    ]
)
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
LONGEST_MARKS = 64  # bytes
AROUND = 20  # words before and after the passage


class Match(NamedTuple):
    """A passage of a text in which an item of a benchmark was found.

    start, stop   bytes of the text
    template      words of the item that were found in a template alone
    is_hit        whether the overlap is that of a hit; the best match is told in any case
    material      whether the benchmark is public text that is found and kept
    """

    benchmark: str
    item: str
    overlap: float
    start: int
    stop: int
    template: int
    is_hit: bool
    material: bool


def nothing_found(documents: int) -> dict[str, pa.Array]:
    empty = {name: pa.nulls(documents, kind) for name, kind in SIGNALS.items()}
    return empty | {"overlap": pa.array(np.zeros(documents))}


def columns(text: Loosened, items: Benchmarks, passages: NDArray[Any], min_overlap: float) -> dict[str, pa.Array]:
    """The signals of a batch from the passages in it; `min_overlap` is that of a hit."""
    public = items.material[passages["item"]]
    material = _hits(passages[public], items, min_overlap)[0]
    hits, shown, overlap = _hits(passages[~public], items, min_overlap)
    documents, first, end = shown["document"], shown["first"], np.minimum(shown["end"], shown["first"] + SHOWN)
    # In one call: to find the words of the documents takes most of the time.
    starts, stops = np.concatenate([first - AROUND, first, end]), np.concatenate([first, end, end + AROUND])
    around = span_texts(text.before, *places(text, np.tile(shown, 3), starts, stops).T).cast(pa.string())
    row = np.full(len(text.texts), -1)  # of each document in the arrays of best matches; -1 becomes null
    row[documents] = np.arange(len(documents))
    at = pa.array(row, mask=row < 0)
    item = pa.array(shown["item"], pa.int32()).take(at)
    evidence = {
        "benchmark": items.benchmark.take(item),
        "item": items.id.take(item),
        "asked": items.asked.take(item),
    }
    for number, name in enumerate(("before", "passage", "after")):
        evidence[name] = around.slice(number * len(shown), len(shown)).take(at)
    score = np.zeros(len(text.texts))
    score[documents] = overlap
    return {
        "overlap": pa.array(score),
        **evidence,
        "hits": _listed(hits, items, len(text.texts)),
        "material": _listed(material, items, len(text.texts)),
    }


def matches(text: Loosened, items: Benchmarks, passages: NDArray[Any], min_overlap: float) -> list[Match]:
    """The passages behind the signals of one document, which is all of `text`: the best of each item that is a hit, and
    the best of all, if it is none. Arguments as of `columns`."""
    public = items.material[passages["item"]]
    listed = []
    for material, own in ((False, passages[~public]), (True, passages[public])):
        if not len(own):
            continue
        hits, shown, _ = _hits(own, items, min_overlap)
        is_hit = len(hits) > 0
        chosen = hits if is_hit else shown[: 0 if material else 1]
        where = places(text, chosen, chosen["first"], chosen["end"])[:, 1:].tolist()
        item_index = pa.array(chosen["item"], pa.int32())
        columns = (items.benchmark.take(item_index).to_pylist(), items.id.take(item_index).to_pylist())
        shares, templates = items.overlap(chosen).tolist(), chosen["template"].tolist()
        for benchmark, item, overlap, (start, stop), template in zip(*columns, shares, where, templates):
            listed.append(Match(benchmark, item, overlap, start, stop, template, is_hit, material))
    return listed


def _hits(
    passages: NDArray[Any], items: Benchmarks, min_overlap: float
) -> tuple[NDArray[Any], NDArray[Any], NDArray[np.float64]]:
    """The best passage of each item in each document whose overlap suffices, by document, the best first; the best
    of each document, however little that is, and its overlap."""
    overlap = items.overlap(passages)
    of_items, of_documents = best_passages(passages, overlap)
    enough = of_items[overlap[of_items] >= min_overlap]
    hits, share = passages[enough], overlap[enough]
    order = np.lexsort((hits["item"], -hits["covered"], -share, hits["document"]))
    return hits[order], passages[of_documents], overlap[of_documents]


def _listed(passages: NDArray[Any], items: Benchmarks, documents: int) -> pa.Array:
    """(documents,) list of HIT; null without any."""
    item = pa.array(passages["item"], pa.int32())
    values = [items.benchmark.take(item), items.id.take(item), pa.array(items.overlap(passages))]
    values += [pa.array(passages["grams"]), pa.array(passages["template"])]
    hits = pa.StructArray.from_arrays(values, fields=list(HIT))
    ends = np.searchsorted(passages["document"], np.arange(documents + 1))
    return pa.ListArray.from_arrays(pa.array(ends, pa.int32()), hits, mask=pa.array(ends[1:] == ends[:-1]))


def places(
    text: Loosened, passages: NDArray[Any], first: NDArray[np.int32], end: NDArray[np.int32]
) -> NDArray[np.int64]:
    """(passages, 3) document, first byte and end of the words [first, end) of each, as far as the document has them; 0
    and 0 of no words. Words are those of the loosened text, bytes those of the text before."""
    documents, row = np.unique(passages["document"], return_inverse=True)
    word_limits = np.zeros(len(documents), np.int64)
    np.maximum.at(word_limits, row, end)
    words, offsets = folded_words(text.texts.take(pa.array(documents)), word_limits)
    base, count = offsets[row], np.diff(offsets)[row]
    first, end = np.maximum(first, 0), np.minimum(end, count)
    is_span = first < end
    start = np.where(is_span, words[base + np.where(is_span, first, 0), 0], 0)
    stop = np.where(is_span, words[base + np.where(is_span, end, 1) - 1, 1], 0)
    document = passages["document"].astype(np.int64)
    return np.stack([document, *text.was(document, start, stop)], axis=1)


def with_marks(texts: pa.LargeStringArray, spans: NDArray[np.int64]) -> NDArray[np.int64]:
    """The spans (document, first byte, end) with the combining marks behind each: Thai vowel signs are in no word."""
    text, kinds, longer = view(texts), classes(), spans.copy()
    for span, (document, start, stop) in zip(longer, spans.tolist()):
        if start < stop:
            at, end = text.offsets[document] + stop, text.offsets[document + 1]
            span[2] += _marks(text.data[at : min(at + LONGEST_MARKS, end)].tobytes(), kinds)
    return longer


def _marks(data: bytes, kinds: Classes) -> int:
    """The bytes of the combining marks with which it begins."""
    size = 0
    for char in data.decode("utf-8", "ignore"):
        point = ord(char)
        kind = kinds.blocks[int(kinds.block_of[point >> 7]) << 7 | point & 127]
        if kind & (SPACE | ALNUM | SPECIAL):
            break
        size += len(char.encode())
    return size


def merged(spans: NDArray[np.int64]) -> NDArray[np.int64]:
    """The spans in order, as `replace_spans` takes them; those that touch or overlap are merged."""
    disjoint: list[list[int]] = []
    for document, start, stop in sorted(spans.tolist()):
        if disjoint and disjoint[-1][0] == document and start <= disjoint[-1][2]:
            disjoint[-1][2] = max(disjoint[-1][2], stop)
        else:
            disjoint.append([document, start, stop])
    return np.array(disjoint, np.int64).reshape(-1, 3)
