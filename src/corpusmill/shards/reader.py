"""Reads training shards. Needs NumPy and xxhash only (and pyarrow, to name a document)."""

from collections.abc import Collection, Iterator
from functools import cached_property
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from corpusmill.errors import ShardError, did_you_mean
from corpusmill.shards.entries import open_index
from corpusmill.shards.entries import problems as entries_problems
from corpusmill.shards.files import ShardFiles
from corpusmill.shards.forgotten import read_forgotten
from corpusmill.shards.layout import (
    INDEX,
    PADDING,
    SPLITS,
    TRAIN,
    DocumentSpans,
    ShardEntry,
    ShardIndex,
    output_of,
)
from corpusmill.shards.sample import SampleIds, ids_of

if TYPE_CHECKING:
    from corpusmill.shards.verify import Controls


class TokenOrigin(NamedTuple):
    """The origin of a token."""

    document: int  # its number in the stream
    offset: int  # tokens of the document before it
    shard: int
    row: int | None  # counted over all shards, in rows of the index's sequence length; None if it has none


# Where a run has its shards; `run_folder`, which says so, is no part of a loader.
RUN_OUTPUT, SHARDS = "output", "shards"
RUN_FILE = "run.json"  # in the folder of a run
SIZES_CHECKED = 16  # files of tokens, at most, whose sizes are asked for at opening


def open_shards(path: str | PathLike[str], *, split: str = TRAIN, verify: bool = False) -> "Shards":
    """Open a folder of training shards, or those of a run by its folder.

    Checks the index, and the sizes of up to 16 files of tokens: all, or of more the first, the last, and others at
    equal distances, so that opening takes as long for 10,000 shards as for 16. The size of any other is checked when it
    is first used; `Shards.check_there` looks whether all files are there. What says which document a token belongs to
    is compared with its checksum when it is first used; the tokens are only if asked for, because that reads all of
    them.

    split    "validation": what the recipe's `split` keeps back, of a run, or of the run that has this folder
    verify   read every file of tokens and of spans now, and compare it with its checksum

    Raises ShardError if one of these files is missing, truncated or damaged, or this is not a folder of shards; and
    where there is no such split.
    """
    if split not in SPLITS:
        raise ShardError(f"split is one of {', '.join(SPLITS)}; got {split!r:.60}{did_you_mean(str(split), SPLITS)}")
    folder = Path(path)
    folder = folder.parent if folder.name == INDEX else folder
    run_shards = folder / RUN_OUTPUT / SHARDS
    if not (folder / INDEX).exists() and (run_shards / INDEX).exists():
        folder = run_shards
    elif not (folder / INDEX).exists() and (folder / RUN_FILE).exists():
        raise ShardError(
            f"{folder}: this run has no training shards (no {Path(RUN_OUTPUT, SHARDS, INDEX)}). Is it finished? Its "
            "recipe must have a step that tokenizes, and write `shards`."
        )
    if split != TRAIN and not folder.name.endswith(output_of("", split)):
        beside = folder.with_name(output_of(folder.name, split))
        if (folder / INDEX).exists() and not (beside / INDEX).exists():
            raise ShardError(
                f"{folder}: there is no {beside.name} beside it. Add `split: {{{split}: 0.01}}` to the recipe and run "
                "it again, which writes its output anew and no more."
            )
        folder = beside
    shards = Shards(folder, open_index(folder))
    shards.check_sizes(SIZES_CHECKED)
    if verify:
        shards.check()
    return shards


class Shards:
    """Training shards as one array of `len` tokens, padding included."""

    def __init__(self, folder: Path, index: ShardIndex) -> None:
        self.folder = folder
        self.index = index
        self.dtype: np.dtype[Any] = np.dtype(index.dtype)
        self.edges = index.edges  # (shards + 1,) tokens before each shard, and in all
        self._files = ShardFiles(folder, index)
        self._there = False
        self.forgotten, self.erased = read_forgotten(folder)  # (documents,) numbers, sorted

    def __len__(self) -> int:
        return self.index.tokens

    def tokens(self, start: int, stop: int) -> NDArray[Any]:
        """The tokens [start, stop): a view of the mapped file if they are in one shard, else a copy. Documents that are
        forgotten are padding.

        Raises ShardError for a range outside the shards.
        """
        parts = [self._files.tokens(entry)[a:b] for entry, a, b, _ in self._parts(start, stop)]
        ids = parts[0] if len(parts) == 1 else np.concatenate([np.empty(0, self.dtype), *parts])
        return self._masked(ids, start, stop) if len(self.forgotten) else ids

    def _masked(self, ids: NDArray[Any], start: int, stop: int) -> NDArray[Any]:
        runs = self.spans(start, stop)
        mask = np.repeat(np.isin(runs.document, self.forgotten), np.diff(runs.start, append=stop - start))
        return np.where(mask, np.asarray(self.index.pad_id, ids.dtype), ids) if mask.any() else ids

    def spans(self, start: int, stop: int) -> DocumentSpans:
        """Which document each of the tokens [start, stop) belongs to; positions are counted from `start`."""
        columns: list[list[NDArray[np.int64]]] = [[], [], []]
        for entry, a, b, before in self._parts(start, stop):
            runs = self._files.spans(entry)
            first = int(np.searchsorted(runs.start, a, "right")) - 1
            last = int(np.searchsorted(runs.start, b))
            begin = np.maximum(runs.start[first:last], a)
            document = runs.document[first:last]
            skipped = np.where(document == PADDING, 0, begin - runs.start[first:last])
            for column, values in zip(columns, (begin + (before - start), document, runs.offset[first:last] + skipped)):
                column.append(values)
        none = np.empty(0, np.int64)
        return DocumentSpans(*(np.concatenate([none, *column]) for column in columns))

    @property
    def row_length(self) -> int:
        """The sequence length of the index. Raises ShardError if these are shards of a stream without rows."""
        if self.index.sequence_length is None:
            raise ShardError(
                f"{self.folder}: one stream of documents, written without packing, so rows have no length. Say which: "
                f"loader.open({str(self.folder)!r}, seq_len=2048), TokenLoader(…, seq_len=2048)."
            )
        return self.index.sequence_length

    def rows(self, length: int | None = None) -> Iterator[NDArray[Any]]:
        """All tokens in rows of `length`, by default the sequence length of the index; the last row may be short.

        Raises ShardError without a length if the index has none.
        """
        step = length or self.row_length
        for start in range(0, len(self), step):
            yield self.tokens(start, min(start + step, len(self)))

    def document_at(self, token: int) -> TokenOrigin | None:
        """The document that a token belongs to; None for padding."""
        ((entry, _, _, _),) = self._parts(token, token + 1)
        _, (document,), (offset,) = self.spans(token, token + 1)
        if document == PADDING:
            return None
        row = self.index.sequence_length
        return TokenOrigin(int(document), int(offset), entry.number, token // row if row else None)

    def provenance(self, document: int) -> dict[str, Any]:
        """The row of a document in the table of documents: document, id, source, file, position, url, tokens.

        Raises ShardError if the shards were written without tables, or do not hold the document.
        """
        return self.origins([document])[document]

    def origins(self, documents: Collection[int]) -> dict[int, dict[str, Any]]:
        """document -> its row in the table of documents, of several at once. Raises ShardError as `provenance` does."""
        import pyarrow as pa
        import pyarrow.parquet as pq

        numbers = np.unique(np.array(list(documents), np.int64))
        origins: dict[int, dict[str, Any]] = {}
        first_document = self.index.column("first_document")
        low, high = (
            np.searchsorted(numbers, edge) for edge in (first_document, first_document + self.index.column("documents"))
        )
        for shard in np.flatnonzero(low < high).tolist():
            entry = self.index.shards[shard]
            own = numbers[low[shard] : high[shard]]
            if entry.table_xxh3_128 is None:
                raise ShardError(
                    f"{self.folder}: written without tables of documents, so the origin of {own[0]} is unknown."
                )
            table = pq.ParquetFile(self._files.table(entry))
            first = entry.first_document
            for group in range(table.num_row_groups):
                stop = first + table.metadata.row_group(group).num_rows
                in_group = own[(own >= first) & (own < stop)]
                if len(in_group):
                    rows = table.read_row_group(group).take(pa.array(in_group - first)).to_pylist()
                    origins |= dict(zip(in_group.tolist(), rows))
                first = stop
        if missing := [number for number in numbers.tolist() if number not in origins]:
            last = self.index.documents - self.index.discarded_documents - 1
            available = f"0 to {last}" if last >= 0 else "none"
            raise ShardError(f"{self.folder}: no document {missing[0]}; the shards hold {available}.")
        return origins

    def numbers_of(self, ids: Collection[str]) -> dict[str, list[int]]:
        """id -> the numbers of its document, several where a mix repeats it. Documents that the shards lack are not in
        it. Raises ShardError if the shards were written without tables."""
        import pyarrow as pa
        import pyarrow.compute as pc
        import pyarrow.parquet as pq

        id_set = pa.array(sorted(set(ids)), pa.string())
        numbers: dict[str, list[int]] = {}
        for entry in self.index.shards:
            if entry.table_xxh3_128 is None:
                raise ShardError(f"{self.folder}: written without tables of documents, so their ids are unknown.")
            table = pq.ParquetFile(self._files.table(entry))
            for group in range(table.num_row_groups):
                rows = table.read_row_group(group, columns=["document", "id"])
                rows = rows.filter(pc.is_in(rows["id"], value_set=id_set))
                for number, name in zip(rows["document"].to_pylist(), rows["id"].to_pylist()):
                    numbers.setdefault(name, []).append(number)
        return numbers

    def check(self) -> None:
        """Read all tokens and spans. Raises ShardError at the first file that has not the checksum of the index."""
        for entry in self.index.shards:
            self._files.check_tokens(entry)
            self._files.spans(entry)

    def check_sizes(self, limit: int) -> None:
        """Compare the sizes of `limit` files of tokens, at equal distances, with the index. Raises ShardError at the
        first that is missing, or has another."""
        count = len(self.index.shards)
        for number in np.linspace(0, count - 1, min(count, limit)).round().astype(np.int64).tolist():
            # Not from the entries: the kernel maps 64 KiB around each that is read.
            self._files.check_size(number, int(self.edges[number + 1] - self.edges[number]))

    def check_there(self) -> None:
        """Compare the names of all files of tokens and spans with the folder, once: one listing, 4 µs a shard.

        Raises ShardError at the first that is missing. `loader.check()` and `verify` say more.
        """
        if not self._there:
            self._files.check_there()
            self._there = True

    def check_tokenizer(self, tokenizer: Any) -> None:
        """Raises ShardError unless a tokenizer gives the ids that these shards were made with; see `sample.ids_of`."""
        self.check_ids(ids_of(tokenizer))

    def check_ids(self, ids: SampleIds) -> None:
        """The same of ids that a tokenizer gave."""
        index = self.index
        if index.sample_sha256 is None:
            raise ShardError(
                f"{self.folder / INDEX}: has no ids to compare a tokenizer with: an earlier version wrote it. "
                "Run again, or leave out the tokenizer."
            )
        if ids.sha256 != index.sample_sha256:
            raise ShardError(
                f"{self.folder}: the shards were made with another tokenizer than this one: {index.tokenizer} gives "
                f"{index.sample_tokens} tokens for the texts of corpusmill.shards.sample, this one {ids.tokens}"
                f"{', with other ids' if ids.tokens == index.sample_tokens else ''}. Use {index.tokenizer}, or "
                "tokenize with this one."
            )

    def verify(self, controls: "Controls | None" = None) -> list[str]:
        """Read everything and return all problems; an empty list means that all FORMAT.md promises holds.

        controls   is given how many tokens begin and end documents
        """
        from corpusmill.shards.verify import problems

        unread = ShardFiles(self.folder, self.index)
        return [*entries_problems(self.folder), *problems(unread, controls, self.erased)]

    @cached_property
    def has_tables(self) -> bool:
        return all(entry.table_xxh3_128 is not None for entry in self.index.shards)

    def mapped(self, shard: int) -> NDArray[Any]:
        """All tokens of a shard, by its position in the index."""
        return self._files.mapped(shard)

    def release(self) -> None:
        """Unmap all files: pages that were read count as memory of the process. They are mapped again on next use."""
        self._files.release()

    def runs(self, shard: int) -> DocumentSpans:
        """Which document each token of a shard belongs to."""
        return self._files.runs(shard)

    def _parts(self, start: int, stop: int) -> list[tuple[ShardEntry, int, int, int]]:
        """(shard, first and last token in it, tokens in the shards before it) of a range."""
        if not 0 <= start <= stop <= len(self):
            raise ShardError(f"{self.folder}: tokens {start} to {stop} are out of range; there are {len(self)}.")
        parts = []
        first = int(np.searchsorted(self.edges, start, "right")) - 1
        for number in range(first, len(self.index.shards)):
            if (edge := int(self.edges[number])) >= stop or start == stop:
                break
            entry = self.index.shards[number]
            parts.append((entry, max(start - edge, 0), min(stop - edge, entry.tokens), edge))
        return parts
