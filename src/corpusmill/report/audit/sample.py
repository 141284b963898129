"""What a run does not record, measured on a sample of its output."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from corpusmill.report import samples
from corpusmill.report.tables import RunTables
from corpusmill.steps.personal_data import NAMED, find
from corpusmill.text.buckets import candidates, distinct, jaccard, shared
from corpusmill.text.fold import fold
from corpusmill.text.shingles import shingle_hashes
from corpusmill.text.sketch import band_keys, sketch

NGRAM, BANDS, ROWS, THRESHOLD = 5, 16, 7, 0.8  # as dedup/minhash has by default
OPENING = 8  # words at the beginning of a document that a template gives; every number is the same word
# Names of elements alone: "a < b" and "<your name>" are no markup.
TAG = (
    r"(?i)</?(?:a|abbr|b|body|br|button|center|dd|div|dl|dt|em|font|footer|form|h[1-6]|head|header|hr|html|i|iframe|img|"
    r"input|li|link|meta|nav|ol|option|p|script|section|select|small|span|strong|style|table|tbody|td|th|title|tr|ul)"
    r"(?:\s[^<>]*)?/?>|&(?:nbsp|amp|lt|gt|quot|#[0-9]{1,7}|#x[0-9a-f]{1,6});"
)


@dataclass(frozen=True)
class Sample:
    """Documents of the output, those with the smallest ids.

    ids, texts   (documents,) of each
    """

    ids: tuple[str, ...]
    texts: pa.LargeStringArray

    def named(self, which: NDArray[np.bool_], most: int = 3) -> tuple[str, ...]:
        """The ids of the first few of these."""
        return tuple(self.ids[i] for i in np.flatnonzero(which)[:most].tolist())


def sample(tables: RunTables, n: int) -> Sample:
    entries = samples.kept(tables, n)
    return Sample(tuple(entry["id"] for entry in entries), pa.array([e["text"] for e in entries], pa.large_string()))


def has_markup(texts: pa.LargeStringArray) -> NDArray[np.bool_]:
    """(documents,) whether tags or entities of HTML are in a text. The only place that says what residual markup is."""
    found: NDArray[np.bool_] = pc.match_substring_regex(texts, TAG).to_numpy(zero_copy_only=False)
    return found


def personal_data(texts: pa.LargeStringArray) -> dict[str, NDArray[np.bool_]]:
    """kind -> (documents,) which of them have personal data of the kind, as redact/pii finds it. Without postal
    addresses: in a crawl most are those of offices and shops."""
    data = find(texts, tuple(kind for kind in NAMED if kind != "address"), public_only=True)
    has = {}
    for number, kind in enumerate(data.kinds):
        has[kind] = np.zeros(len(texts), bool)
        has[kind][data.spans[data.spans[:, 1] == number, 0]] = True
    return has


def duplicates(texts: pa.LargeStringArray) -> NDArray[np.bool_]:
    """(documents,) which of them are near-duplicates of an earlier one: exact Jaccard similarity of their 5-grams at
    least 0.8, of pairs that meet in a band. Documents without words are duplicates of none."""
    hashes, offsets = shingle_hashes(fold(texts), NGRAM)
    result = np.zeros(len(texts), bool)
    filled = np.flatnonzero(np.diff(offsets))
    if len(filled) < 2:
        return result
    lanes = sketch(hashes, offsets, BANDS * ROWS)
    bucket, buckets = shared(band_keys(lanes, BANDS)[filled].ravel())
    met = np.flatnonzero(bucket >= 0)
    document = np.repeat(filled, BANDS)[met].astype(np.int64)
    short = (lanes & np.uint64(0xFFFF)).astype(np.uint16)
    earlier, later, _ = candidates(bucket[met], buckets, document, short, THRESHOLD / 2, 1.01)
    sets, edges = distinct(hashes, offsets)
    similarity = jaccard(document[earlier], document[later], sets, edges)
    result[document[later][similarity >= THRESHOLD]] = True
    return result


def one_template(texts: pa.LargeStringArray) -> NDArray[np.bool_]:
    """(documents,) which of them begin with the opening that most begin with: its first words, whatever the numbers,
    case and punctuation. None, if no two begin alike."""
    openings = [" ".join(text.split(" ", OPENING)[:OPENING]) for text in fold(texts).to_pylist()]
    names, number, count = np.unique(np.array(openings, object), return_inverse=True, return_counts=True)
    count = np.where(names == "", 0, count)
    if not len(count) or count.max() < 2:
        return np.zeros(len(texts), bool)
    most: NDArray[np.bool_] = number == int(np.argmax(count))
    return most


def any_of(each: Sequence[NDArray[np.bool_]], documents: int) -> NDArray[np.bool_]:
    result = np.zeros(documents, bool)
    for one in each:
        result |= one
    return result
