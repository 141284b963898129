"""Rehydrate: documents once more for what deduplication has removed, by how many copies they had."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from corpusmill import assets
from corpusmill.errors import AssetError, RecipeError
from corpusmill.steps import Columns
from corpusmill.steps.corpus import after, is_present, key_files, pass_units
from corpusmill.steps.keys import VERDICT, Keys, KeyStage
from corpusmill.steps.mix._draw import COPIES, write_copies
from corpusmill.steps.verdict_tables import UnitRange
from corpusmill.store.unit_io import UnitIO
from corpusmill.store.work import Stage

Weights = tuple[tuple[int, int], ...]  # (cluster size from which on, how often), by size
# What the makers of FineWeb2 first tried with success for all languages.
FINEWEB2: Weights = ((1, 1), (2, 2), (3, 3), (5, 5), (100, 8), (1000, 1))
MOST = 1000  # times


@dataclass(frozen=True, kw_only=True)
class Rehydrate:
    """Draw each document as often as its number of copies says.

    After a dedup, `cluster_size` says how many near copies each kept document had; a text that occurs a few times on
    the web is better, on average, than one that occurs once or thousands of times.

    weights       size of the cluster -> how often the document is drawn: of the largest size that is not above its own.
                  {1: 1, 2: 2, 5: 3} draws those with 2, 3 and 4 documents twice. 0 leaves them out
    by_language   a file of weights for each language, as FineWeb2 publishes them: JSON, {"ita_Latn": {"1": 1, "2": 3}};
                  languages that it lacks have `weights`
    language      the signal with the language of a document in that file
    cluster_size  the signal with the size

    Training shards hold a document once for each time that it is drawn: first all, then all that are drawn twice, and
    so on. Text output has it once. Signal: `copies`.

    Source: Penedo et al. 2025, arXiv:2506.20920, section 3.5
    """

    verdict: ClassVar[pa.Schema] = pa.schema([*VERDICT, ("copies", pa.int64())])
    default_signals: ClassVar[Mapping[str, Any]] = {"copies": 1}
    reads_text: ClassVar[bool] = False
    cuts: ClassVar[bool] = False
    keys_per_document: ClassVar[int] = 1
    key_parameters: ClassVar[tuple[str, ...]] = ("weights", "by_language", "language", "cluster_size")

    weights: tuple[tuple[int, int], ...] = FINEWEB2
    by_language: str | None = None
    language: str = "fineweb2.settings"
    cluster_size: str = "minhash.cluster_size"

    def __post_init__(self) -> None:
        object.__setattr__(self, "weights", checked(self.weights, "weights"))
        for name in ("cluster_size", "language"):
            if "." not in getattr(self, name):
                raise RecipeError(
                    f'{name} is a signal of an earlier step, as in "minhash.cluster_size", got "{getattr(self, name)}"'
                )
        if self.by_language is not None:
            assets.load(self.by_language, read_weights)

    @property
    def assets(self) -> tuple[str, ...]:
        return () if self.by_language is None else (self.by_language,)

    @property
    def needs(self) -> tuple[str, ...]:
        return (self.cluster_size,) if self.by_language is None else (self.cluster_size, self.language)

    def keys(self, docs: pa.RecordBatch, signals: Columns) -> Keys:
        """`copies` (documents,) int64."""
        sizes = signals[self.cluster_size]
        if not (pa.types.is_integer(sizes.type) or pa.types.is_null(sizes.type)):
            raise RecipeError(
                f'cluster_size: "{self.cluster_size}" is of type {sizes.type}; how many copies there were is an integer'
            )
        size = pc.fill_null(pc.cast(sizes, pa.int64()), 1).to_numpy(zero_copy_only=False)
        copies = times(size, self.weights)
        if self.by_language is not None:
            encoded = pc.cast(signals[self.language], pa.string()).dictionary_encode()
            code = encoded.indices.fill_null(-1).to_numpy(zero_copy_only=False)
            listed = assets.load(self.by_language, read_weights)
            for number, name in enumerate(encoded.dictionary.to_pylist()):
                if name in listed:
                    rows = np.flatnonzero(code == number)
                    copies[rows] = times(size[rows], listed[name])
        return Keys(np.empty((len(docs), 0), np.uint64), {"copies": copies})

    def stages(self, keys: KeyStage) -> list[Stage]:
        return [Stage(f"{keys.label}-verdicts", DrawByCopies(keys), after(keys), pass_units(keys))]


def times(size: NDArray[np.int64], weights: Weights) -> NDArray[np.int64]:
    """(documents,) how often each is drawn.

    >>> times(np.array([1, 2, 4, 99]), ((2, 3), (5, 0))).tolist()
    [1, 3, 3, 0]
    """
    sizes, often = np.array(weights, np.int64).reshape(-1, 2).T
    drawn: NDArray[np.int64] = np.append(often, 1)[np.searchsorted(sizes, size, "right") - 1]
    return drawn


def checked(value: object, where: str) -> Weights:
    """Weights by size. Raises RecipeError if they are not whole numbers, or none."""
    pairs = (
        list(value.items()) if isinstance(value, Mapping) else list(value) if isinstance(value, tuple | list) else []
    )
    try:
        weights = sorted((read_integer(size), read_integer(often)) for size, often in pairs)
    except (TypeError, ValueError):
        weights = []
    if not weights or weights[0][0] < 1 or not all(0 <= often <= MOST for _, often in weights):
        raise RecipeError(
            f"{where}: need sizes of clusters from 1 on and how often each is drawn, 0 to {MOST}, "
            f"as in {{1: 1, 2: 2, 5: 3}}, got {value}"
        )
    if len({size for size, _ in weights}) < len(weights):
        raise RecipeError(f"{where}: a size is named twice in {value}")
    return tuple(weights)


def read_integer(value: object) -> int:
    """A whole number, or one in quotes, as the keys of JSON are."""
    if isinstance(value, str):
        return int(value)
    if isinstance(value, int) and not isinstance(value, bool):
        return value
    raise ValueError(value)


def read_weights(path: Path) -> dict[str, Weights]:
    """The weights of each language. Raises AssetError if the file is not of that form."""
    try:
        content = json.loads(path.read_text("utf-8"))
    except ValueError as error:
        raise AssetError(f"{path}: no JSON: {error}") from error
    if not isinstance(content, dict) or not all(isinstance(value, dict) for value in content.values()):
        raise AssetError(f'{path}: need weights by language, as in {{"ita_Latn": {{"1": 1, "2": 3}}}}')
    try:
        return {name: checked(weights, f"{path}, {name}") for name, weights in content.items()}
    except RecipeError as error:
        raise AssetError(str(error)) from error


@dataclass(frozen=True)
class DrawByCopies:
    keys: KeyStage

    def run(self, inputs: UnitRange, io: UnitIO) -> None:
        files = key_files(self.keys, io)
        verdicts = files.verdict_writer(inputs, io, COPIES)
        epochs, documents, appearances = 1, 0, 0
        for number in files.own_files(inputs):
            copies = np.array(io.arrays(files.keys[number])["copies"])
            present = is_present(files, io, number)
            documents += int(present.sum())
            appearances += int(copies[present].sum())
            copies[~present] = 1
            epochs = max(epochs, int(copies.max(initial=1)))
            write_copies(verdicts, files.starts[number], copies)
        verdicts.close()
        io.facts["rehydrated"] = {"documents": documents, "appearances": appearances}
        io.notes |= {"unit": "documents", "epochs": epochs}
