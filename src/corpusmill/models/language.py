"""Language identification: a model over a few windows of the text."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from corpusmill import assets
from corpusmill.errors import RecipeError
from corpusmill.models.fasttext import FastText
from corpusmill.models.fasttext_file import read_labels
from corpusmill.models.wide import LID_176, LID_WIDE, UNKNOWN, WideModel, prepare, read_names
from corpusmill.models.wide_file import WIDE_MAGIC
from corpusmill.models.wide_score import best_two
from corpusmill.text.array_types import Bytes, Float32s, Int32s, Int64s
from corpusmill.text.buffers import TextBuffer, view
from corpusmill.text.compile import kernel
from corpusmill.text.lowlevel import count_bits, load8
from corpusmill.text.simd import between, masks

WINDOW_CHARS = {True: 200, False: 1000}  # of lid.wide, which gains .002 at most by more; of fastText models
LABELS_PER_WINDOW = 4  # labels per window: all further ones share less than a fifth, and mostly less than .01
MORE_WINDOWS, SHORTER_WINDOWS = (
    3,
    0.75,
)  # of a text that may be in several languages: so many times as many windows, and as long
RETRY_BATCH = 256  # such texts looked at in one go, which take some 30 MB
LANGUAGE_COLUMNS = {
    "label": pa.string(),
    "score": pa.float32(),
    "runner_up": pa.string(),
    "runner_up_score": pa.float32(),
}

continuations = masks(between(0x80, 0xBF))


NamedLabels = tuple[pa.StringArray, Int32s, Float32s]  # names; (texts, 2) of them, -1 none; scores


@dataclass(frozen=True, kw_only=True)
class Identifier:
    """Identifies the language of each text.

    A text of at most `windows` x `window_chars` characters is read whole. Of a longer one, `windows` windows of
    `window_chars` characters are read, at equal distances from `offset`, a share of its bytes, to the end. A fastText
    model scores each window, and the scores of each language are averaged over the windows that contain words; lid.wide
    reads all windows as one text.
    """

    model: str = LID_WIDE
    windows: int = 3
    window_chars: int | None = None  # None: 200 for lid.wide, 1,000 for fastText models
    offset: float = 0.0

    def __post_init__(self) -> None:
        if self.windows < 1 or (self.window_chars is not None and self.window_chars < 1):
            raise RecipeError(
                f"need windows >= 1 and window_chars >= 1, got windows={self.windows}, window_chars={self.window_chars}"
            )
        if not 0 <= self.offset <= 1:
            raise RecipeError(f"offset is a share of the document, from 0 to 1, got {self.offset}")
        assets.locate(self.model)

    def labels(self) -> list[str]:
        """What the model calls texts. Reads its dictionary, once per process, but not the weights."""
        if not self._wide:
            return assets.load(self.model, read_labels)
        return assets.load(self.model, read_names)

    def assets(self) -> tuple[str, ...]:
        """The models that it reads: lid.wide takes lid.176 for short texts."""
        return (self.model, LID_176) if self._wide else (self.model,)

    def columns(self, texts: pa.LargeStringArray) -> dict[str, pa.Array]:
        """label and runner_up (string), score and runner_up_score (float32), one row per text.

        A text without words has no label, and score 0; so has the runner-up if only one language was considered. A text
        in none of the languages of lid.wide is labelled `unknown`, with score 0; the runner-up is the nearest language.
        """
        if not len(texts) and self.model in assets.manifest():  # what does not ship may be damaged
            return {name: pa.array([], type) for name, type in LANGUAGE_COLUMNS.items()}
        text = view(texts)
        names, best, mean = self._by_wide(text) if self._wide else self._by_fasttext(text)
        label, runner_up = (names.take(pa.array(column, mask=column < 0)) for column in (best[:, 0], best[:, 1]))
        return {
            "label": label,
            "score": pa.array(mean[:, 0]),
            "runner_up": runner_up,
            "runner_up_score": pa.array(mean[:, 1]),
        }

    @property
    def _wide(self) -> bool:
        return assets.load(self.model, is_wide)

    def _by_fasttext(self, text: TextBuffer) -> NamedLabels:
        model = assets.load(self.model, FastText.load)
        labels, scores = model.predict_spans(text.data, *self._cut(text), LABELS_PER_WINDOW)
        best = np.empty((len(text.offsets) - 1, 2), np.int32)
        mean = np.empty(best.shape, np.float32)
        average(labels, scores, self.windows, best, mean)
        return pa.array(model.labels, pa.string()), best, mean

    def _by_wide(self, text: TextBuffer) -> NamedLabels:
        model = assets.load(self.model, WideModel.load)
        first, last = self._cut(text)
        shares, unknown, doubtful = model.share(
            *prepare(text.data, first, last, np.arange(0, len(first) + 1, self.windows))
        )
        retry = np.flatnonzero(doubtful)
        for at in range(0, len(retry), RETRY_BATCH):
            rows = retry[at : at + RETRY_BATCH]
            decided, judged = model.main_language(text.data, *self._cut_more(text, rows), MORE_WINDOWS * self.windows)
            shares[rows[decided]], unknown[rows[decided]] = judged.shares, judged.unknown
        best, mean = np.empty((len(shares), 2), np.int32), np.empty((len(shares), 2), np.float32)
        best_two(shares, best, mean)
        best[unknown], mean[unknown] = best[unknown][:, ::-1], mean[unknown][:, ::-1]
        best[unknown, 0], mean[unknown, 0] = len(model.names), 0
        return pa.array([*model.names, UNKNOWN], pa.string()), best, mean

    def _cut(self, text: TextBuffer) -> tuple[Int64s, Int64s]:
        """First and last byte of the windows of each text."""
        first, last = np.empty((2, (len(text.offsets) - 1) * self.windows), np.int64)
        cut_windows(text.data, text.offsets, self.windows, self._window_chars, self.offset, first, last)
        return first, last

    def _cut_more(self, text: TextBuffer, rows: Int64s) -> tuple[Int64s, Int64s]:
        """The same of more and shorter windows of some texts, at equal distances in characters."""
        windows = MORE_WINDOWS * self.windows
        first, last = np.empty((2, len(rows) * windows), np.int64)
        chars = max(int(SHORTER_WINDOWS * self._window_chars), 1)
        spread_windows(text.data, text.offsets, rows, windows, chars, self.offset, first, last)
        return first, last

    @property
    def _window_chars(self) -> int:
        return self.window_chars or WINDOW_CHARS[self._wide]


def is_wide(path: Path) -> bool:
    with path.open("rb") as file:
        return file.read(len(WIDE_MAGIC)) == WIDE_MAGIC


@kernel
def cut_windows(
    data: Bytes, offsets: Int64s, windows: int, window_chars: int, offset: float, first: Int64s, last: Int64s
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
def spread_windows(
    data: Bytes,
    offsets: Int64s,
    rows: Int64s,
    windows: int,
    window_chars: int,
    offset: float,
    first: Int64s,
    last: Int64s,
) -> None:
    """What `cut_windows` writes, for the documents `rows` alone and with positions counted in characters: a part in
    letters of three bytes is not read more often than one of as many characters in ASCII."""
    for i in range(len(rows)):
        begin, end = offsets[rows[i]], offsets[rows[i] + 1]
        spans = i * windows
        total: Any = count_characters(data, begin, end)
        if total <= windows * window_chars:
            first[spans], last[spans] = begin, end
            first[spans + 1 : spans + windows] = begin
            last[spans + 1 : spans + windows] = begin
            continue
        final = total - window_chars
        start: Any = min(np.int64(offset * total), final)
        at: Any = begin
        before: Any = np.int64(0)
        for w in range(windows):
            position: Any = start + (final - start) * w // max(windows - 1, 1)
            at = characters_on(data, at, end, position - before)
            before = position
            first[spans + w], last[spans + w] = at, characters_on(data, at, end, window_chars)


@kernel
def count_characters(data: Bytes, at: int, end: int) -> int:
    count = 0
    while at + 64 <= end:
        count += 64 - count_bits(continuations(data, at)[0])
        at += 64
    while at < end:
        count += load8(data, at) & 0xC0 != 0x80
        at += 1
    return count


@kernel
def characters_on(data: Bytes, at: int, end: int, characters: int) -> int:
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
def characters_back(data: Bytes, begin: int, end: int, characters: int) -> int:
    """The first byte of the last `characters` characters of data[begin:end], or `begin`."""
    at = end
    while at > begin and characters > 0:
        at -= 1
        if load8(data, at) & 0xC0 != 0x80:
            characters -= 1
    return at


@kernel
def average(labels: Int32s, scores: Float32s, windows: int, best: Int32s, mean: Float32s) -> None:
    """The two labels of each document with the highest mean score over its windows; on a tie, the lower number.

    labels, scores   (documents * windows, per window): label -1 if a window has no further one
    best, mean       (documents, 2), written
    """
    per_window = labels.shape[1]
    candidates = np.empty(windows * per_window, np.int32)
    total = np.empty(windows * per_window, np.float32)
    for d in range(len(best)):
        scored = 0
        different = 0
        for w in range(d * windows, (d + 1) * windows):
            scored += labels[w, 0] >= 0
            for j in range(per_window):
                if labels[w, j] < 0:
                    break
                i = 0
                while i < different and candidates[i] != labels[w, j]:
                    i += 1
                if i == different:
                    candidates[i], total[i] = labels[w, j], 0
                    different += 1
                total[i] += scores[w, j]
        best[d, :] = -1
        mean[d, :] = 0
        for rank in range(min(different, 2)):
            top = -1
            for i in range(different):
                if candidates[i] == best[d, 0]:
                    continue
                if top < 0 or total[i] > total[top] or (total[i] == total[top] and candidates[i] < candidates[top]):
                    top = i
            best[d, rank] = candidates[top]
            mean[d, rank] = total[top] / np.float32(scored)


def warm_up() -> None:
    """Compile all of this file."""
    texts = pa.array(["a"], pa.large_string())
    for model in (LID_WIDE, LID_176):
        Identifier(model=model).columns(texts)
    Identifier()._cut_more(view(texts), np.zeros(1, np.int64))  # of texts that are looked at again
