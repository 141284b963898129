"""The tokens of each source in folders of training shards."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
from numpy.typing import NDArray

from corpusmill.errors import InputError, ShardError
from corpusmill.loader.order import mixed
from corpusmill.loader.rows import same_tokenizer
from corpusmill.shards import Shards, open_shards
from corpusmill.shards.layout import INDEX, PADDING


@dataclass(frozen=True)
class TokenSource:
    """The documents of a source, concatenated.

    tokens   (tokens,) ids
    first    (tokens,) bool, True where a document begins, or continues after a gap in the shards
    """

    name: str
    tokens: NDArray[Any]
    first: NDArray[np.bool_]


def read_sources(paths: Sequence[str], max_tokens: int, seed: int = 0) -> list[TokenSource]:
    """The sources of runs and folders of shards, in the order in which they first occur. A source in several folders is
    one source.

    paths        folders; NAME=FOLDER makes one source NAME of a whole folder
    max_tokens   to take of a source: if it has more, documents are chosen by a hash of seed and number

    Memory: about 4 bytes per token. Raises ShardError if a folder is not one of shards, if shards have different
    tokenizers or were written without tables of documents, and InputError if a path is given twice.
    """
    folders: dict[str, tuple[str | None, Shards]] = {}
    for path in paths:
        name, _, folder = path.rpartition("=")
        root = Path(folder)
        root = root if (root / INDEX).exists() else root / "output" / "shards"
        if str(root) in folders:
            raise InputError(f"{folder}: given twice")
        folders[str(root)] = name or None, open_shards(root)
    same_tokenizer({folder: shards for folder, (_, shards) in folders.items()})
    token_counts: dict[str, int] = {}
    for source_name, shards in folders.values():
        for sources, tokens in _documents(source_name, shards):
            for source in dict.fromkeys(sources.tolist()):
                token_counts[source] = token_counts.get(source, 0) + int(tokens[sources == source].sum())
    parts: dict[str, list[tuple[NDArray[Any], NDArray[np.bool_]]]] = {name: [] for name in token_counts}
    for number, (source_name, shards) in enumerate(folders.values()):
        sources = np.concatenate([sources for sources, _ in _documents(source_name, shards)])
        shares = np.array([min(1.0, max_tokens / max(token_counts[source], 1)) for source in sources.tolist()])
        chosen = _draws(len(sources), seed, number) < shares
        for source in dict.fromkeys(sources[chosen].tolist()):
            parts[source] += _tokens(shards, chosen & (sources == source))
    result = []
    for name, pieces in parts.items():
        if pieces:
            tokens, first = (np.concatenate(column) for column in zip(*pieces))
            result.append(TokenSource(name, tokens, first))
    return result


def _documents(name: str | None, shards: Shards) -> Iterator[tuple[NDArray[Any], NDArray[np.int64]]]:
    """Source and tokens of each document, shard by shard."""
    for entry in shards.index.shards:
        if entry.table_xxh3_128 is None and name is None:
            raise ShardError(
                f"{shards.folder}: written without tables of documents, so their sources are unknown. To use the "
                f"folder as "
                f"one source, give it a name: NAME={shards.folder}"
            )
        if name is None:
            table = pq.read_table(shards.folder / shards.index.table_name(entry.number), columns=["source", "tokens"])
            yield np.array(table["source"].to_pylist(), object), table["tokens"].to_numpy().astype(np.int64)
        else:
            tokens = np.zeros(entry.documents, np.int64)
            tokens[:1] = entry.tokens - entry.padding  # only the sum matters
            yield np.array([name] * entry.documents, object), tokens


def _draws(documents: int, seed: int, folder: int) -> NDArray[np.float64]:
    """(documents,) uniform in [0, 1), the same for the same document."""
    return np.random.Generator(np.random.Philox(key=mixed(seed, folder))).random(documents)


def _tokens(shards: Shards, selected: NDArray[np.bool_]) -> Iterator[tuple[NDArray[Any], NDArray[np.bool_]]]:
    """Tokens of the selected documents, and where they begin, shard by shard."""
    last, reached = PADDING, 0  # the last document of the previous shard, and its tokens so far
    for number, entry in enumerate(shards.index.shards):
        runs = shards.runs(number)
        is_selected = (runs.document != PADDING) & selected[np.maximum(runs.document, 0)]
        length = np.diff(np.append(runs.start, entry.tokens))
        document, offset, size = runs.document[is_selected], runs.offset[is_selected], length[is_selected]
        if not len(document):
            continue
        before = np.append(last, document[:-1])
        goes_on = (document == before) & (offset == np.append(reached, (offset + size)[:-1]))
        last, reached = int(document[-1]), int(offset[-1] + size[-1])
        first = np.zeros(int(size.sum()), np.bool_)
        first[(np.cumsum(size) - size)[~goes_on]] = True
        yield shards.mapped(number)[np.repeat(is_selected, length)], first
