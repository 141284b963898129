"""Statistics of the tokens of a run: how many, which ones, how many per document."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from corpusmill import assets
from corpusmill.errors import AssetError, MissingExtraError, RecipeError
from corpusmill.models.tokenizer_file import Definition
from corpusmill.models.tokenizer_name import asset_of
from corpusmill.report.numbers import number, share, size
from corpusmill.report.tables import RunTables
from corpusmill.steps import Tokenize
from corpusmill.store.arrays import map_arrays
from corpusmill.store.tables import read_table

MAX_SPREAD_UNITS = 32  # units whose languages are looked up
TOP_TOKENS = 40  # tokens that are shown
LENGTH_QUANTILES = (0.01, 0.1, 0.25, 0.5, 0.75, 0.9, 0.99)
NEEDED_ARRAYS = {"counts", "lengths", "words", "characters", "bytes"}


@dataclass(frozen=True)
class DocumentGroup:
    """Some documents. Tokens are those of their texts, without BOS and EOS."""

    name: str
    documents: int
    tokens: int
    words: int
    characters: int
    bytes: int

    @property
    def fertility(self) -> float:
        """Tokens per word (Rust et al. 2021, arXiv:2012.15613, section 3.3), words as `text.word_counts` counts
        them."""
        return self.tokens / self.words if self.words else 0.0

    @property
    def bytes_per_token(self) -> float:
        return self.bytes / self.tokens if self.tokens else 0.0

    @property
    def tokens_per_byte(self) -> float:
        return self.tokens / self.bytes if self.bytes else 0.0

    @property
    def tokens_per_document(self) -> float:
        return self.tokens / self.documents if self.documents else 0.0

    @property
    def characters_per_token(self) -> float:
        return self.characters / self.tokens if self.tokens else 0.0

    def to_json(self) -> dict[str, Any]:
        names = ("tokens_per_document", "fertility", "bytes_per_token", "tokens_per_byte", "characters_per_token")
        rates = {name: round(getattr(self, name), 4) for name in names}
        return {**self.__dict__, **rates}


@dataclass(frozen=True)
class TopToken:
    """A token and its count in the texts; `text` is None if the tokenizer's file is gone."""

    id: int
    text: str | None
    count: int


@dataclass(frozen=True)
class TokenStatistics:
    """The documents that a run has tokenized, each counted once, however often a mix draws it.

    all          all of them
    ends         BOS and EOS tokens, which no other number here includes
    vocabulary   size of the vocabulary, and `distinct`, how much of it occurs
    sources      by source, in the order of the recipe
    languages    by language, most tokens first; empty if no step identifies languages
    looked_at    units that `languages` are of, spread evenly, and of how many; None if they are of all
    lengths      quantile -> tokens per document; and the longest
    top          the most frequent tokens
    """

    all: DocumentGroup
    ends: int
    vocabulary: int
    distinct: int
    sources: tuple[DocumentGroup, ...]
    languages: tuple[DocumentGroup, ...]
    looked_at: tuple[int, int] | None
    lengths: Mapping[float, int]
    longest: int
    top: tuple[TopToken, ...]

    def to_json(self) -> dict[str, Any]:
        return {
            **self.all.to_json(),
            "ends": self.ends,
            "vocabulary": self.vocabulary,
            "distinct": self.distinct,
            "sources": [group.to_json() for group in self.sources],
            "languages": [group.to_json() for group in self.languages],
            **({"languages_of_units": list(self.looked_at)} if self.looked_at else {}),
            "lengths": {f"{q:g}": value for q, value in self.lengths.items()} | {"1": self.longest},
            "top": [token.__dict__ for token in self.top],
        }


def statistics(tables: RunTables) -> TokenStatistics | None:
    """None if the run has no tokens, or they are of a version that did not count them. Reads no text and no token ids.

    Memory: the vocabulary; of documents, the numbers of one unit.
    """
    units = list(_units(tables))
    if not units or not all(unit.keys() >= NEEDED_ARRAYS for unit in units):
        return None
    counts = sum((unit["counts"] for unit in units[1:]), units[0]["counts"].copy())
    ends = sum(int(unit["lengths"].sum()) for unit in units) - int(counts.sum())
    documents = sum(len(unit["lengths"]) for unit in units)
    special = ends // max(documents, 1)  # per document
    sources, languages, lengths = _Groups(), _Groups(), dict[int, int]()
    language = _language(tables)
    looked_at = spread(len(units))
    paths = tables.files.paths("docs", len(tables.passes) - 1)
    for i, unit in enumerate(units):
        source = read_table(paths[i], columns=["source"])["source"]
        columns = {"tokens": unit["lengths"] - special, **{n: unit[n] for n in ("words", "characters", "bytes")}}
        sources.add(source, columns)
        if language and i in looked_at:  # ids are compared: ten times the price of the rest
            step, pass_number = language
            signal_columns, signals_path = ["id", f"{step}.label"], tables.files.paths("signals", pass_number)[i]
            signals = read_table(signals_path, columns=signal_columns)
            ids = read_table(paths[i], columns=["id"])["id"]
            positions = pc.index_in(ids, value_set=signals["id"].combine_chunks())
            languages.add(signals[f"{step}.label"].take(positions), columns)
        values, times = np.unique(columns["tokens"], return_counts=True)
        for value, count in zip(values.tolist(), times.tolist()):
            lengths[value] = lengths.get(value, 0) + count
    by_source = sources.groups()
    order = [name for name in tables.files.inputs if name in by_source]
    by_language = sorted(languages.groups().values(), key=lambda group: (-group.tokens, group.name))
    top = np.argsort(-counts, kind="stable")[:TOP_TOKENS]
    texts = _texts(tables, top[counts[top] > 0].tolist())
    return TokenStatistics(
        all=_sum("all", by_source.values()),
        ends=ends,
        vocabulary=len(counts),
        distinct=int((counts > 0).sum()),
        sources=tuple(by_source[name] for name in order),
        languages=tuple(by_language),
        looked_at=(len(looked_at), len(units)) if len(looked_at) < len(units) else None,
        lengths=_quantiles(lengths),
        longest=max(lengths, default=0),
        top=tuple(TopToken(i, texts.get(i), int(counts[i])) for i in top.tolist() if counts[i]),
    )


def spread(units: int) -> list[int]:
    """The numbers of MAX_SPREAD_UNITS units, spread evenly; of all if there are no more."""
    return [i * units // min(MAX_SPREAD_UNITS, units) for i in range(min(MAX_SPREAD_UNITS, units))]


def _units(tables: RunTables) -> Iterator[Mapping[str, NDArray[Any]]]:
    for path in tables.files.outputs("tokens", "tokens"):
        yield map_arrays(Path(path))


def _language(tables: RunTables) -> tuple[str, int] | None:
    """The last step that identifies languages, and its pass."""
    for pass_number in reversed(range(len(tables.passes))):
        columns = tables.columns(pass_number)
        for step in reversed(tables.passes[pass_number][1]):
            if f"{step}.label" in columns and f"{step}.score" in columns:
                return step, pass_number
    return None


class _Groups:
    """Sums by name."""

    def __init__(self) -> None:
        self.sums: dict[str, NDArray[np.int64]] = {}

    def add(self, names: pa.ChunkedArray, columns: Mapping[str, NDArray[np.int64]]) -> None:
        coded = pc.fill_null(names.cast(pa.string()), "none").combine_chunks().dictionary_encode()
        codes = coded.indices.to_numpy(zero_copy_only=False)
        column_sums = [np.bincount(codes, minlength=len(coded.dictionary))]
        # Sums as floats are exact up to 2**53.
        column_sums += [np.bincount(codes, column, len(coded.dictionary)) for column in columns.values()]
        for i, name in enumerate(coded.dictionary.to_pylist()):
            sums = np.array([column[i] for column in column_sums]).astype(np.int64)
            self.sums[name] = self.sums[name] + sums if name in self.sums else sums

    def groups(self) -> dict[str, DocumentGroup]:
        return {name: DocumentGroup(name, *sums.tolist()) for name, sums in self.sums.items()}


def _sum(name: str, groups: Any) -> DocumentGroup:
    sums = [sum(column) for column in zip(*([g.documents, g.tokens, g.words, g.characters, g.bytes] for g in groups))]
    return DocumentGroup(name, *(sums or [0] * 5))


def _quantiles(lengths: Mapping[int, int]) -> dict[float, int]:
    """The smallest length that this share of the documents does not exceed."""
    if not lengths:
        return {}
    values = np.array(sorted(lengths))
    up_to = np.cumsum([lengths[value] for value in values.tolist()])
    at = np.searchsorted(up_to, np.array(LENGTH_QUANTILES) * up_to[-1])
    return dict(zip(LENGTH_QUANTILES, values[at].tolist()))


def _texts(tables: RunTables, ids: list[int]) -> dict[int, str]:
    """How tokens appear in a text; empty if the tokenizer cannot be loaded here, or its file has changed."""
    try:
        step = next((step for step in tables.files.recipe.steps if isinstance(step, Tokenize)), None)
        asset = asset_of(getattr(step, "tokenizer", ""))
        definition = assets.load(asset, Definition.read)
        recorded = tables.files.assets.get(asset)
        if recorded and recorded["sha256"] != assets.fingerprint(assets.locate(asset)):
            return {}
    except (RecipeError, AssetError, MissingExtraError):
        return {}
    id_set = set(ids)
    return {i: definition.look(token) for token, i in definition.ids.items() if i in id_set}


def token_text(token: TopToken) -> str:
    """A token with visible white space, and without characters that a terminal would obey."""
    return repr(token.text) if token.text is not None else f"token {token.id}"


def group_table(
    title: str, groups: tuple[DocumentGroup, ...], total: DocumentGroup
) -> tuple[list[str], list[list[str]]]:
    """Head and rows: the same on the page and in the terminal."""
    head = [title, "documents", "tokens", "share", "bytes", "tokens/document", "tokens/word", "characters/token"]
    head += ["bytes/token", "tokens/byte"]
    rows = [
        [
            group.name,
            number(group.documents),
            number(group.tokens),
            share(group.tokens, total.tokens),
            size(group.bytes),
            f"{group.tokens_per_document:,.1f}",
            f"{group.fertility:.3f}",
            f"{group.characters_per_token:.3f}",
            f"{group.bytes_per_token:.3f}",
            f"{group.tokens_per_byte:.3f}",
        ]
        for group in groups
    ]
    return head, rows
