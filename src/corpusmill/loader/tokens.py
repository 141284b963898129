"""Batches for training: which rows a batch holds depends on the seed and on how many samples came before, alone."""

import queue
import threading
from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from corpusmill.errors import ShardError
from corpusmill.loader.order import Drawn, Int64s, Order
from corpusmill.loader.rows import FIELDS, Rows, check_fields, same_tokenizer
from corpusmill.shards import Shards, open_shards
from corpusmill.shards.layout import PADDING

Path_ = str | Path


class Piece(NamedTuple):
    """A part of a document in a batch."""

    row: int  # of the batch
    start: int  # first token in the row
    length: int
    source: str  # the folder of its shards, as it was given
    document: int  # its number there
    offset: int  # tokens of the document before it
    sample: int  # the number of the row in the order of training
    epoch: int  # how often the whole source came before


class TokenLoader:
    """Batches of one or more folders of shards, in an order that is a function of the seed, for ever.

    path      a folder of training shards; several mixed on the fly: {folder: weight}, weights in samples
    seq_len   tokens in a row; that of the shards if not given. Shards of packing `concat` can be read in any length
    batch     rows in a batch of this rank
    seed      of the order
    rank, world   this process, and how many there are: step s of rank r are the samples
              (s × world + r) × batch to (s × world + r + 1) × batch of one global order
    shuffle   False: rows in the order of the shards
    epochs    after so many passes over all rows the batches end; None: they never do. For one source alone
    skip      ranges of samples (first, end) that are left out, as where a loss went wrong
    fields    of those in `rows.FIELDS`, which `Rows.read` explains; "sources" for a mixture: (rows,) int64
    prefetch  batches that a thread makes ahead

    The state is the number of samples that all ranks have taken together, so a run may go on with another world size
    or batch size: no sample is repeated and none left out. Memory does not grow with the data: rows are mapped, and the
    order is computed (`corpusmill.loader.order`).

    Iterating goes on where `state` stands. `at(step)` gives any batch by itself.

    Raises ShardError if shards are damaged, of different tokenizers, or cannot be read in this length.
    """

    def __init__(
        self,
        path: Path_ | Mapping[Path_, float] | Sequence[Path_],
        seq_len: int | None = None,
        batch: int = 8,
        seed: int = 0,
        rank: int = 0,
        world: int = 1,
        *,
        shuffle: bool = True,
        epochs: int | None = None,
        skip: Sequence[tuple[int, int]] = (),
        fields: Collection[str] = FIELDS,
        prefetch: int = 0,
    ) -> None:
        weighted = _weighted(path)
        if batch < 1 or world < 1 or not 0 <= rank < world:
            raise ShardError(f"need batch >= 1, world >= 1 and 0 <= rank < world, got {batch}, {world} and {rank}.")
        if epochs is not None and (epochs < 1 or len(weighted) > 1):
            raise ShardError("epochs is 1 or more, and for one source: a mixture has no common pass over its rows.")
        shards = {name: open_shards(name) for name in weighted}
        same_tokenizer(shards)
        self.names = tuple(weighted)
        lengths = {name: found.index.sequence_length if seq_len is None else seq_len for name, found in shards.items()}
        if len(set(lengths.values())) > 1:
            raise ShardError(f"the sources have rows of {lengths} tokens: give seq_len.")
        self.rows = tuple(Rows(found, lengths[name]) for name, found in shards.items())
        self.length = self.rows[0].length
        self.batch, self.seed, self.rank, self.world = batch, seed, rank, world
        self.fields = check_fields(fields, (*FIELDS, "sources"))
        self.prefetch = prefetch
        self.epochs = epochs
        self.order = Order(tuple(map(len, self.rows)), tuple(weighted.values()), seed, shuffle)
        self.skip = _joined(skip)
        self.samples = 0  # that all ranks have taken

    @property
    def shards(self) -> tuple[Shards, ...]:
        return tuple(rows.shards for rows in self.rows)

    def __len__(self) -> int:
        """Steps in all epochs, the last with all its rows. Raises TypeError where there is no end."""
        if self.epochs is None:
            raise TypeError("a TokenLoader without `epochs` has no end, and no length")
        return self._taken() // (self.batch * self.world)

    def __iter__(self) -> Iterator[dict[str, NDArray[Any]]]:
        """Batches from the state on. The state counts a batch when the next one is asked for, or at the end."""
        made = self._ahead() if self.prefetch else self._one_by_one()
        for samples, batch in made:
            yield batch
            self.samples = samples + self.batch * self.world

    def at(self, step: int) -> dict[str, NDArray[Any]]:
        """The batch of a step of this rank, counted from the first sample of all."""
        return self.batch_after(step * self.batch * self.world)

    def state_dict(self) -> dict[str, Any]:
        """How far training is, in few numbers: for every world size and batch size the same."""
        return {"samples": self.samples, "seed": self.seed, "data": self._data()}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Go on at a state. Raises ShardError if it is of other data, another order or length."""
        mine = {"seed": self.seed, "data": self._data()}
        if differs := [name for name in mine if state.get(name) != mine[name]]:
            said = "; ".join(f"{name} was {state.get(name)}, is {mine[name]}" for name in differs)
            raise ShardError(f"the state is of another order of samples: {said}")
        self.samples = int(state["samples"])

    def drawn(self, step: int) -> Drawn:
        """Source, row and epoch of each row of a step's batch."""
        return self.order.draw(self.numbers(step * self.batch * self.world))

    def trace(self, step: int) -> list[Piece]:
        """The documents of a step's batch, in the order in which they stand there; padding is left out."""
        numbers = self.numbers(step * self.batch * self.world)
        drawn = self.order.draw(numbers)
        found = []
        for source, rows in enumerate(self.rows):
            mine = np.flatnonzero(drawn.source == source)
            if not len(mine):
                continue
            pieces = rows.pieces(drawn.row[mine])
            for row, start, document, offset, length in zip(*(column.tolist() for column in pieces)):
                if document != PADDING:
                    at = int(mine[row])
                    sample, epoch = int(numbers[at]), int(drawn.epoch[at])
                    found.append(Piece(at, start, length, self.names[source], document, offset, sample, epoch))
        return sorted(found, key=lambda piece: (piece.row, piece.start))

    def numbers(self, samples: int) -> Int64s:
        """(batch,) the samples that this rank takes when all have taken so many, without those that are skipped."""
        numbers = samples + self.rank * self.batch + np.arange(self.batch, dtype=np.int64)
        for first, end in self.skip:
            numbers[numbers >= first] += end - first
        return numbers

    def batch_after(self, samples: int) -> dict[str, NDArray[Any]]:
        """The batch of this rank when all ranks together have taken so many samples."""
        drawn = self.order.draw(self.numbers(samples))
        fields = [field for field in self.fields if field != "sources"]
        if len(self.rows) == 1:
            found = self.rows[0].read(drawn.row, fields)
        else:
            found = self._mixed(drawn, fields)
        if "sources" in self.fields:
            found["sources"] = drawn.source
        return found

    def _mixed(self, drawn: Drawn, fields: list[str]) -> dict[str, NDArray[Any]]:
        parts = []
        for source, rows in enumerate(self.rows):
            mine = np.flatnonzero(drawn.source == source)
            if len(mine):
                parts.append((mine, rows.read(drawn.row[mine], fields), rows.pieces(drawn.row[mine])))
        back = np.argsort(np.concatenate([mine for mine, _, _ in parts]))
        found = {
            name: np.concatenate([read[name] for _, read, _ in parts])[back] for name in fields if name != "cu_seqlens"
        }
        if "cu_seqlens" in fields:
            begins = np.concatenate([mine[pieces.row] * self.length + pieces.start for mine, _, pieces in parts])
            found["cu_seqlens"] = np.append(np.sort(begins), len(back) * self.length).astype(np.int32)
        return found

    def _one_by_one(self) -> Iterator[tuple[int, dict[str, NDArray[Any]]]]:
        samples = self.samples
        while self.there(samples):
            yield samples, self.batch_after(samples)
            samples += self.batch * self.world

    def _ahead(self) -> Iterator[tuple[int, dict[str, NDArray[Any]]]]:
        ready: queue.Queue[Any] = queue.Queue(self.prefetch)
        stopped = threading.Event()

        def work() -> None:
            try:
                for made in self._one_by_one():
                    while not stopped.is_set():
                        try:
                            ready.put(made, timeout=0.1)
                            break
                        except queue.Full:
                            continue
                    if stopped.is_set():
                        return
                ready.put(None)
            except BaseException as error:  # it is raised where the batch was wanted
                ready.put(error)

        thread = threading.Thread(target=work, daemon=True)
        thread.start()
        try:
            while (made := ready.get()) is not None:
                if isinstance(made, BaseException):
                    raise made
                yield made
        finally:
            stopped.set()

    def there(self, samples: int) -> bool:
        """Whether there is a whole batch for every rank when so many samples have been taken."""
        return self.epochs is None or samples + self.batch * self.world <= self._taken()

    def _taken(self) -> int:
        """Samples in all epochs, without those that are skipped."""
        whole = (self.epochs or 0) * len(self.rows[0])
        return whole - sum(max(0, min(end, whole) - min(first, whole)) for first, end in self.skip)

    def _data(self) -> list[list[Any]]:
        """What the order depends on, besides the seed."""
        skip = [list(map(int, part)) for part in self.skip]
        shares = self.order.shares
        sources = [[len(rows), share] for rows, share in zip(self.rows, shares)]
        return [*sources, [self.length, int(self.order.shuffle), skip]]


def _weighted(path: Path_ | Mapping[Path_, float] | Sequence[Path_]) -> dict[str, float]:
    if isinstance(path, str | Path):
        return {str(path): 1.0}
    given = dict(path) if isinstance(path, Mapping) else dict.fromkeys(path, 1.0)
    weights = {str(name): float(weight) for name, weight in given.items()}
    if not weights or any(not 0 < weight < float("inf") for weight in weights.values()):
        raise ShardError(f"a mixture is one folder or more, each with a weight above 0, got {weights}.")
    return weights


def _joined(skip: Sequence[tuple[int, int]]) -> tuple[tuple[int, int], ...]:
    """The ranges in order, overlapping ones made one."""
    found: list[tuple[int, int]] = []
    for first, end in sorted((int(first), int(end)) for first, end in skip):
        if not 0 <= first < end:
            raise ShardError(f"a range to skip is (first, end) with 0 <= first < end, got ({first}, {end}).")
        if found and first <= found[-1][1]:
            found[-1] = found[-1][0], max(end, found[-1][1])
        else:
            found.append((first, end))
    return tuple(found)
