"""How the tokens were packed into training rows, and whether the engine agrees with the reference tokenizer."""

from corpusmill.report.figures.engine_check import engine_check, in_words
from corpusmill.report.figures.packing import packing, packing_table, written_table
from corpusmill.report.html.markup import Inside, table, tag
from corpusmill.report.tables import RunTables


def section(tables: RunTables) -> list[Inside]:
    parts: list[Inside] = []
    if rows := packing_table(packing(tables.files.waterfall())):
        parts.append(table(["", ""], rows))
    if rows := written_table(tables.files.waterfall()):
        parts.append(table(["written without packing", "", ""], rows))
    if words := in_words(engine_check(tables)):
        parts.append(tag("p", words))
    return parts
