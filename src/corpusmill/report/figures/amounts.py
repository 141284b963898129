"""How much came in and how much was kept: bytes of files, of documents as they were read, and of text, and tokens."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from corpusmill.errors import AssetError, RecipeError
from corpusmill.recipe.names import labels, name_of
from corpusmill.report.tables import RunTables
from corpusmill.report.waterfall import WaterfallRow


@dataclass(frozen=True)
class Amount:
    """Of a run or of one of its sources.

    files           of its input
    input_bytes     of these as they are stored, which is mostly compressed
    read_bytes      of the documents as the first step saw them: of pages, HTML. None of a run by an early version
                    that has no steps
    text_bytes      of their texts: of pages, what was extracted. None as before
    kept_bytes      of the texts that were kept. None as before
    kept_tokens     of these; 0 where the recipe counts none
    """

    files: int
    input_bytes: int
    read_bytes: int | None
    text_bytes: int | None
    kept_bytes: int | None
    kept_tokens: int


@dataclass(frozen=True)
class Amounts:
    """Of the whole run, and by source."""

    whole: Amount
    sources: Mapping[str, Amount]

    def to_json(self) -> dict[str, Any]:
        return {**asdict(self.whole), "sources": {name: asdict(amount) for name, amount in self.sources.items()}}


def amounts(tables: RunTables) -> Amounts:
    """The amounts of a finished run."""
    flow = tables.files.waterfall()
    files = {name: (len(tables.files.inputs[name]), read["bytes"]) for name, read in flow.read.items()}
    count, stored = (sum(part) for part in zip(*files.values()))
    if not flow.rows:
        lengths = tables.files.facts(tables.passes[0][0]).get("lengths", {}).get("bytes", {}) if tables.passes else {}
        text = sum(side["total"] for side in lengths.values()) if lengths else None
        alone = {name: text if len(files) == 1 else None for name in files}
        own = {
            name: Amount(*file_totals, alone[name], alone[name], alone[name], 0) for name, file_totals in files.items()
        }
        return Amounts(Amount(count, stored, text, text, text, 0), own)
    first, last, extracted = flow.rows[0], flow.rows[-1], _extraction(tables, flow.rows)

    def amount(name: str) -> Amount:
        into, out = (row.sources.get(name, {}) for row in (first, last))
        text = extracted.sources.get(name, {}).get("bytes_out", 0) if extracted else into.get("bytes_in", 0)
        ends = out.get("bytes_out", 0), out.get("tokens_out", 0)
        return Amount(*files[name], into.get("bytes_in", 0), text, *ends)

    text = extracted.bytes_out if extracted else first.bytes_in
    run_total = Amount(count, stored, first.bytes_in, text, last.bytes_out, last.tokens_out)
    return Amounts(run_total, {name: amount(name) for name in flow.read})


def _extraction(tables: RunTables, rows: tuple[WaterfallRow, ...]) -> WaterfallRow | None:
    """The last step that makes text of pages; None if there is none, or the recipe cannot be read here."""
    try:
        steps = tables.files.recipe.steps
    except (RecipeError, AssetError):
        return None
    extract_labels = {label for label, step in zip(labels(steps), steps) if name_of(step).startswith("extract/")}
    return next((row for row in reversed(rows) if row.step in extract_labels), None)
