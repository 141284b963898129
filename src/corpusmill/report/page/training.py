"""What the stages of training read, if the recipe has stages."""

from corpusmill.report.figures.training import HEAD, HEAD_OF_FOLDERS, folders_table, training, training_table
from corpusmill.report.html.markup import Inside, table, tag
from corpusmill.report.tables import RunTables


def section(tables: RunTables) -> list[Inside]:
    stages = training(tables)
    if not stages:
        return []
    words = (
        "Steps are counted over all stages; their rows are of all ranks together. An epoch is as many rows as a folder "
        "has: more than one means that a stage reads it again."
    )
    return [
        table(HEAD, training_table(stages)),
        table(HEAD_OF_FOLDERS, folders_table(stages), words=(0, 1)),
        tag("p", words, class_="note"),
    ]
