"""Steps of a finished run that dropped all they saw."""

from corpusmill.engine.drive import drops_all as engine
from corpusmill.engine.drive.drops_all import DropsAll, in_words
from corpusmill.report.tables import RunTables


def drops_all(tables: RunTables) -> list[DropsAll]:
    """In the order of the steps."""
    draws = [label for label in tables.labels if f"{label}-draw" in tables.files.stages]
    return [
        dropping_step
        for stage, labels in tables.passes
        for dropping_step in engine.drops_all(labels, tables.files.facts(stage), draws)
    ]


def warnings(tables: RunTables) -> list[str]:
    """A sentence for each."""
    return [in_words(dropping_step, str(tables.folder)) for dropping_step in drops_all(tables)]
