"""What the owners of pages say of their use, and what it costs to do as they say."""

from dataclasses import dataclass

from corpusmill.report.tables import RunTables, identifier, literal
from corpusmill.report.views import documents

# How each reservation shows in the signals of annotate/rights and filter/rights: as `filter/rights` judges.
RESERVATION_CONDITIONS = {
    "robots": "{robots} > 0",
    "noai": "{noai}",
    "tdm": "{tdm} = 1",
    "content_signal": "{ai_train} = 'no'",
    "content_usage": "{train_ai} = 'n'",
    "rsl": "{rsl} IS NOT NULL",
    "noindex": "{noindex}",
    "noncommercial": "contains({licence_type}, 'nc')",
    "no_derivatives": "contains({licence_type}, 'nd')",
    "unknown_robots": "{robots} IS NULL",
}
RIGHTS_SIGNALS = (
    *("robots", "robots_agents", "noai", "noindex", "tdm", "ai_train", "train_ai", "rsl", "licence_type"),
)


@dataclass(frozen=True)
class Reserved:
    """Documents of which one thing is said: a reservation, or that an agent is kept out.

    documents, bytes, tokens      all of them, whatever became of them
    dropped, dropped_tokens       those that the step dropped, this being a reason
    alone, alone_tokens           those that fail no other rule of any step: what would be kept without it
    """

    name: str
    documents: int
    bytes: int
    tokens: int
    dropped: int
    dropped_tokens: int
    alone: int
    alone_tokens: int


@dataclass(frozen=True)
class RightsFigure:
    """What one step found.

    documents, bytes, tokens   that came to it or were dropped before: all that the signals are about
    reserved                   by reservation, in the order of the step's rules
    agents                     by agent that robots.txt keeps out, most tokens first
    """

    step: str
    documents: int
    bytes: int
    tokens: int
    reserved: tuple[Reserved, ...]
    agents: tuple[Reserved, ...]


def rights(tables: RunTables) -> list[RightsFigure]:
    """A figure for each step annotate/rights or filter/rights of the run. Reads the signals of all documents."""
    columns = {name for number in range(len(tables.passes)) for name in tables.columns(number)}
    labels = {name.removesuffix(".robots_agents") for name in columns if name.endswith(".robots_agents")}
    complete = (label for label in sorted(labels) if columns >= {f"{label}.{name}" for name in RIGHTS_SIGNALS})
    return [_figure_of_step(tables, label) for label in complete]


def _figure_of_step(tables: RunTables, label: str) -> RightsFigure:
    columns = {name: identifier(f"{label}.{name}") for name in RIGHTS_SIGNALS}
    of_all = "count(*), coalesce(sum(bytes), 0)::BIGINT, coalesce(sum(tokens), 0)::BIGINT"
    ((count, size, tokens),) = tables.tuples(f"SELECT {of_all} FROM ({documents(tables)})")
    rows = [
        _reserved(tables, label, rule, condition.format(**columns), f"FROM ({documents(tables)})")
        for rule, condition in RESERVATION_CONDITIONS.items()
    ]
    agents = tables.tuples(
        f"SELECT DISTINCT unnest(string_split({columns['robots_agents']}, ',')) AS agent FROM ({documents(tables)}) "
        "ORDER BY agent"
    )
    listed = f"list_contains(string_split({columns['robots_agents']}, ','), "
    by_agent = [
        _reserved(tables, label, "robots", f"{listed}{literal(agent)})", f"FROM ({documents(tables)})", agent)
        for (agent,) in agents
    ]
    by_agent.sort(key=lambda agent: (-agent.tokens, -agent.documents, agent.name))
    reserved = tuple(reservation for reservation in rows if reservation.documents)
    return RightsFigure(label, count, size, tokens, reserved, tuple(by_agent))


def _reserved(
    tables: RunTables, label: str, rule: str, condition: str, source: str, name: str | None = None
) -> Reserved:
    reason = literal(f"{label}.{rule}")
    dropped = f"dropped_by = {literal(label)} AND list_contains(string_split(reasons, ','), {reason})"
    alone = f"dropped_by = {literal(label)} AND reasons = {reason}"
    ((count, size, tokens, *lost),) = tables.tuples(
        "SELECT count(*), coalesce(sum(bytes), 0)::BIGINT, coalesce(sum(tokens), 0)::BIGINT, "
        + ", ".join(
            f"count(*) FILTER ({which}), coalesce(sum(tokens) FILTER ({which}), 0)::BIGINT"
            for which in (dropped, alone)
        )
        + f" {source} WHERE {condition}"
    )
    return Reserved(name or rule, count, size, tokens, *lost)
