"""How much was read of each source, and how much of it was kept."""

from dataclasses import dataclass
from typing import Literal

from corpusmill.report.figures.amounts import amounts
from corpusmill.report.tables import RunTables


@dataclass(frozen=True)
class SourceFigure:
    """A source of the recipe.

    files, bytes, records   of its input; bytes as they are stored, which is mostly compressed
    text_bytes, kept_bytes  of its texts, and of those of them that were kept; None where that is not known
    documents               that it holds
    kept                    of these, after the last step
    amount                  of the kept documents, in the unit of Sources
    """

    source: str
    files: int
    bytes: int
    records: int
    documents: int
    kept: int
    amount: int
    text_bytes: int | None = None
    kept_bytes: int | None = None


@dataclass(frozen=True)
class SourceFigures:
    """All sources, in the order of the recipe. `total` is the amount of all kept documents, in tokens if the recipe has
    a tokenizer."""

    unit: Literal["tokens", "bytes"]
    total: int
    sources: tuple[SourceFigure, ...]


def sources(tables: RunTables) -> SourceFigures:
    """The sources of a finished run."""
    flow = tables.files.waterfall()
    last = flow.rows[-1] if flow.rows else None
    tokens = last.tokens_out if last else 0
    unit: Literal["tokens", "bytes"] = "tokens" if tokens else "bytes"
    source_amounts = amounts(tables).sources
    rows = []
    for name, read in flow.read.items():
        own = last.sources.get(name, {}) if last else {}
        kept_documents, amount = own.get("documents_out", 0), own.get(f"{unit}_out", 0)
        texts = source_amounts[name].text_bytes, source_amounts[name].kept_bytes
        files = source_amounts[name].files
        rows.append(
            SourceFigure(name, files, read["bytes"], read["records"], read["documents"], kept_documents, amount, *texts)
        )
    return SourceFigures(unit, tokens or (last.bytes_out if last else 0), tuple(rows))
