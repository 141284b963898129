"""What a mix planned to draw from each source, and what it drew."""

from dataclasses import dataclass

from corpusmill.report.numbers import number
from corpusmill.report.tables import RunTables

MIX_HEAD = (
    *("source", "documents", "{unit} available", "target share", "target {unit}"),
    *("epochs", "{unit} drawn", "share drawn"),
)


@dataclass(frozen=True)
class MixedSource:
    """A source in a mix, counted in the unit of the mix.

    documents         that reached the mix, and `there`, their amount
    share, wanted     the planned share of all that is drawn, and the amount that this makes
    drawn             the amount drawn, repeats included
    drawn_documents   documents that were drawn at all
    appearances       documents that were drawn, repeats included
    """

    source: str
    documents: int
    there: int
    share: float
    wanted: int
    drawn: int
    drawn_documents: int
    appearances: int

    @property
    def epochs(self) -> float:
        return self.drawn / self.there if self.there else 0.0


@dataclass(frozen=True)
class Mix:
    """A step that mixes sources. `unit` is what its amounts are in: "tokens", "bytes" or "documents"."""

    step: str
    unit: str
    sources: tuple[MixedSource, ...]


def mixes(tables: RunTables) -> list[Mix]:
    """Every mix of a run, sources in the order of the recipe, or buckets."""
    drawn = []
    for step in tables.labels:
        facts = tables.files.facts(f"{step}-draw").get("mix")
        if facts:
            unit = tables.files.stages[f"{step}-draw"].notes["unit"][0]
            names = [s for s in tables.files.inputs if s in facts] or sorted(facts, key=_by_bucket)
            drawn.append(Mix(step, unit, tuple(MixedSource(name, **facts[name]) for name in names)))
    return drawn


def _by_bucket(name: str) -> tuple[str, int]:
    """Buckets as mix/buckets names them, topic/number, in the order of both."""
    topic, slash, bucket = name.rpartition("/")
    return (topic, int(bucket)) if slash else ("", 0)


def mix_table(mix: Mix) -> tuple[list[str], list[list[str]]]:
    """Head and rows, the last of them the sum: the same on the page and in the terminal."""
    total, target = sum(source.drawn for source in mix.sources), sum(source.wanted for source in mix.sources)
    rows = [
        [
            source.source,
            number(source.documents),
            number(source.there),
            f"{100 * source.share:.2f} %",
            number(source.wanted),
            f"{source.epochs:.2f}",
            number(source.drawn),
            f"{100 * source.drawn / total:.2f} %" if total else "–",
        ]
        for source in mix.sources
    ]
    available = sum(source.there for source in mix.sources)
    documents = sum(source.documents for source in mix.sources)
    rows.append(["all", number(documents), number(available), "", number(target), "", number(total), ""])
    return [name.format(unit=mix.unit) for name in MIX_HEAD], rows
