"""What the stages of training read, if the recipe has stages."""

from corpusmill.report.figures.training import FOLDERS_HEAD, TRAINING_HEAD, folders_table, training, training_table
from corpusmill.report.html.markup import Inside, table, tag
from corpusmill.report.tables import RunTables


def section(tables: RunTables) -> list[Inside]:
    stages = training(tables)
    if not stages:
        return []
    words = (
        "Steps are numbered over all stages; rows per step are those of all ranks. An epoch is one pass over the rows "
        "of a folder: with more than one, a stage reads rows again."
    )
    return [
        table(TRAINING_HEAD, training_table(stages)),
        table(FOLDERS_HEAD, folders_table(stages), words=(0, 1)),
        tag("p", words, class_="note"),
    ]
