"""The text of a finished run's documents, in files as a run would have written them."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa

from corpusmill.engine.plan.own_columns import with_own_columns
from corpusmill.engine.work.documents import TOKENS, documents_of, wanted_signals, wants_tokens
from corpusmill.engine.work.pass_documents import PassDocuments
from corpusmill.engine.work.pass_results import TEXT_GROUPS
from corpusmill.engine.work.signals import check_signals
from corpusmill.engine.work.split import SPLIT, SplitSubset, split_counts, text_groups
from corpusmill.engine.work.text_files import UNLIMITED, TextFilePart, megabytes_of, part_files, text_files
from corpusmill.errors import InputError
from corpusmill.store.unit_io import Upstream
from corpusmill.write import DocumentWriter, WritesBeside, file_name

Progress = Callable[[int, int], None]


class KeptTexts:
    """The kept documents of a run, from the files of its last pass.

    side        of the recipe's split: those are left out that are not of it; None: all
    documents   how many there are
    bytes       of text, before its encoding in a file
    drawn       the column that says how often a mix draws each document, if it has one

    Raises InputError if the run is not finished, or has not what is wanted of it.
    """

    def __init__(
        self, run: Path, signals: Sequence[str] = (), tokens: bool = False, side: SplitSubset | None = None
    ) -> None:
        from corpusmill.report.run_files import RunFiles

        files = RunFiles(run)
        files.must_be_finished()
        last = files.passes[-1][0]
        self._results = files.stages[last]
        self._passes = [stage for stage, _ in files.passes] if signals else []
        self._signals = tuple(signals)
        if signals:
            names = [name for number in range(len(files.passes)) for name in files.columns(number) if "." in name]
            check_signals([_Measured(names)], [("export", self._signals)])
        if tokens and TOKENS not in files.stages:
            raise InputError(
                f"{run}: the run made no tokens. Add tokenize/bpe to its recipe, with a writer of tokens, and run it "
                "again."
            )
        self._read = {last: self._results, **{stage: files.stages[stage] for stage in self._passes}}
        if tokens:
            self._read[TOKENS] = files.stages[TOKENS]
        self._before = PassDocuments(last, files.texts_of(last))
        self._read[self._before.texts] = files.stages[self._before.texts]
        self._side = side
        if side:
            self._read[SPLIT] = files.stages[SPLIT]
        self._gone = files.forgotten
        self._folder = files.folder
        self._sized = files.stages[SPLIT] if side else self._results
        self._note = text_groups(side.name) if side else TEXT_GROUPS
        self.documents = split_counts(files.stages)[side.name] if side else int(self._results["docs"].rows.sum())
        noted = self._sized.notes[self._note] if len(self._sized) else ()
        self.bytes = sum(int(size) for unit in noted for size in unit.split(",") if size)
        columns = files.columns(len(files.passes) - 1)
        self.drawn = next((name for name in columns if name.endswith(".copies")), None)

    def files(self, megabytes: int = UNLIMITED) -> Iterator[Iterator[pa.RecordBatch]]:
        """The batches of each file of so many megabytes of text."""
        for file in text_files(megabytes, self._sized, self._note):
            units = [part.unit for part in file.parts]
            yield self._batches(units, part_files(file, self._read, self._before, self._passes))

    def _batches(self, units: Sequence[int], parts: Sequence[TextFilePart]) -> Iterator[pa.RecordBatch]:
        files = Upstream(self._folder)
        for unit, part in zip(units, parts):
            among, once = None, False
            if self._side:
                path = self._read[SPLIT][SPLIT].path(unit)
                among, once = self._side.chosen(files.arrays(path)), not self._side.is_repeated
            for batch in documents_of(part, self.drawn, files, self._signals, among, once):
                yield batch if self._gone is None else batch.filter(pa.array(~self._gone.among(batch)))


def write_texts(
    run: Path, writer: DocumentWriter, folder: Path, progress: Progress, side: SplitSubset | None = None
) -> int:
    """The documents, of one side of the recipe's split if that is given, as a writer of a recipe has them. Returns how
    many there are."""
    from corpusmill.report.run_files import RunFiles

    finished = RunFiles(run)
    finished.must_be_finished()
    if len(finished.own_columns):
        writer = with_own_columns(writer, finished.own_types, ("token_count",) if TOKENS in finished.stages else ())
    texts = KeptTexts(run, wanted_signals(writer), wants_tokens(writer), side)
    count = 0

    def counted(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        nonlocal count
        for batch in batches:
            yield batch
            count += len(batch)
            progress(count, texts.documents)

    for number, batches in enumerate(texts.files(megabytes_of(writer))):
        if isinstance(writer, WritesBeside):
            files = {key: folder / file_name(writer, number, key) for key in writer.places}
            for path in files.values():
                path.parent.mkdir(parents=True, exist_ok=True)
            writer.write_files(counted(batches), files, file_name(writer, number, ""))
        else:
            writer.write(counted(batches), folder / file_name(writer, number, writer.suffix))
    return count


@dataclass(frozen=True)
class _Measured:
    """The signals that a finished run has."""

    names: list[str]

    def signal_names(self) -> list[str]:
        return self.names
