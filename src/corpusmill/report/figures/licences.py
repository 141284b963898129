"""Which licences the kept documents are under, where a column of the run says it."""

from dataclasses import dataclass

import pyarrow as pa

from corpusmill.report.tables import RunTables, identifier
from corpusmill.report.views import documents

LICENCE_COLUMNS = ("licence", "license", "spdx")  # of columns, whatever step is before the dot


@dataclass(frozen=True)
class LicenceFigure:
    """name   as the column has it; None of documents for which it has none
    documents, bytes, tokens   that were kept
    """

    name: str | None
    documents: int
    bytes: int
    tokens: int


@dataclass(frozen=True)
class Licences:
    """What one column says, most documents first."""

    column: str
    licences: tuple[LicenceFigure, ...]


def licences(tables: RunTables) -> list[Licences]:
    """A figure for each column of signals that is named for licences. Reads the signals of all documents."""
    columns = {name: kind for number in range(len(tables.passes)) for name, kind in tables.columns(number).items()}
    licence_columns = [name for name, kind in columns.items() if _is_licence(name) and pa.types.is_string(kind)]
    return [
        Licences(
            column,
            tuple(
                LicenceFigure(*row)
                for row in tables.tuples(
                    f"SELECT nullif({identifier(column)}, '') AS name, count(*), sum(bytes)::BIGINT, "
                    f"coalesce(sum(tokens), 0)::BIGINT FROM ({documents(tables)}) WHERE kept "
                    "GROUP BY 1 ORDER BY 2 DESC, 1 NULLS LAST"
                )
            ),
        )
        for column in licence_columns
    ]


def _is_licence(column: str) -> bool:
    return column.rpartition(".")[2].lower() in LICENCE_COLUMNS
