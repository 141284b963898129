"""Steps of a finished run that dropped all they saw, or nearly all of a script."""

from corpusmill.engine.drive import drops_all as engine
from corpusmill.engine.drive.drops_all import DropsAll, DropsScript
from corpusmill.report.tables import RunTables


def losses(tables: RunTables) -> list[DropsAll | DropsScript]:
    """In the order of the passes."""
    draws = [label for label in tables.labels if f"{label}-draw" in tables.files.stages]
    return [loss for stage, labels in tables.passes for loss in engine.losses(labels, tables.files.facts(stage), draws)]


def drops_all(tables: RunTables) -> list[DropsAll]:
    """In the order of the steps."""
    return [loss for loss in losses(tables) if isinstance(loss, DropsAll)]


def warnings(tables: RunTables, run: str | None = None) -> list[str]:
    """A sentence for each.

    run   as the sentences name it; None: by its folder
    """
    return [loss.in_words(run or str(tables.folder)) for loss in losses(tables)]
