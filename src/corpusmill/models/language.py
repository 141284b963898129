"""Language identification: a fastText model over a few windows of the text."""

from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from corpusmill import assets
from corpusmill.errors import RecipeError
from corpusmill.models.fasttext import FastText
from corpusmill.models.fasttext_file import read_labels
from corpusmill.text.buffers import view
from corpusmill.text.compile import kernel
from corpusmill.text.lowlevel import count_bits, load8
from corpusmill.text.simd import between, masks

LID_176 = "lid.176.ftz"  # Joulin et al. 2016, arXiv:1612.03651: 176 languages, the model of CCNet and FineWeb
NAMED = 4  # labels per window: all further ones share less than a fifth, and mostly less than .01

continuations = masks(between(0x80, 0xBF))


@dataclass(frozen=True, kw_only=True)
class Identifier:
    """Identifies the language of each text.

    A text of at most `windows` x `window_chars` characters is read whole. Of a longer one, `windows` windows of
    `window_chars` characters are read, at equal distances from `offset`, a share of its bytes, to the end, and the
    scores of each language are averaged over the windows that contain words.
    """

    model: str = LID_176
    windows: int = 3
    window_chars: int = 1000
    offset: float = 0.0

    def __post_init__(self) -> None:
        if self.windows < 1 or self.window_chars < 1:
            raise RecipeError(
                f"need windows >= 1 and window_chars >= 1, got windows={self.windows}, window_chars={self.window_chars}"
            )
        if not 0 <= self.offset <= 1:
            raise RecipeError(f"offset is a share of the document, from 0 to 1, got {self.offset}")
        assets.locate(self.model)

    def labels(self) -> list[str]:
        """The languages of the model. Reads its dictionary, once per process, but not the vectors."""
        return assets.load(self.model, read_labels)

    def columns(self, texts: pa.LargeStringArray) -> dict[str, pa.Array]:
        """label and runner_up (string), score and runner_up_score (float32), one row per text.

        A text without words has no label, and score 0; so has the runner-up if only one language was considered.
        """
        model = assets.load(self.model, FastText.load)
        text = view(texts)
        first = np.empty(len(texts) * self.windows, np.int64)
        last = np.empty(len(texts) * self.windows, np.int64)
        cut_windows(text.data, text.offsets, self.windows, self.window_chars, self.offset, first, last)
        labels, scores = model.predict_spans(text.data, first, last, NAMED)
        best = np.empty((len(texts), 2), np.int32)
        mean = np.empty((len(texts), 2), np.float32)
        average(labels, scores, self.windows, best, mean)
        names = pa.array(model.labels, pa.string())
        label, runner_up = (names.take(pa.array(column, mask=column < 0)) for column in (best[:, 0], best[:, 1]))
        return {
            "label": label,
            "score": pa.array(mean[:, 0]),
            "runner_up": runner_up,
            "runner_up_score": pa.array(mean[:, 1]),
        }


@kernel
def cut_windows(
    data: NDArray[np.uint8],
    offsets: NDArray[np.int64],
    windows: int,
    window_chars: int,
    offset: float,
    first: NDArray[np.int64],
    last: NDArray[np.int64],
) -> None:
    """Write where the windows of each document begin and end: `windows` spans per document, unused ones empty.

    Positions are chosen by bytes and sizes counted in characters, so that a long document need not be scanned.
    """
    for d in range(len(offsets) - 1):
        begin, end = offsets[d], offsets[d + 1]
        spans = d * windows
        if end - begin <= windows * window_chars or characters_on(data, begin, end, windows * window_chars) == end:
            first[spans], last[spans] = begin, end
            first[spans + 1 : spans + windows] = begin
            last[spans + 1 : spans + windows] = begin
            continue
        final = characters_back(data, begin, end, window_chars)
        start = min(begin + np.int64(offset * (end - begin)), final)
        for w in range(windows):
            at = start + (final - start) * w // max(windows - 1, 1)
            while load8(data, at) & 0xC0 == 0x80:
                at -= 1
            first[spans + w], last[spans + w] = at, characters_on(data, at, end, window_chars)


@kernel
def characters_on(data: NDArray[np.uint8], at: int, end: int, characters: int) -> int:
    """The first byte of the character that is `characters` after the one at `at`, or `end`."""
    while at + 64 <= end:
        begun = 64 - count_bits(continuations(data, at)[0])
        if begun > characters:
            break
        characters -= begun
        at += 64
    while at < end:
        if load8(data, at) & 0xC0 != 0x80:
            if characters == 0:
                return at
            characters -= 1
        at += 1
    return end


@kernel
def characters_back(data: NDArray[np.uint8], begin: int, end: int, characters: int) -> int:
    """The first byte of the last `characters` characters of data[begin:end], or `begin`."""
    at = end
    while at > begin and characters > 0:
        at -= 1
        if load8(data, at) & 0xC0 != 0x80:
            characters -= 1
    return at


@kernel
def average(
    labels: NDArray[np.int32],
    scores: NDArray[np.float32],
    windows: int,
    best: NDArray[np.int32],
    mean: NDArray[np.float32],
) -> None:
    """The two labels of each document with the highest mean score over its windows; on a tie, the lower number.

    labels, scores   (documents * windows, named): label -1 if a window has no further one
    best, mean       (documents, 2), written
    """
    named = labels.shape[1]
    seen = np.empty(windows * named, np.int32)
    total = np.empty(windows * named, np.float32)
    for d in range(len(best)):
        scored = 0
        different = 0
        for w in range(d * windows, (d + 1) * windows):
            scored += labels[w, 0] >= 0
            for j in range(named):
                if labels[w, j] < 0:
                    break
                i = 0
                while i < different and seen[i] != labels[w, j]:
                    i += 1
                if i == different:
                    seen[i], total[i] = labels[w, j], 0
                    different += 1
                total[i] += scores[w, j]
        best[d, :] = -1
        mean[d, :] = 0
        for rank in range(min(different, 2)):
            top = -1
            for i in range(different):
                if seen[i] == best[d, 0]:
                    continue
                if top < 0 or total[i] > total[top] or (total[i] == total[top] and seen[i] < seen[top]):
                    top = i
            best[d, rank] = seen[top]
            mean[d, rank] = total[top] / np.float32(scored)


def warm_up() -> None:
    """Compile all of this file."""
    Identifier().columns(pa.array(["a"], pa.large_string()))
