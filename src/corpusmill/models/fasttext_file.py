"""The file format of fastText models: `.bin`, and `.ftz` with product-quantised vectors.

A sequence of little-endian values (fastText's own save and load, format versions 11 and 12):

    magic 793712314, version                    int32 each
    dim ws epoch minCount neg wordNgrams loss model bucket minn maxn lrUpdateRate    int32 each; t float64
    entries words labels int32, tokens int64, pruned int64       pruned = -1: nothing was pruned
    per entry: spelling, a zero byte, count int64, type int8     0 is a word, 1 a label; words come first
    per kept bucket: bucket int32, row int32                     the buckets of character n-grams that pruning kept
    quantised bool, input matrix                                 a row per word, then a row per bucket
    quantised bool, output matrix                                a row per label, or per inner node of the Huffman tree

    dense matrix       rows int64, columns int64, float32 by rows
    quantised matrix   norms bool, rows int64, columns int64, codes int32, code bytes, quantiser,
                       and if norms: a code byte per row, quantiser
    quantiser          dim int32, parts int32, part int32, last part int32, float32[dim * 256] centroids
"""

import mmap
import struct
from dataclasses import dataclass
from enum import IntEnum
from pathlib import Path
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from corpusmill.errors import AssetError
from corpusmill.models.model_file import wrong_value
from corpusmill.text.array_types import Bytes, Float32s, Int32s, Int64s

FASTTEXT_MAGIC = 793712314
NEWEST = 12
OLD = 11  # its supervised models have no character n-grams, regardless of minn and maxn
SUPERVISED = 3
LABEL = "__label__"
CENTROIDS = 256  # a code is one byte
ENTRY_BYTES = 10  # of an entry of the dictionary, without its spelling
MAX_NGRAM = 100  # words or characters of an n-gram; models in use have 6 at most
MAX_KEPT_BUCKET = (
    1 << 28
)  # buckets of a pruned model, which takes a bit and a count of 64 for each; 2 million are usual
COUNTS_BELOW = 10**15  # what fastText takes for infinity when it builds the Huffman tree
# What quantised matrices may take: so many bytes, or so many for each byte of the file. A code stands for 8 mostly.
MAX_EXPANDED, EXPANDED_PER_BYTE = 512 << 20, 64

# Larger files are mapped, not read: worker processes share the pages and touch only the rows that they need.
MAPPED_FROM = 64 << 20  # bytes


T = TypeVar("T", bound=np.generic)


class FastTextLoss(IntEnum):
    HIERARCHICAL = 1
    NEGATIVE = 2
    SOFTMAX = 3
    ONE_VS_ALL = 4


@dataclass(frozen=True)
class ModelFile:
    """A supervised model as in its file, with quantised matrices expanded.

    content      (bytes of the file,) uint8
    start, end   (words + labels,) int64: spelling i is content[start[i]:end[i]]; words first, then labels
    counts       (labels,) int64: how often each label occurred in training
    buckets      (kept,) int32: the buckets that pruning kept, None if nothing was pruned
    rows         (kept,) int32: the row of each of them, counted from the last word
    input        (words + buckets, dim) float32
    output       (labels, dim) float32, or (labels - 1, dim) inner nodes; hierarchical softmax may have one row more
    """

    dim: int
    word_ngrams: int
    loss: FastTextLoss
    bucket: int
    minn: int
    maxn: int
    words: int
    labels: list[str]  # without the prefix __label__
    content: Bytes
    start: Int64s
    end: Int64s
    counts: Int64s
    buckets: Int32s | None
    rows: Int32s
    input: Float32s
    output: Float32s


def read_model(path: Path) -> ModelFile:
    """Read a supervised fastText model.

    Raises AssetError if the file is not one, is truncated, or belongs to an unsupervised or newer model.
    """
    reader = ModelReader(path)
    head = reader.header()
    entries = reader.dictionary(head)
    pruned_rows = reader.array(np.int32, 2 * max(head.pruned, 0)).reshape(-1, 2)
    quantised = bool(reader.numbers("?")[0])
    if head.pruned >= 0 and not quantised:
        raise AssetError(
            f"{path}: a pruned dictionary with a dense matrix; fastText refuses it too. Get the model again."
        )
    matrix = reader.matrix(quantised, head.dim)
    output_quantised = bool(reader.numbers("?")[0])  # some dense models write true, without a meaning
    output = reader.matrix(quantised and output_quantised, head.dim)
    model = ModelFile(
        dim=head.dim,
        word_ngrams=head.word_ngrams,
        loss=head.loss,
        bucket=head.bucket,
        minn=head.minn,
        maxn=head.maxn,
        words=head.words,
        labels=entries.labels,
        content=np.frombuffer(reader.content, np.uint8),
        start=entries.start,
        end=entries.end,
        counts=entries.counts,
        buckets=pruned_rows[:, 0] if head.pruned >= 0 else None,
        rows=pruned_rows[:, 1],
        input=matrix,
        output=output,
    )
    _check_shapes(path, model)
    return model


def read_labels(path: Path) -> list[str]:
    """The labels of a model without the prefix `__label__`, in the model's order. Does not read the vectors."""
    reader = ModelReader(path)
    return reader.dictionary(reader.header()).labels


@dataclass(frozen=True)
class Header:
    dim: int
    word_ngrams: int
    loss: FastTextLoss
    bucket: int
    minn: int
    maxn: int
    entries: int
    words: int
    labels: int
    pruned: int


@dataclass(frozen=True)
class DictionaryEntries:
    start: Int64s
    end: Int64s
    counts: Int64s
    labels: list[str]


class ModelReader:
    """Reads the parts of a model file in order."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.at = 0
        with path.open("rb") as file:
            large = path.stat().st_size > MAPPED_FROM
            self.content: bytes | mmap.mmap = (
                mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) if large else file.read()
            )

    def take(self, size: int) -> int:
        """Advance by `size` bytes and return where they begin."""
        if size < 0 or self.at + size > len(self.content):
            raise AssetError(
                f"{self.path}: ends at byte {len(self.content)}, in the middle of the model. Get the file again."
            )
        self.at += size
        return self.at - size

    def expect(self, name: str, value: int, least: int, most: int) -> None:
        """Raise AssetError unless a number that the file holds is one that a file of this length can have."""
        if not least <= value <= most:
            raise wrong_value(
                self.path, name, f"{value:,}", f"from {least:,} to {most:,}" if least < most else f"{least:,}"
            )

    def numbers(self, layout: str) -> tuple[int, ...]:
        return struct.unpack_from("<" + layout, self.content, self.take(struct.calcsize("<" + layout)))

    def array(self, dtype: type[T], count: int) -> NDArray[T]:
        """The next `count` items without a copy, so possibly unaligned."""
        size = count * np.dtype(dtype).itemsize
        return np.frombuffer(self.content, np.dtype(dtype).newbyteorder("<"), count, self.take(size))

    def header(self) -> Header:
        if len(self.content) < 8 or self.numbers("i")[0] != FASTTEXT_MAGIC:
            raise AssetError(f"{self.path}: not a fastText model (its first four bytes are not fastText's)")
        (version,) = self.numbers("i")
        if version not in (OLD, NEWEST):
            raise AssetError(f"{self.path}: fastText format {version}; this reads {OLD} and {NEWEST}")
        dim, _, _, _, _, word_ngrams, loss, model, bucket, minn, maxn, _, _ = self.numbers("12id")
        if model != SUPERVISED:
            raise AssetError(f"{self.path}: word vectors, not a classifier. Train it with `fasttext supervised`.")
        if loss not in tuple(FastTextLoss):
            raise AssetError(
                f"{self.path}: unknown loss {loss}; known are {', '.join(f'{x} {x.name}' for x in FastTextLoss)}"
            )
        entries, words, labels, _, pruned = self.numbers("3i2q")
        left = len(self.content) - self.at
        self.expect("the number of dimensions", dim, 1, left // 4)
        self.expect("the number of labels", labels, 1, left // ENTRY_BYTES)
        self.expect("the number of words", words, 0, left // ENTRY_BYTES - labels)
        self.expect("the number of entries of its dictionary", entries, words + labels, words + labels)
        self.expect("the number of buckets that pruning kept", pruned, -1, left // 8)
        self.expect("wordNgrams", word_ngrams, 0, MAX_NGRAM)
        self.expect("minn", minn, 0, MAX_NGRAM)
        self.expect("maxn", maxn, 0, MAX_NGRAM)
        if pruned >= 0:
            self.expect("the number of buckets", bucket, 0, MAX_KEPT_BUCKET)
        if bucket <= 0:  # without buckets there are no n-grams of either kind
            bucket, maxn, word_ngrams = 1, 0, 1
        if version == OLD:
            maxn = 0
        return Header(dim, word_ngrams, FastTextLoss(loss), bucket, minn, maxn, entries, words, labels, pruned)

    def dictionary(self, head: Header) -> DictionaryEntries:
        start = np.empty(head.entries, np.int64)
        end = np.empty(head.entries, np.int64)
        for i in range(head.entries):
            start[i] = self.at
            end[i] = stop = self.content.find(b"\0", self.at)
            if stop < 0:
                stop = len(self.content)
            self.take(stop - self.at + 1 + 9)  # the zero byte, the count and the type
        counts = [struct.unpack_from("<q", self.content, int(at) + 1)[0] for at in end[head.words :]]
        spelled = [self.content[a:b].decode("utf-8", "replace") for a, b in zip(start[head.words :], end[head.words :])]
        for label, count in zip(spelled, counts):
            self.expect(f"the count of {label[:40]}", count, 0, COUNTS_BELOW // head.labels)
        return DictionaryEntries(
            start, end, np.array(counts, np.int64), [label.removeprefix(LABEL) for label in spelled]
        )

    def matrix(self, quantised: bool, dim: int) -> Float32s:
        """The next matrix, of `dim` columns; in memory if it is quantised."""
        matrix = self.quantised_matrix(dim) if quantised else self.dense_matrix(dim)
        # Of a mapped matrix all would be read; what is not a number there does no harm but to scores.
        if len(self.content) <= MAPPED_FROM and not np.isfinite(matrix).all():
            raise wrong_value(self.path, "a number of a matrix", "infinite, or none", "finite")
        return matrix

    def shape(self, dim: int, row_bytes: float) -> int:
        """The rows of the next matrix."""
        rows, columns = self.numbers("2q")
        self.expect("the number of columns of a matrix", columns, dim, dim)
        self.expect("the number of rows of a matrix", rows, 0, int((len(self.content) - self.at) / row_bytes))
        return rows

    def dense_matrix(self, dim: int) -> Float32s:
        rows = self.shape(dim, 4 * dim)
        return self.array(np.float32, rows * dim).reshape(rows, dim)

    def quantised_matrix(self, dim: int) -> Float32s:
        (norms,) = self.numbers("?")
        rows = self.shape(dim, 1)
        (size,) = self.numbers("i")
        codes = self.array(np.uint8, size)
        if rows * dim * 4 > max(MAX_EXPANDED, EXPANDED_PER_BYTE * len(self.content)):
            most = f"at most {EXPANDED_PER_BYTE} for each byte of the file, and {MAX_EXPANDED >> 20} MiB of a small one"
            raise wrong_value(self.path, "the bytes that a quantised matrix takes in memory", rows * dim * 4, most)
        matrix = self.quantiser(codes, rows, dim)
        if norms:
            with np.errstate(over="ignore", invalid="ignore"):  # what is not finite then is refused
                matrix *= self.quantiser(self.array(np.uint8, rows), rows, 1)
        return matrix

    def quantiser(self, codes: Bytes, rows: int, columns: int) -> Float32s:
        """Each row assembled from the centroids of its codes."""
        dim, parts, part, last = self.numbers("4i")
        self.expect("the number of columns of a quantiser", dim, columns, columns)
        self.expect("the number of parts of a quantiser", parts, 1, dim)
        self.expect("the columns of a part of a quantiser", part, 1, dim)
        self.expect("the columns of the last part of a quantiser", last, 1, part)
        self.expect("the sum of the columns of the parts of a quantiser", (parts - 1) * part + last, dim, dim)
        self.expect("the number of codes of a quantised matrix", len(codes), rows * parts, rows * parts)
        centroids = self.array(np.float32, dim * CENTROIDS)
        codes = codes.reshape(rows, parts)
        matrix = np.empty((rows, dim), np.float32)
        for i in range(parts):
            width = part if i < parts - 1 else last
            first = i * part
            book = centroids[first * CENTROIDS :][: width * CENTROIDS].reshape(CENTROIDS, width)
            matrix[:, first : first + width] = book[codes[:, i]]
        return matrix


def _check_shapes(path: Path, model: ModelFile) -> None:
    """Every row that scoring may read must exist: kernels do not check bounds."""
    ngrams = model.bucket if model.buckets is None else len(model.buckets)
    needs_ngrams = model.maxn > 0 or model.word_ngrams > 1
    rows = model.words + (ngrams if needs_ngrams else 0)
    outputs = len(model.labels) - (model.loss is FastTextLoss.HIERARCHICAL)
    bounds = [] if model.buckets is None else [(model.rows, ngrams), (model.buckets, model.bucket)]
    fits = (
        model.input.shape[0] >= rows
        and model.input.shape[1] == model.dim
        and model.output.shape[0] >= outputs
        and model.output.shape[1] == model.dim
        and all(at.min() >= 0 and at.max() < limit for at, limit in bounds if len(at))
    )
    if not fits:
        raise AssetError(
            f"{path}: matrices of {model.input.shape} and {model.output.shape} do not fit {model.words} words, "
            f"{ngrams} buckets, {len(model.labels)} labels and {model.dim} dimensions. Get the file again."
        )
