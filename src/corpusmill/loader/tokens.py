"""Batches for training. Which rows a batch holds depends only on the seed and the number of samples before it."""

import os
import queue
import threading
import warnings
from bisect import bisect_right
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from corpusmill.display import table
from corpusmill.errors import ShardError
from corpusmill.loader.arguments import check_room, flag, shown, whole_number
from corpusmill.loader.columns import FIELDS, Layout, columns, merged
from corpusmill.loader.exposure import Served, find_exposures
from corpusmill.loader.loss import across, apply_loss
from corpusmill.loader.order import SAMPLES_PER_BLOCK, SAMPLES_PER_CYCLE, MixtureSamples, SampleOrder
from corpusmill.loader.rows import ShardRows, check_fields, same_tokenizer
from corpusmill.shards import Shards, open_shards
from corpusmill.shards.foreign import check_belongs
from corpusmill.shards.layout import PADDING, TRAIN
from corpusmill.shards.loss import Int64s

Path_ = str | os.PathLike[str]
Batch = dict[str, NDArray[Any]]
TOKENS_PER_LOOKUP = (
    1 << 20
)  # tokens whose rows are looked up at once: with so many, a tenth of the time of their batches
MAX_SAMPLES, MAX_RANKS = 1 << 60, 1 << 30  # samples, and rows or ranks: what is counted from them stays within 64 bits


class Piece(NamedTuple):
    """A part of a document in a batch."""

    row: int  # of the batch
    start: int  # first token in the row
    length: int
    source: str  # the folder of its shards, as given
    document: int  # its number there
    offset: int  # tokens of the document before it
    sample: int  # number of the row in the order of training
    epoch: int  # complete passes over the source before it


class TokenLoader:
    """Endless batches from one or more folders of shards, in an order that is a function of the seed.

    path      a folder of training shards, or the run that wrote them; or several, mixed on the fly: {folder: weight},
              weights in samples
    seq_len   tokens in a row, by default that of the shards. Those of packing `concat` can be read with any length,
              those without packing need one
    batch_size   rows in a batch of this rank
    seed      of the order
    rank, world   number of this process, and of all: step s of rank r has the samples
              (s × world + r) × batch_size to (s × world + r + 1) × batch_size of one global order
    shuffle   False: rows in the order of the shards
    epochs    passes over all rows after which the batches end; None: they never do. For one source only
    drop_last of the rows that are left after the last full step of all epochs. True: they are left out, with a warning
              that says how many. False: they are one more step with fewer rows, which the ranks share evenly; of fewer
              rows than ranks, several ranks take the same row, so that all have the same number of steps
    split     "validation": the shards that the recipe's `split` keeps back; they are evaluated with `epochs=1`,
              `drop_last=False` and `shuffle=False`
    skip      ranges of samples (first, end) to leave out, for example after a loss spike
    fields    which of `rows.FIELDS` to compute; also "sources" for a mixture: (rows,) int64
    prefetch  batches that a thread computes in advance
    tokenizer that of the training job, to compare with the one that made the shards, by the ids of a thousand texts:
              one of tokenizers, transformers, tiktoken or sentencepiece, or a function from a text to its ids
    verify    read every file now and compare it with its checksum. Without it only what says where documents begin is
              compared

    The state is the number of samples that all ranks have taken, so a run can resume with another world size or batch
    size: no sample is repeated and none is lost. Iteration resumes at the state; `at(step)` returns any batch. Memory
    does not grow with the data. Opening looks at 16 files of a folder; what is missing is found before the second
    batch, what was truncated when it is first used; `check()` finds either.

    Raises ShardError if shards are damaged, of different tokenizers or another than the one given, or cannot be read
    with this length; for an argument out of range; if `epochs` have no step; and if a batch would need more memory than
    the machine has. Warns of a weight that is too small for a source to be drawn.
    """

    def __init__(
        self,
        path: Path_ | Mapping[Path_, float] | Sequence[Path_],
        seq_len: int | None = None,
        batch_size: int = 8,
        seed: int = 0,
        rank: int = 0,
        world: int = 1,
        *,
        shuffle: bool = True,
        epochs: int | None = None,
        drop_last: bool = True,
        skip: Sequence[tuple[int, int]] = (),
        fields: Collection[str] = FIELDS,
        prefetch: int = 0,
        split: str = TRAIN,
        verify: bool = False,
        tokenizer: Any = None,
    ) -> None:
        weighted = _weighted(path)
        self.batch_size, self.world = (
            whole_number("batch_size", batch_size, 1, MAX_RANKS),
            whole_number("world", world, 1, MAX_RANKS),
        )
        ranks = f"the ranks of world={self.world} are 0 to {self.world - 1}"
        self.rank = whole_number("rank", rank, 0, self.world - 1, ranks)
        self.seed = whole_number("seed", seed)
        self.prefetch = whole_number("prefetch", prefetch, 0, MAX_RANKS)
        self.epochs = None if epochs is None else whole_number("epochs", epochs, 1, MAX_SAMPLES)
        if self.epochs is not None and len(weighted) > 1:
            raise ShardError("epochs needs a single source: a mixture has no common epoch.")
        if seq_len is not None:
            seq_len = whole_number("seq_len", seq_len, 1, MAX_SAMPLES)
        shards = {name: open_shards(name, split=split, verify=flag("verify", verify)) for name in weighted}
        same_tokenizer(shards)
        if tokenizer is not None:
            for opened in shards.values():
                opened.check_tokenizer(tokenizer)
        self.names = tuple(weighted)
        lengths = {name: opened.row_length if seq_len is None else seq_len for name, opened in shards.items()}
        if len(set(lengths.values())) > 1:
            raise ShardError(f"the sources have rows of {lengths} tokens: set seq_len.")
        self.rows = tuple(ShardRows(opened, lengths[name]) for name, opened in shards.items())
        self.length = self.rows[0].length
        self.fields = check_fields(fields, (*FIELDS, "sources"))
        check_room(self.batch_size, self.length, self.fields)
        shuffle = flag("shuffle", shuffle)
        self.order = SampleOrder(tuple(map(len, self.rows)), tuple(weighted.values()), self.seed, shuffle)
        self.skip = _joined(skip)
        self.drop_last = flag("drop_last", drop_last)
        self._check_steps()
        self._check_weights()
        self._files = [0, *np.cumsum([len(opened.index.shards) for opened in shards.values()]).tolist()]
        self.samples = 0  # taken by all ranks

    @property
    def shards(self) -> tuple[Shards, ...]:
        return tuple(rows.shards for rows in self.rows)

    def __repr__(self) -> str:
        sources = ", ".join(f"{name} ({len(rows):,} rows)" for name, rows in zip(self.names, self.rows))
        size = f"batches of {self.batch_size} rows of {self.length:,} tokens"
        rank = f", rank {self.rank} of {self.world}" if self.world > 1 else ""
        return f"<TokenLoader of {sources}: {size}{rank}, seed {self.seed}, {self.samples:,} samples taken>"

    def _repr_html_(self) -> str:
        title = f"TokenLoader: batches of {self.batch_size} rows of {self.length:,} tokens"
        percents = [f"{100 * share / sum(self.order.shares):.1f} %" for share in self.order.shares]
        rows = [
            [name, len(rows), len(rows.shards), share] for name, rows, share in zip(self.names, self.rows, percents)
        ]
        return table(title, ["shards", "rows", "tokens", "share of samples"], rows)

    def __len__(self) -> int:
        """Steps in all epochs. Raises TypeError without `epochs`."""
        if self.epochs is None:
            raise TypeError("a TokenLoader without `epochs` has no end, and no length")
        full, rest = divmod(self._epoch_samples(), self.batch_size * self.world)
        return full + (rest > 0 and not self.drop_last)

    def __iter__(self) -> Iterator[Batch]:
        """Batches from the state on. The state counts a batch as soon as it is yielded.

        Warns if there are none left: the state of a loader stays at the end of its epochs.
        """
        if not self.has_batch(self.samples):
            warnings.warn(
                f"the loader has given all batches of epochs={self.epochs}, so it gives none now. To begin again, set "
                "loader.samples = 0, or make another loader.",
                stacklevel=2,
            )
        batches = self._prefetch() if self.prefetch else self.stream(self.samples)
        for samples, batch in batches:
            self.samples = self.after(samples)
            yield batch

    def after(self, samples: int, steps: int = 1) -> int:
        """Samples of all ranks after so many steps more: those of a last step that is not full are fewer."""
        end = samples + steps * self.batch_size * self.world
        return end if self.epochs is None or self.drop_last else max(samples, min(end, self._epoch_samples()))

    def at(self, step: int) -> Batch:
        """The batch of a step of this rank; steps count from the first sample of all."""
        return self.batch_after(self._before(step))

    def state_dict(self) -> dict[str, Any]:
        """The progress of training in a few numbers, independent of world size and batch size."""
        return {"samples": self.samples, "seed": self.seed, "data": self._data()}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Resume at a state. Raises ShardError, and changes nothing, if it is none of `state_dict`, or belongs to other
        data, another order or length."""
        current = {"samples": 0, "seed": self.seed, "data": self._data()}
        if not isinstance(state, Mapping) or (missing := [name for name in current if name not in state]):
            lacks = f"without {', '.join(missing)}" if isinstance(state, Mapping) else shown(state)
            raise ShardError(
                f"a state is what state_dict() returned, with {', '.join(current)}; got one {lacks}. Was the state of "
                "another object saved in its place?"
            )
        samples = whole_number("samples of the state", state["samples"], 0, MAX_SAMPLES)
        whole_number("seed of the state", state["seed"])
        data = state["data"]
        if not isinstance(data, list | tuple):
            raise ShardError(f"data of the state must be a list as state_dict() returned it, got {shown(data)}.")
        saved = {"seed": state["seed"], "data": [list(p) if isinstance(p, list | tuple) else p for p in data]}
        if differs := [name for name in saved if saved[name] != current[name]]:
            changes = "; ".join(f"{name} was {shown(saved[name])}, is {current[name]}" for name in differs)
            raise ShardError(f"the state belongs to another order of samples: {changes}")
        self.samples = samples

    def check_there(self) -> None:
        """Look whether every folder has all its files, once: 4 µs a shard. Iterating does so after the first batch.

        Raises ShardError at the first that is missing.
        """
        for opened in self.shards:
            opened.check_there()

    def check(self, tokenizer: Any = None) -> None:
        """Look into every folder, once before training. Reads all `.idx` files and a few tokens of every `.bin` file.

        Raises ShardError if a file is missing, damaged, or not of these shards; and if a tokenizer is given that does
        not give the ids of the one that made them, see `corpusmill.shards.sample.ids_of`.
        """
        for opened in self.shards:
            check_belongs(opened)
            if tokenizer is not None:
                opened.check_tokenizer(tokenizer)

    def drawn(self, step: int) -> MixtureSamples:
        """Source, row and epoch of each row of a step's batch."""
        return self.order.draw(self.numbers(self._before(step)))

    def trace(self, step: int) -> list[Piece]:
        """The documents of a step's batch, in their order in it, without padding."""
        numbers = self.numbers(self._before(step))
        drawn = self.order.draw(numbers)
        parts = []
        for source, rows in enumerate(self.rows):
            indices = np.flatnonzero(drawn.source == source)
            if not len(indices):
                continue
            pieces = rows.pieces(drawn.row[indices])
            for row, start, document, offset, length, _ in zip(*(column.tolist() for column in pieces)):
                if document != PADDING:
                    at = int(indices[row])
                    sample, epoch = int(numbers[at]), int(drawn.epoch[at])
                    parts.append(Piece(at, start, length, self.names[source], document, offset, sample, epoch))
        return sorted(parts, key=lambda piece: (piece.row, piece.start))

    def served(self, documents: Iterable[int], source: str | None = None, epochs: int | None = None) -> list[Served]:
        """The batches that hold some of these documents, in order of steps: what training has seen of them, or will.

        documents   by their numbers in the shards, as `trace` gives them
        source      the folder of the shards, as given; None where there is only one
        epochs      passes over the source to look at: those of the loader, or one, if not given

        Rows that `skip` leaves out are not among them. Raises ShardError if the shards do not hold a document.
        """
        if source is None and len(self.names) > 1:
            raise ShardError(f"say which source the documents are of: {', '.join(self.names)}.")
        if source is not None and source not in self.names:
            raise ShardError(f"the loader has no source {source}; it has {', '.join(self.names)}.")
        passes = self.epochs or 1 if epochs is None else whole_number("epochs", epochs, 1, MAX_SAMPLES)
        return find_exposures(self, documents, source or self.names[0], passes)

    def _before(self, step: int) -> int:
        """Samples of all ranks before a step."""
        step_samples = self.batch_size * self.world
        return whole_number("step", step, 0, MAX_SAMPLES // step_samples) * step_samples

    def numbers(self, samples: int, steps: int = 1, stride: int = 1) -> Int64s:
        """(steps × batch_size,) the samples of this rank after `samples` of all ranks, skipped ones left out, for so
        many steps, each `stride` after the one before. Fewer of a last step that is not full."""
        step = stride * self.batch_size * self.world
        if left := self.rows_left(samples):
            first = left * self.rank // self.world
            numbers = samples + np.arange(first, max(left * (self.rank + 1) // self.world, first + 1))
        else:
            starts = samples + self.rank * self.batch_size + np.arange(steps, dtype=np.int64) * step
            numbers = (starts[:, None] + np.arange(self.batch_size)).ravel()
        for first, end in self.skip:
            numbers[numbers >= first] += end - first
        return numbers

    def batch_after(self, samples: int) -> Batch:
        """The batch of this rank after so many samples of all ranks."""
        return next(self._batches(samples, 1, 1))

    def stream(self, samples: int, stride: int = 1) -> Iterator[tuple[int, Batch]]:
        """(samples before it, batch) of every `stride`th step of this rank from so many samples on.

        The same batches as those of `batch_after`, but faster: rows are looked up for many batches at once.
        """
        step = stride * self.batch_size * self.world
        max_steps = max(1, min(TOKENS_PER_LOOKUP // self.length, SAMPLES_PER_BLOCK) // self.batch_size)
        together = 1  # so that the first batch is ready at once; then twice as many each time
        while self.has_batch(samples):
            steps = 1
            while steps < together and self._is_full(samples + steps * step):
                steps += 1
            for batch in self._batches(samples, steps, stride):
                yield samples, batch
                samples += step
            self.check_there()
            together = min(2 * together, max_steps)

    def _batches(self, samples: int, steps: int, stride: int) -> Iterator[Batch]:
        drawn = self.order.draw(self.numbers(samples, steps, stride))
        fields = [field for field in self.fields if field != "sources"]
        layout = self._layout(drawn)
        files = {number: self._mapped(number) for number in np.unique(layout.copies.file).tolist()}
        pad = self.rows[0].shards.index.pad_id
        blank = any(len(rows.shards.forgotten) for rows in self.rows)
        rules = [rows.loss_rule for rows in self.rows]
        size = len(drawn.row) // steps
        for first in range(0, steps * size, size):
            part = layout.part(first, first + size)
            batch = columns(part, size, self.length, pad, files, fields, blank)
            if any(rules):
                of_row = drawn.source[first : first + size]
                apply_loss(batch, part, rules, of_row, self._across)
            if "sources" in self.fields:
                batch["sources"] = drawn.source[first : first + size].copy()
            yield batch

    def _layout(self, drawn: MixtureSamples) -> Layout:
        """The layout of the rows that were drawn. Files are numbered over all sources."""
        if len(self.rows) == 1:
            return self.rows[0].layout(drawn.row)
        layouts, places = [], []
        for source, rows in enumerate(self.rows):
            indices = np.flatnonzero(drawn.source == source)
            if len(indices):
                layout = rows.layout(drawn.row[indices])
                copies = layout.copies._replace(file=layout.copies.file + self._files[source])
                layouts.append(layout._replace(copies=copies))
                places.append(indices)
        return merged(layouts, places)

    def _mapped(self, file: int) -> NDArray[Any]:
        source = bisect_right(self._files, file) - 1
        return self.rows[source].shards.mapped(file - self._files[source])

    def _across(self, file: int, first: int, stop: int) -> NDArray[Any]:
        source = bisect_right(self._files, file) - 1
        return across(file, first, stop, self._mapped, range(*self._files[source : source + 2]))

    def _prefetch(self) -> Iterator[tuple[int, Batch]]:
        ready: queue.Queue[Any] = queue.Queue(self.prefetch)
        stopped = threading.Event()

        def work() -> None:
            try:
                for numbered in self.stream(self.samples):
                    while not stopped.is_set():
                        try:
                            ready.put(numbered, timeout=0.1)
                            break
                        except queue.Full:
                            continue
                    if stopped.is_set():
                        return
                ready.put(None)
            except BaseException as error:  # raised again in the thread that wants the batch
                ready.put(error)

        thread = threading.Thread(target=work, daemon=True)
        thread.start()
        try:
            while (numbered := ready.get()) is not None:
                if isinstance(numbered, BaseException):
                    raise numbered
                yield numbered
        finally:
            stopped.set()

    def has_batch(self, samples: int) -> bool:
        """Whether there is a batch for every rank after so many samples."""
        return self._is_full(samples) or self.rows_left(samples) > 0

    def rows_left(self, samples: int) -> int:
        """Rows of a step of all ranks that is not full, the last one, after so many samples; 0 if it is full, is left
        out, or there is none."""
        if self.drop_last or self._is_full(samples):
            return 0
        return max(self._epoch_samples() - samples, 0)

    def batches_with(self, position: int) -> list[tuple[int, int, int]]:
        """(step, rank, row of the batch) of the sample that is taken after so many others; none if it is left out after
        the last step, several if ranks share it."""
        step, in_step = divmod(position, self.batch_size * self.world)
        before = position - in_step
        if self._is_full(before):
            return [(step, *divmod(in_step, self.batch_size))]
        if not (left := self.rows_left(before)):
            return []
        last = ((in_step + 1) * self.world - 1) // left
        first = min(last, -(-in_step * self.world // left))
        return [(step, rank, in_step - left * rank // self.world) for rank in range(first, last + 1)]

    def _is_full(self, samples: int) -> bool:
        return self.epochs is None or samples + self.batch_size * self.world <= self._epoch_samples()

    def _check_steps(self) -> None:
        """Raises ShardError if the epochs have no step; warns of rows that fill none."""
        if self.epochs is None:
            return
        samples, step = self._epoch_samples(), self.batch_size * self.world
        about = f"epochs={self.epochs} of {self.names[0]} has {samples:,} rows"
        sizes = f"batch_size {self.batch_size:,} × world {self.world:,} = {step:,} rows"
        remedy = "drop_last=False takes them in one more step, which is shorter"
        if not len(self):
            raise ShardError(
                f"{about}, and one step takes {sizes}: there is no batch. Lower batch_size"
                + (f"; {remedy}." if samples else ".")
            )
        if self.drop_last and samples % step and self.rank == 0:
            rest = f"Left out at the end, as they fill none: {samples % step:,}"
            warnings.warn(f"{about}, and a step takes {sizes}. {rest}. {remedy}.", stacklevel=3)

    def _check_weights(self) -> None:
        """Warns of sources whose weight is rounded to nothing."""
        total = sum(self.order.weights)
        for name, weight, share in zip(self.names, self.order.weights, self.order.shares):
            if not share and self.rank == 0:
                warnings.warn(
                    f"{name} is never drawn: its weight is {weight / total:.2g} of all, and weights are rounded to "
                    f"1/{SAMPLES_PER_CYCLE:,}. Give it at least {1 / SAMPLES_PER_CYCLE:g} of all, or leave it out.",
                    stacklevel=3,
                )

    def _epoch_samples(self) -> int:
        """Samples in all epochs, skipped ones left out."""
        total = (self.epochs or 0) * len(self.rows[0])
        return total - sum(max(0, min(end, total) - min(first, total)) for first, end in self.skip)

    def _data(self) -> list[list[Any]]:
        """All that the order depends on, besides the seed."""
        skip = [list(map(int, part)) for part in self.skip]
        shares = self.order.shares
        sources = [[len(rows), share] for rows, share in zip(self.rows, shares)]
        return [*sources, [self.length, int(self.order.shuffle), skip]]


def _weighted(path: Path_ | Mapping[Path_, float] | Sequence[Path_]) -> dict[str, float]:
    if isinstance(path, str | os.PathLike):
        return {os.fspath(path): 1.0}
    if not isinstance(path, Mapping | Sequence) or not all(isinstance(name, str | os.PathLike) for name in path):
        raise ShardError(f"path is a folder of shards, a list of them, or {{folder: weight}}; got {shown(path)}.")
    weights = dict(path) if isinstance(path, Mapping) else dict.fromkeys(path, 1.0)
    if not weights or any(not _is_weight(weight) for weight in weights.values()):
        raise ShardError(f"a mixture needs one folder or more, each with a weight above 0, got {shown(weights)}.")
    return {os.fspath(name): float(weight) for name, weight in weights.items()}


def _is_weight(weight: Any) -> bool:
    return isinstance(weight, float | int | np.number) and weight is not True and 0 < float(weight) < float("inf")


def _joined(skip: Sequence[tuple[int, int]]) -> tuple[tuple[int, int], ...]:
    """The ranges in order, overlapping and adjacent ones joined."""
    ranges: list[tuple[int, int]] = []
    if not isinstance(skip, Sequence) or not all(isinstance(part, tuple | list) and len(part) == 2 for part in skip):
        raise ShardError(f"skip is a list of ranges (first, end), got {shown(skip)}.")
    for first, end in sorted(
        (whole_number("skip", first, 0, MAX_SAMPLES), whole_number("skip", end, 0, MAX_SAMPLES)) for first, end in skip
    ):
        if not first < end:
            raise ShardError(f"a range to skip is (first, end) with 0 <= first < end, got ({first}, {end}).")
        if ranges and first <= ranges[-1][1]:
            ranges[-1] = ranges[-1][0], max(end, ranges[-1][1])
        else:
            ranges.append((first, end))
    return tuple(ranges)
