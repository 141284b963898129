"""Which languages the documents are in."""

from dataclasses import dataclass

from corpusmill.report.tables import RunTables, identifier


@dataclass(frozen=True)
class Language:
    """Documents that a step found to be in a language, None if it found none: those that the pass of the step kept,
    and those that it dropped. Of a run with `run.measure_dropped: none`, those are not known, and counted as 0."""

    label: str | None
    kept: int
    dropped: int


@dataclass(frozen=True)
class Languages:
    """What a step that identifies languages found, the most frequent first. `last_step` is the last one of its pass."""

    step: str
    last_step: str
    measured: str  # how far dropped documents were: "all", "first" or "none"
    languages: tuple[Language, ...]


def languages(tables: RunTables) -> list[Languages]:
    """Every step of a run that identifies languages, in order."""
    figures = []
    for number, (_, labels) in enumerate(tables.passes):
        columns = tables.columns(number)
        for step in labels:
            if f"{step}.label" not in columns or f"{step}.score" not in columns:
                continue
            query = (
                f"SELECT {identifier(f'{step}.label')}, count(*) FILTER (dropped_by IS NULL), "
                f"count(*) FILTER (dropped_by IS NOT NULL) FROM ({tables.table('signals', number)}) "
                f"WHERE {tables.is_for(step)} AND {tables.measured(step, number)} "
                "GROUP BY 1 ORDER BY count(*) DESC, 1"
            )
            figures.append(
                Languages(
                    step,
                    labels[-1],
                    tables.files.measure_dropped(number),
                    tuple(Language(*row) for row in tables.tuples(query)),
                )
            )
    return figures
