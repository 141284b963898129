"""Which columns a writer of documents writes, and under which names."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from corpusmill.errors import RecipeError, did_you_mean
from corpusmill.schema import OWN
from corpusmill.write import COLUMNS, COUNT_COLUMNS, SIGNALS, matching

RENAMED_COLUMNS = {"tokens": '; it is called "token_count".'}
DOCUMENT_COLUMNS = (
    *COLUMNS,
    "file",
    "position",
    *COUNT_COLUMNS,
    SIGNALS,
)  # columns of a document, besides single signals

# A list of columns, or column -> the name that it is written under. (The mapping is first: a recipe tells them apart.)
Columns = tuple[tuple[str, str], ...] | tuple[str, ...] | None


@dataclass(frozen=True)
class ColumnSelection:
    """What a writer of documents writes of each.

    columns   column -> its name in the file, in order; a column with a dot in it is a signal, or a pattern of several
    signals   patterns of the signals in the column `signals`; without any there is no such column
    optional  columns that are left out where a batch has none of that name
    """

    columns: tuple[tuple[str, str], ...]
    signals: tuple[str, ...]
    optional: tuple[str, ...] = ()

    @property
    def wanted_signals(self) -> tuple[str, ...]:
        """Patterns of all signals that are written."""
        return (*self.signals, *(column for column, _ in self.columns if "." in column))

    def has(self, column: str) -> bool:
        return any(column == own_column for own_column, _ in self.columns)

    def select(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        """The columns of a batch of documents as they are written.

        Signals are the columns of the batch that have a dot in their names; each of the patterns fits one.
        """
        dotted = [name for name in batch.schema.names if "." in name]
        measured = [name for name in dotted if not name.startswith(OWN)]
        arrays: dict[str, pa.Array] = {}
        for column, name in self.columns:
            if column == SIGNALS:
                fields = matching(self.signals, measured)
                arrays[name] = pa.StructArray.from_arrays([batch[field] for field in fields], fields)
            elif "." in column:
                # A renamed one is a single one, spelled so that nothing in it is a pattern.
                arrays |= {signal if column == name else name: batch[signal] for signal in matching((column,), dotted)}
            elif column in batch.schema.names:
                arrays[name] = batch[column]
            elif column not in self.optional:
                raise RecipeError(f"the documents have no column {column}")
        return pa.RecordBatch.from_arrays(list(arrays.values()), list(arrays))


def as_columns(columns: Any) -> Columns:
    """The parameter `columns` as a recipe gives it, of a list or dict from Python."""
    if columns is None:
        return None
    if isinstance(columns, Mapping):
        return tuple((str(column), str(name)) for column, name in columns.items())
    return tuple(tuple(part) if isinstance(part, list) else part for part in columns)


def selection(
    columns: Columns,
    signals: Sequence[str],
    default: Sequence[str] = (*COLUMNS, *COUNT_COLUMNS),
    own: Sequence[str] = (),
) -> ColumnSelection:
    """What the parameters `columns` and `signals` of a writer ask for.

    default   the columns where `columns` does not say; those that a batch has not are left out
    own       columns of the writer's own, besides KNOWN

    Raises RecipeError for a column that does not exist, naming the nearest; for a name given twice; and if one of
    `columns` and `signals` asks for what the other leaves out.
    """
    for pattern in signals:
        if "." not in pattern and pattern != "*":
            raise RecipeError(f'signals: "{pattern}" is not a signal; they are written step.signal: {pattern}.*')
    if columns is None:
        names = (*default, *((SIGNALS,) if signals else ()))
        return ColumnSelection(tuple((name, name) for name in names), tuple(signals), tuple(COUNT_COLUMNS))
    if not columns:
        raise RecipeError("columns is empty; name those to write, or leave it out")
    pairs = [(column, column) if isinstance(column, str) else column for column in columns]
    allowed = tuple(dict.fromkeys((*DOCUMENT_COLUMNS, *own)))
    for column, name in pairs:
        if "." not in column and column not in allowed:
            suggestion = RENAMED_COLUMNS.get(column) or did_you_mean(column, allowed) or "."
            raise RecipeError(
                f'there is no column "{column}"{suggestion} There are: {", ".join(allowed)}, signals as step.signal, '
                "and columns of the input that `columns: keep` of the reader keeps, as columns.NAME"
            )
        if not name:
            raise RecipeError(f"columns: the name for {column} is empty")
        if "*" in column.replace("[*]", "") and column != name:
            raise RecipeError(f'columns: several signals may fit "{column}", and they cannot all be named "{name}"')
    _once([name for _, name in pairs])
    has_signals = any(column == SIGNALS for column, _ in pairs)
    if has_signals and not signals:
        raise RecipeError(
            'columns has "signals", and no signals are chosen; add signals: [step.*], or name single ones'
        )
    if signals and not has_signals:
        raise RecipeError('columns leaves out "signals", but signals are chosen; add it to columns')
    return ColumnSelection(tuple(pairs), tuple(signals))


def _once(names: Collection[str]) -> None:
    used_names: set[str] = set()
    for name in names:
        if name in used_names:
            raise RecipeError(f'columns: two columns would be named "{name}"')
        used_names.add(name)
