"""A batch of documents on its way through the steps of a pass, with all that is found out about it."""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from corpusmill.engine.work import answers
from corpusmill.engine.work.pass_documents import BYTES
from corpusmill.engine.work.proportion import in_proportion
from corpusmill.errors import CorpusmillError, DocumentError, RecipeError, did_you_mean, raised
from corpusmill.schema import DOCUMENT, OWN
from corpusmill.steps import Annotate, Columns, Filter, Transform, needs_of
from corpusmill.steps.measures import MEASURES
from corpusmill.steps.verdict import rules_of
from corpusmill.text.replace import replace_spans

KEPT = -1
EMPTY, NOTHING = pa.scalar("empty", pa.string()), pa.scalar(None, pa.string())
TEXT = DOCUMENT.get_field_index("text")
ABOUT = ["id", "source", "file", "position", "url", "date"]  # what signals are stored with


@dataclass
class Failed:
    """A document that a step could not process."""

    document: dict[str, Any]  # id, source, file, position, url
    row: int  # its place among those that the batch began with
    step: str
    reason: str


@dataclass
class Batch:
    """Documents, their signals, and which step dropped each.

    docs        the documents as they are now, the dropped ones too, unless they were evicted
    signals     `<step>.<column>` -> (documents,) for every signal that is kept
    dropped     (documents,) index of the step that dropped each, KEPT where none has
    reasons     one (label, (documents,) string) a filter: every rule that each document fails there
    sizes       one (documents,) int64 a step, and one more: bytes of each document before each step, and at the end
    text_sizes  the same of the text alone: 0 of a page whose text is not extracted yet
    failed      documents that a step could not process; they are no longer in the batch
    tokens      of the texts as they came, where the pass before has counted them
    beside      what is known of texts that stay in the files of the pass before, and may not be in `docs`
    rows        (documents,) the place of each among those that the batch began with
    evicted     the dropped documents that are no longer in it, see `evict_dropped`
    texts_stage the pass whose files have the texts, where they are not in `docs`

    Of a document that is dropped, `dropped_texts` has the text that came to the step that dropped it.
    """

    docs: pa.RecordBatch
    signals: dict[str, pa.Array] = field(default_factory=dict)
    dropped: NDArray[np.int32] = field(default_factory=lambda: np.empty(0, np.int32))
    reasons: list[tuple[str, pa.Array]] = field(default_factory=list)
    sizes: list[NDArray[np.int64]] = field(default_factory=list)
    failed: list[Failed] = field(default_factory=list)
    text_sizes: list[NDArray[np.int64]] = field(default_factory=list)
    tokens: pa.Array | None = None
    beside: pa.RecordBatch | None = None
    rows: NDArray[np.int64] = field(default_factory=lambda: np.empty(0, np.int64))
    evicted: list["Batch"] = field(default_factory=list)
    texts_stage: str = ""
    _measured: dict[str, dict[str, pa.Array]] = field(default_factory=dict)
    _statistics: dict[Callable[..., Any], NDArray[Any]] = field(default_factory=dict)  # what families are made of
    _texts: list["Version"] = field(default_factory=list)  # every version of the text, the first as it came
    _version_at_step: list[int] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.dropped = np.full(len(self.docs), KEPT, np.int32)
        self.rows = np.arange(len(self.docs))
        self._texts.append(Version(self.docs["text"]))

    def apply(self, index: int, label: str, step: Any) -> None:
        """Put the batch through one step."""
        self._begin()
        if isinstance(step, Transform):
            changed = self._guarded(label, lambda docs, _: answers.batch(label, step.transform(docs), docs))
            text = changed["text"]
            filled = pc.fill_null(text, "") if text.null_count else text
            columns = {**{name: changed[name] for name in DOCUMENT.names}, "text": filled}
            self._new_text(columns["text"])
            self.docs = pa.RecordBatch.from_pydict(columns, schema=DOCUMENT)
            self._note(label, {name: changed[name] for name in changed.schema.names if name not in DOCUMENT.names})
            # With these, and the bytes at the end, the flow of bytes can be counted again for other thresholds.
            self._note(label, {"bytes_before": pa.array(self.sizes[-1])})
        if isinstance(step, Annotate):
            measured = self._guarded(label, lambda docs, _: answers.signals(label, step.signals(docs), docs))
            self._note(label, measured)
        if isinstance(step, Filter):
            signals = self.needed(label, needs_of(step))
            own = len(label) + 1
            signals.update({n[own:]: column for n, column in self.signals.items() if n.startswith(f"{label}.")})
            judged = self._guarded(
                label, lambda docs, columns: answers.reasons(label, step.reasons(docs, columns), docs), signals
            )
            self._drop(index, label, judged)
            self._note(label, {rule.signal: signals[rule.signal] for rule in rules_of(step)})
        if isinstance(step, Transform):
            self._drop(index, label, empty(self.docs["text"]))

    def skip_step(self, signals: Mapping[str, pa.DataType]) -> None:
        """Skip a step that is not for these documents. The columns that it leaves of others, `signals`, are null."""
        self._begin()
        self.signals.update({name: pa.nulls(len(self.docs), type) for name, type in signals.items()})

    def _note(self, label: str, columns: Columns) -> None:
        self.signals.update({f"{label}.{name}": column for name, column in columns.items()})

    def _begin(self) -> None:
        self._add_sizes()
        self._version_at_step.append(len(self._texts) - 1)

    def _add_sizes(self) -> None:
        size, text_size = self._sizes()
        self.sizes.append(size)
        self.text_sizes.append(text_size)

    def _sizes(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """(documents,) bytes of each as it is now, and of its text."""
        if self.beside is None:
            return sizes(self.docs), text_sizes(self.docs)
        return self.beside[BYTES].to_numpy(), self.beside[BYTES].to_numpy()

    def _new_text(self, text: pa.Array) -> None:
        """Keep another version of the text. What was measured holds as long as it equals the one before."""
        self._texts.append(Version(text))
        if not text.equals(self.docs["text"]):
            self._measured.clear()
            self._statistics.clear()

    def first_texts(self) -> pa.Array:
        """The texts as they came; of pages, as the step left them that made a text of the page."""
        first = self._texts[0].current()
        for version in self._texts[1:]:
            if not first.null_count:
                break
            first = pc.coalesce(first, version.current())
        return first

    def dropped_texts(self, rows: NDArray[np.int64]) -> pa.Array:
        """The texts of some of the dropped documents, by their places among `docs`, as they came to the steps that
        dropped them. What later steps made of them is not what was dropped. Of a page, ""."""
        return pc.fill_null(self._as_dropped(rows), "")

    def _as_dropped(self, rows: NDArray[np.int64]) -> pa.Array:
        """The same, null of a page."""
        version_at = np.array(self._version_at_step, np.int64)[self.dropped[rows]]
        parts = [version.select_rows(rows[version_at == at]) for at, version in enumerate(self._texts)]
        back = np.argsort(np.argsort(version_at, kind="stable"))
        return pa.concat_arrays(parts).take(pa.array(back))

    def sizes_of_dropped(self, rows: NDArray[np.int64]) -> NDArray[np.int64]:
        """Bytes of `dropped_texts`."""
        return np.stack(self.text_sizes)[self.dropped[rows], rows] if len(rows) else np.empty(0, np.int64)

    def texts_of_dropped(self) -> Iterator[tuple[NDArray[np.int64], pa.Array]]:
        """The places of dropped documents, and their texts as `counted_texts` has them, which are copied once: by the
        version of the text that was dropped."""
        rows = np.flatnonzero(self.dropped != KEPT)
        version_at = np.array(self._version_at_step, np.int64)[self.dropped[rows]]
        for at, version in enumerate(self._texts):
            own = rows[version_at == at]
            if len(own):
                texts = version.select_rows(own)
                if texts.null_count:
                    texts = pc.coalesce(texts, self.first_texts().take(pa.array(own)))
                yield own, texts

    def counted_texts(self) -> pa.Array:
        """(documents,) the text whose tokens count: of a kept document the text as it is now, of a dropped one the text
        that was dropped; of a page that was dropped before its text was extracted, this text. Not those evicted."""
        rows = np.flatnonzero(self.dropped != KEPT)
        now = self.docs["text"]
        if (np.array(self._version_at_step, np.int64)[self.dropped[rows]] == len(self._texts) - 1).all():
            return now  # no step has changed the text since
        texts = self._as_dropped(rows)
        if texts.null_count:
            texts = pc.coalesce(texts, self.first_texts().take(pa.array(rows)))
        return pc.replace_with_mask(now, pa.array(self.dropped != KEPT), texts)

    def tokens_at_steps(self, tokens: pa.Array) -> list[NDArray[np.int64]]:
        """(documents,) tokens of each document before each step, and at the end, in proportion to the bytes of its text
        there; 0 where they were not counted.

        tokens   (documents,) of `counted_texts`
        """
        counted = pc.fill_null(tokens, 0).to_numpy(zero_copy_only=False)
        size, row = np.stack(self.text_sizes), np.arange(len(counted))
        full = size[np.where(self.dropped == KEPT, len(size) - 1, self.dropped), row]
        full = np.where(full > 0, full, size[np.argmax(size > 0, axis=0), row])  # of a page: its first text
        return [in_proportion(counted, at_step, full) for at_step in size]

    @staticmethod
    def read(docs: pa.RecordBatch, own: Mapping[str, pa.DataType]) -> "Batch":
        """A batch of documents as a reader gives them: columns of the input that they keep are signals.

        own   name and type of all such signals of the run
        """
        batch = Batch(docs.select(DOCUMENT.names))
        has = set(docs.schema.names)
        batch.signals = {name: docs[name] if name in has else pa.nulls(len(docs), own[name]) for name in own}
        return batch

    @staticmethod
    def resumed(
        docs: pa.RecordBatch,
        signals: Mapping[str, pa.Array],
        dropped: NDArray[np.int32],
        reasons: Sequence[tuple[str, pa.Array]],
        sizes: Sequence[NDArray[np.int64]],
        text_sizes: Sequence[NDArray[np.int64]],
        texts: Sequence[pa.Array],
        version_at_step: Sequence[int],
    ) -> "Batch":
        """A batch that has been through some steps already: what they have left of it.

        sizes, text_sizes   one (documents,) a step
        texts               (documents,) of every version of the text, the last as it is now
        version_at_step     which of them came to each step
        """
        batch = Batch(docs)
        batch.signals, batch.dropped, batch.reasons = dict(signals), dropped, list(reasons)
        batch.sizes, batch.text_sizes = list(sizes), list(text_sizes)
        batch._texts, batch._version_at_step = [Version(text) for text in texts], list(version_at_step)
        return batch

    def texts_before(self, steps: Sequence[int]) -> list[pa.Array]:
        """(documents,) the texts that came to some of the steps, and at last those that there are now: the same array
        where no step between has changed any."""
        last = len(self._texts) - 1
        seen = [self._version_at_step[step] if step < len(self._version_at_step) else last for step in steps]
        current = {version: self._texts[version].current() for version in {*seen, last}}
        return [current[version] for version in (*seen, last)]

    def evict_dropped(
        self,
        labels: Sequence[str],
        only: Collection[str] | None = None,
        sizes: tuple[NDArray[np.int64], NDArray[np.int64]] | None = None,
    ) -> None:
        """Take the dropped documents out of the batch, so that no later step sees them. They are `evicted` then, with
        what the steps up to the one that dropped them have measured, in order of these steps.

        labels   of all steps of the pass
        only     labels of the steps whose signals stay with them; None: of all
        sizes    bytes of each document as it is now, and of its text, where `docs` do not have the pages
        """
        size, text_size = self._sizes() if sizes is None else sizes
        for index in np.unique(self.dropped[self.dropped != KEPT]).tolist():
            rows = self.dropped == index
            part = self._select(rows, with_text=False)
            until = labels[: index + 1]
            measured = {OWN[:-1], *(label for label in until if only is None or label in only)}
            part.signals = {name: col for name, col in part.signals.items() if name.partition(".")[0] in measured}
            part.reasons = [(label, reasons) for label, reasons in part.reasons if label in until]
            part.sizes.append(size[rows])
            part.text_sizes.append(text_size[rows])
            part.failed, part.evicted = [], []
            self.evicted.append(part)
        if (self.dropped != KEPT).any():
            self._keep(self.dropped == KEPT)

    def finish(self) -> None:
        """After the last step."""
        self._add_sizes()
        for part in self.evicted:  # their sizes stay
            for its_sizes in (part.sizes, part.text_sizes):
                its_sizes.extend([its_sizes[-1]] * (len(self.sizes) - len(its_sizes)))

    def all_reasons(self) -> pa.Array:
        """(documents,) every failing rule of every step as `step.rule`, joined by commas; null for the kept."""
        # Documents share few combinations of reasons, so each is spelled once.
        spelled, row = [""], np.zeros(len(self.docs), np.int64)
        for label, reasons in self.reasons:
            coded = reasons.dictionary_encode()
            parts = ["", *(f",{label}." + why.replace(",", f",{label}.") for why in coded.dictionary.to_pylist())]
            part = pc.fill_null(coded.indices, -1).to_numpy() + 1
            pairs, row = np.unique(row * len(parts) + part, return_inverse=True)
            spelled = [spelled[pair // len(parts)] + parts[pair % len(parts)] for pair in pairs.tolist()]
        return pa.array([reason[1:] or None for reason in spelled], pa.string()).take(pa.array(row))

    def drop(self, index: int, label: str, reasons: pa.Array) -> None:
        """Drop documents for reasons that were found elsewhere: the verdicts of a corpus step."""
        self._begin()
        self._drop(index, label, reasons)

    def cut(self, index: int, label: str, spans: NDArray[np.int64], reasons: pa.Array) -> None:
        """Take (spans, 3) out of the texts: row, first byte, end. Documents that have nothing left are dropped, too."""
        self._begin()
        replacements = pa.array([""] * len(spans), pa.large_string())
        text = replace_spans(self.docs["text"], spans, replacements)
        self._note(label, {"bytes_before": pa.array(self.sizes[-1])})
        self._new_text(text)
        self.docs = self.docs.set_column(TEXT, DOCUMENT.field(TEXT), text)
        self._drop(index, label, pc.coalesce(reasons, empty(text)))

    def _drop(self, index: int, label: str, reasons: pa.Array) -> None:
        if reasons.null_count == len(reasons):
            return
        if self.reasons and self.reasons[-1][0] == label:  # the step judges documents, and has emptied some
            before = self.reasons.pop()[1]
            joined = pc.binary_join_element_wise(pc.fill_null(before, ""), pc.fill_null(reasons, ""), ",")
            joined = pc.utf8_trim(joined, ",")
            reasons = pc.if_else(pc.equal(joined, ""), NOTHING, joined)
        self.reasons.append((label, reasons))
        failing = reasons.is_valid().to_numpy(zero_copy_only=False)
        self.dropped[failing & (self.dropped == KEPT)] = index

    def needed(self, label: str, needs: tuple[str, ...]) -> dict[str, pa.Array]:
        """What a step asks for by its `needs`."""
        return {name: column for need in needs for name, column in self._needed(label, need).items()}

    def _needed(self, label: str, need: str) -> Columns:
        """What one of a filter's `needs` stands for."""
        if need == "*":
            return {name: self.docs[name] for name in ABOUT} | {"bytes": pa.array(self._sizes()[0])} | self.signals
        names = self.signals if "." in need else MEASURES
        if need not in names:
            hint = did_you_mean(need, names) or "."
            raise RecipeError(f'{label} needs "{need}", and no step before it leaves that, nor is it a measure{hint}')
        return {need: self.signals[need]} if "." in need else self._measure(label, need)

    def _measure(self, label: str, family: str) -> dict[str, pa.Array]:
        """A family of measures of the text as it is now, computed once a version of the text."""
        if family not in self._measured:
            measure = MEASURES[family]
            if measure.statistics not in self._statistics:
                counted = self._guarded(label, lambda docs, _: measure.statistics(docs["text"]))
                self._statistics[measure.statistics] = counted
            self._measured[family] = measure.columns(self._statistics[measure.statistics])
        return self._measured[family]

    def _guarded(
        self, label: str, work: Callable[[pa.RecordBatch, Columns], Any], columns: dict[str, pa.Array] | None = None
    ) -> Any:
        """`work(docs, columns)`. If it raises, the documents that raise alone leave the batch, and the rest goes on.

        `columns` are filtered in place when documents leave. Errors that say something about the recipe, an asset or
        the machine, not about a document, are let through.
        """
        columns = {} if columns is None else columns
        try:
            return work(self.docs, columns)
        except (MemoryError, OSError):
            raise
        except Exception as error:
            if isinstance(error, CorpusmillError) and not isinstance(error, DocumentError):
                raise
            cause = raised(error)
            if not len(self.docs):
                raise RecipeError(f"{label}: fails on an empty batch, with which every unit begins: {cause}") from error
        good = np.ones(len(self.docs), bool)
        for row in range(len(self.docs)):
            try:
                work(self.docs.slice(row, 1), {name: column.slice(row, 1) for name, column in columns.items()})
            except (MemoryError, OSError):
                raise
            except Exception as error:
                if isinstance(error, CorpusmillError) and not isinstance(error, DocumentError):
                    raise
                good[row] = False
                about = self.docs.select(["id", "source", "file", "position", "url"]).slice(row, 1).to_pylist()[0]
                reason = str(error) if isinstance(error, DocumentError) else raised(error)
                self.failed.append(Failed(about, int(self.rows[row]), label, reason))
        if good.all():
            raise DocumentError(
                f"{label}: fails on a batch of {len(self.docs)} documents and on none of them alone: {cause}"
            )
        self._keep(good)
        for name, column in columns.items():
            columns[name] = column.filter(pa.array(good))
        return work(self.docs, columns)

    def _keep(self, rows: NDArray[np.bool_]) -> None:
        selected = self._select(rows)
        for column in fields(self):
            setattr(self, column.name, getattr(selected, column.name))

    def _select(self, rows: NDArray[np.bool_], with_text: bool = True) -> "Batch":
        """The batch of these documents alone. What was evicted and what has failed is the same of both. Without text,
        it is null in `docs`: copies of it are a tenth of a pass that drops much."""
        mask = pa.array(rows)
        docs = self.docs
        if not with_text:
            docs = docs.set_column(TEXT, DOCUMENT.field(TEXT), pa.nulls(len(docs), pa.large_string()))
        part = Batch(docs.filter(mask))
        part.signals = {name: column.filter(mask) for name, column in self.signals.items()}
        part.dropped = self.dropped[rows]
        part.reasons = [(label, reasons.filter(mask)) for label, reasons in self.reasons]
        part.sizes = [size[rows] for size in self.sizes]
        part.text_sizes = [size[rows] for size in self.text_sizes]
        part.failed, part.evicted, part.rows = self.failed, self.evicted, self.rows[rows]
        part.tokens = None if self.tokens is None else self.tokens.filter(mask)
        part.beside = None if self.beside is None else self.beside.filter(mask)
        part.texts_stage = self.texts_stage
        part._texts, part._version_at_step = [text.select(rows) for text in self._texts], [*self._version_at_step]
        part._statistics = {made_by: statistics[rows] for made_by, statistics in self._statistics.items()}
        part._measured = {
            family: {name: column.filter(mask) for name, column in columns.items()}
            for family, columns in self._measured.items()
        }
        return part


@dataclass(frozen=True)
class Version:
    """A version of the text of some documents. Where some of them are gone, it is not copied.

    text   of documents that were once in the batch
    rows   (documents,) where those that are in it now have theirs; None: all, in this order
    """

    text: pa.Array
    rows: NDArray[np.int64] | None = None

    def current(self) -> pa.Array:
        """(documents,) the texts."""
        return self.text if self.rows is None else self.text.take(pa.array(self.rows))

    def select_rows(self, rows: NDArray[np.int64]) -> pa.Array:
        """The texts of some of the documents."""
        return self.text.take(pa.array(rows if self.rows is None else self.rows[rows]))

    def select(self, mask: NDArray[np.bool_]) -> "Version":
        """The same without the documents that are not in the mask."""
        return Version(self.text, np.flatnonzero(mask) if self.rows is None else self.rows[mask])


def empty(text: pa.Array) -> pa.Array:
    """(documents,) "empty" of a text that is null or has nothing but white space, else null."""
    has_text = pc.and_(pc.greater(pc.binary_length(text), 0), pc.invert(pc.utf8_is_space(text)))
    return pc.if_else(pc.fill_null(has_text, False), NOTHING, EMPTY)


def sizes(docs: pa.RecordBatch) -> NDArray[np.int64]:
    """(documents,) bytes of text, or of the page where there is no text yet."""
    return _lengths(pc.coalesce(pc.binary_length(docs["text"]), pc.binary_length(docs["raw"])))


def text_sizes(docs: pa.RecordBatch) -> NDArray[np.int64]:
    """(documents,) bytes of text, 0 where there is none yet."""
    return _lengths(pc.binary_length(docs["text"]))


def _lengths(column: pa.Array) -> NDArray[np.int64]:
    lengths = pc.fill_null(column, 0).to_numpy(zero_copy_only=False)
    return lengths.astype(np.int64)  # type: ignore[no-any-return]
