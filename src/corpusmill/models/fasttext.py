"""fastText classifiers, applied to Arrow's buffers.

The fastText library takes one Python string at a time and holds the GIL. This module reads the same model files
(`fasttext_file`) and computes the same labels with kernels that release it (`fasttext_score`).
"""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from corpusmill import assets
from corpusmill.models import fasttext_score as kernels
from corpusmill.models.fasttext_file import MAPPED_FROM, FastTextLoss, ModelFile, read_model
from corpusmill.text.array_types import Bytes, Float32s, Int32s, Int64s, UInt64s
from corpusmill.text.buffers import PAD, view
from corpusmill.text.compile import kernel
from corpusmill.text.sets import slots_for


@dataclass(frozen=True)
class FastText:
    """A supervised fastText model, `.bin` or `.ftz`, of any loss.

    labels   without the prefix `__label__`, in the model's order
    """

    labels: list[str]
    _model: kernels.ScorerModel

    @classmethod
    def load(cls, path: Path) -> "FastText":
        """Read a model and prepare it for scoring: 0.1 s for lid.176.ftz.

        Raises AssetError if the file is not a supervised fastText model, or is damaged.
        """
        file = read_model(path)
        return cls(file.labels, _prepare(file))

    def predict(self, texts: pa.LargeStringArray, k: int = 2) -> tuple[Int32s, Float32s]:
        """The k most likely labels of each text, the most likely first, with fastText's scores.

        texts     (documents,) large_string; null is a text without words
        returns   labels (documents, k) int32, positions in `labels`, -1 if there are fewer;
                  scores (documents, k) float32, 0 without a label

        A line break is a space here, as if the library were given the text with line breaks replaced; the end of the
        text, or a word "</s>" in it, is fastText's end of line. A text without words has no label; the library would
        label it by the end of the line alone. Hierarchical softmax returns no label with a score below 1e-5. Scores
        exceed the probability by some 1e-5, so a score may be 1.0001.
        """
        text = view(texts)
        return self.predict_spans(text.data, text.offsets[:-1], text.offsets[1:], k)

    def predict_spans(
        self, data: Bytes, first: Int64s, last: Int64s, k: int = 2, least: float = 0.0
    ) -> tuple[Int32s, Float32s]:
        """The same for the texts data[first[i]:last[i]], which must consist of whole UTF-8 characters.

        data    readable for PAD bytes after the last text
        least   labels with a lower score may be left out, which of hierarchical softmax takes less time
        """
        if k < 1:
            raise ValueError(f"k must be 1 or more, got {k}")
        labels = np.empty((len(first), k), np.int32)
        scores = np.empty((len(first), k), np.float32)
        _predict(data, first, last, self._model, k, least, labels, scores)
        return labels, scores


@kernel
def _predict(
    data: Bytes,
    first: Int64s,
    last: Int64s,
    model: kernels.ScorerModel,
    k: int,
    least: float,
    labels: Int32s,
    scores: Float32s,
) -> None:
    """Write the k most likely labels of each text data[first[i]:last[i]], the most likely first.

    data          uint8
    first, last   (texts,) int64
    least         score of a label that is wanted: of hierarchical softmax others may be left out
    labels        (texts, k) int32, written: -1 if there are fewer
    scores        (texts, k) float32, written: 0 if there are fewer

    A text without words has no label. Equal scores keep the order of the labels in the model, or in hierarchical
    softmax that of the tree.
    """
    dim = model.words.shape[1]
    hidden = np.empty(dim, np.float32)
    scratch = kernels.make_scratch(model)
    node = np.empty(model.labels + 1, np.int32)
    score = np.empty(model.labels + 1, np.float32)
    for i in range(len(first)):
        labels[i, :] = kernels.NO_LABEL
        scores[i, :] = 0
        features = kernels.embed(data, first[i], last[i], model, hidden, scratch)
        if features == 0:
            continue
        share = np.float32(1.0 / features)
        for d in range(dim):
            hidden[d] *= share
        if model.loss == kernels.HIERARCHICAL:
            kernels.descend(model, hidden, k, least, labels[i], scores[i], node, score)
        else:
            kernels.outputs(model, hidden, score)
            for label in range(model.labels):
                kernels.keep(label, score[label], k, labels[i], scores[i])
            for j in range(min(k, model.labels)):
                scores[i, j] = kernels.log(scores[i, j])
        for j in range(k):
            if labels[i, j] != kernels.NO_LABEL:
                # Every score is some 1e-5 too high, as in fastText: a certain label has 1.00001 or more.
                scores[i, j] = np.exp(scores[i, j])


def _prepare(file: ModelFile) -> kernels.ScorerModel:
    entries = len(file.start)
    keys, entry_of_slot = np.zeros(slots_for(entries), np.uint64), np.full(slots_for(entries), -1, np.int32)
    content = np.concatenate([file.content, np.zeros(PAD, np.uint8)])
    kernels.fill_slots(keys, entry_of_slot, content, file.start, file.end)
    rows, bitmap, before = _kept_rows(file)
    words = file.input[: file.words]
    # Adding a word's n-grams to its row pays off if the sums fit in the memory of each worker; lid.176's take 0.5 MB.
    merged = file.maxn <= 0 or words.size * 4 <= MAPPED_FROM
    hierarchical = file.loss is FastTextLoss.HIERARCHICAL
    children = _huffman(file.counts) if hierarchical else np.zeros((0, 2), np.int32)
    model = kernels.ScorerModel(
        keys=_frozen(keys),
        entries=_frozen(entry_of_slot),
        content=_frozen(content),
        start=_frozen(file.start),
        end=_frozen(file.end),
        words=_own(words),
        features=_frozen(np.ones(file.words, np.int64)),
        ngrams=_own(file.input[file.words :] if rows is None else file.input[rows]),
        kept=_frozen(bitmap),
        before=_frozen(before),
        output=_own(file.output) if hierarchical else _frozen(np.ascontiguousarray(file.output.T)),
        children=_frozen(children),
        sigmoid=_frozen(_sigmoid()),
        labels=len(file.labels),
        loss=int(file.loss),
        bucket=file.bucket,
        inverse=np.uint64(((1 << 64) // file.bucket + 1) % (1 << 64)),
        share=np.uint64((1 << 32) // file.bucket),
        minn=file.minn,
        maxn=file.maxn,
        word_ngrams=max(file.word_ngrams, 1),
        whole=merged,
        gain=np.float32(kernels.FLOOR * _height(children)),
    )
    if file.maxn <= 0 or not merged:
        return model
    sums, features = words.copy(), np.empty(file.words, np.int64)
    kernels.gather_words(model, file.words, sums, features)
    return model._replace(words=_frozen(sums), features=_frozen(features))


def _kept_rows(file: ModelFile) -> tuple[Int64s | None, UInt64s, Int64s]:
    """The rows of the input matrix with the n-grams that pruning kept, by bucket; a bit map of these buckets, and how
    many bits are set before each 64."""
    if file.buckets is None:
        return None, np.zeros(0, np.uint64), np.zeros(0, np.int64)
    order = np.argsort(file.buckets)
    buckets = file.buckets[order].astype(np.int64)
    bitmap = np.zeros(file.bucket // 64 + 1, np.uint64)
    np.bitwise_or.at(bitmap, buckets >> 6, np.uint64(1) << (buckets & 63).astype(np.uint64))
    before = np.searchsorted(buckets, np.arange(len(bitmap)) * 64).astype(np.int64)
    return file.words + file.rows[order].astype(np.int64), bitmap, before


def _huffman(counts: Int64s) -> Int32s:
    """(labels - 1, 2) int32: the children of each inner node of the tree that fastText builds from label counts.

    Labels are sorted by decreasing count. Of two equal counts the inner node is taken before the label.
    """
    labels = len(counts)
    weight = [*counts.tolist(), *[10**15] * (labels - 1)]  # fastText's weight of nodes that are not built yet
    children = np.empty((labels - 1, 2), np.int32)
    leaf, node = labels - 1, labels
    for i in range(labels - 1):
        for side in (0, 1):
            if leaf >= 0 and weight[leaf] < weight[node]:
                children[i, side] = leaf
                leaf -= 1
            else:
                children[i, side] = node
                node += 1
        weight[labels + i] = weight[children[i, 0]] + weight[children[i, 1]]
    return children


def _height(children: Int32s) -> int:
    """The most branches between the root and a label."""
    labels = len(children) + 1
    height = [0] * (2 * labels - 1)
    for i, (left, right) in enumerate(children.tolist()):
        height[labels + i] = 1 + max(height[left], height[right])
    return height[-1]


def _sigmoid() -> Float32s:
    """fastText's table of 512 steps over [-8, 8]."""
    x = (np.arange(513) * 16 / 512 - 8).astype(np.float32)
    return (1.0 / (1.0 + np.exp(-x)).astype(np.float64)).astype(np.float32)


def _own(matrix: Float32s) -> Float32s:
    """An aligned copy of a small matrix; a large one stays in the mapped file, whose pages processes share."""
    if matrix.nbytes > MAPPED_FROM and not matrix.flags.writeable:
        return matrix
    return _frozen(np.array(matrix, np.float32, order="C"))


def _frozen(array: NDArray) -> NDArray:  # type: ignore[type-arg]
    array.flags.writeable = False
    return array


def warm_up() -> None:
    """Compile this file and `fasttext_score`."""
    assets.load("lid.176.ftz", FastText.load).predict(pa.array(["a"], pa.large_string()))
