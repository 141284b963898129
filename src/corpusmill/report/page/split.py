"""What is kept back for validation, if the recipe splits."""

from corpusmill.report.figures.split import SPLIT_HEAD, split_sides, split_table, warnings
from corpusmill.report.html.markup import Inside, table, tag
from corpusmill.report.numbers import number
from corpusmill.report.tables import RunTables


def section(tables: RunTables) -> list[Inside]:
    sides = split_sides(tables)
    if not sides:
        return []
    parts: list[Inside] = [table(SPLIT_HEAD, split_table(sides))]
    sources = sorted({source for side in sides for source in side.documents})
    if len(sources) > 1:
        rows = [[source, *(number(side.documents.get(source, 0)) for side in sides)] for source in sources]
        parts.append(table(["source", *(side.name for side in sides)], rows))
    return parts + [tag("p", warning, class_="note") for warning in warnings(tables)]
