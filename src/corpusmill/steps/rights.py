"""What hosts and pages say of their use, as columns: annotate/rights keeps them, and filter/rights judges by them."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import orjson
import pyarrow as pa

from corpusmill.assets import load
from corpusmill.errors import RecipeError
from corpusmill.formats.charset import decode
from corpusmill.formats.code import licences
from corpusmill.formats.rights.rights import directives, may_say, metas, reservation
from corpusmill.formats.rights.robots import TOKEN, robots, settings
from corpusmill.formats.rights.usage import joined, of_path, preferences, rsl_in_header, rsl_in_page, training
from corpusmill.steps import Columns
from corpusmill.steps.captures import Capture, Captures, origin_of

# Those that collect text for training models, by the names that their operators give for robots.txt.
AGENTS = (
    *("AI2Bot", "Amazonbot", "anthropic-ai", "Applebot-Extended", "Bytespider", "CCBot", "ClaudeBot", "cohere-ai"),
    *("cohere-training-data-crawler", "Diffbot", "FacebookBot", "Google-Extended", "GPTBot", "Meta-ExternalAgent"),
    *("omgili", "PanguBot", "Timpibot"),
)
SCHEMA: dict[str, pa.DataType] = {
    "robots": pa.int32(),
    "robots_agents": pa.string(),
    "noindex": pa.bool_(),
    "noai": pa.bool_(),
    "directives": pa.string(),
    "tdm": pa.int32(),
    "tdm_how": pa.string(),
    "tdm_policy": pa.string(),
    "ai_train": pa.string(),
    "content_signal": pa.string(),
    "train_ai": pa.string(),
    "content_usage": pa.string(),
    "rsl": pa.string(),
    "rsl_how": pa.string(),
    "licence": pa.string(),
    "licence_type": pa.string(),
}
NO_AI = frozenset({"noai", "noml"})  # DeviantArt's, and the one of some hosts
OK, CLIENT_ERRORS = 200, range(400, 500)
TOO_MANY = 429
IN_METADATA = '"http_'


@dataclass(frozen=True, kw_only=True)
class WhatIsSaid:
    """The columns of SCHEMA, for a list of agents and a table of captures. Raises RecipeError for a name that no agent
    can have, AssetError if there is no table."""

    captures: str | None
    agents: tuple[str, ...]

    def __post_init__(self) -> None:
        for agent in self.agents:
            if not TOKEN.fullmatch(agent):
                raise RecipeError(
                    f'agents: "{agent}" is no name of an agent: it is letters, digits, "-" and "_", as in GPTBot, '
                    "without a version"
                )
        self._table()

    def _table(self) -> Captures | None:
        return None if self.captures is None else load(self.captures, Captures)

    def columns(self, docs: pa.RecordBatch) -> Columns:
        values_by_name: dict[str, list[Any]] = {name: [None] * len(docs) for name in SCHEMA}
        table, names = self._table(), frozenset(agent.lower() for agent in self.agents)
        columns = (docs[name].to_pylist() for name in ("raw", "charset", "url", "metadata"))
        for row, (raw, charset, url, metadata) in enumerate(zip(*columns)):
            row_values = self._values(raw, charset, url, metadata, table, names)
            for name, value in row_values.items():
                values_by_name[name][row] = value
        return {name: pa.array(values, SCHEMA[name]) for name, values in values_by_name.items()}

    def _values(
        self,
        raw: bytes | None,
        charset: str | None,
        url: str | None,
        metadata: str | None,
        table: Captures | None,
        names: frozenset[str],
    ) -> dict[str, Any]:
        values: dict[str, Any] = {}
        header = _header(metadata)
        page = None
        if raw is not None and (may_say(raw) or licences.may_name_any(raw)):
            page = decode(raw, charset)
        elements = metas(page) if page is not None else {}
        origin = origin_of(url) if url and table else None
        of_host = table.find(origin, "robots") if table and origin else None
        file = table.find(origin, "tdmrep") if table and origin else None
        signals = settings(header.get("content_signal", ""))
        usage = [preferences(header.get("content_usage", ""))]
        if of_host is not None and url is not None:
            values |= self._robots(of_host, url, signals, usage)
        if any(usage):
            values["train_ai"] = training(usage)
            values["content_usage"] = ",".join(f"{name}={value}" for name, value in sorted(joined(usage).items()))
        if licence := rsl_in_page(page, url or "") if page is not None else None:
            values |= {"rsl": licence, "rsl_how": "page"}
        elif licence := rsl_in_header(header.get("link", ""), url or ""):
            values |= {"rsl": licence, "rsl_how": "header"}
        if raw is not None or "x_robots_tag" in header:
            directive_names = directives(elements, header.get("x_robots_tag", ""), names)
            values |= {"noindex": "noindex" in directive_names, "noai": not NO_AI.isdisjoint(directive_names)}
            values["directives"] = ",".join(directive_names) or None
        reserved = reservation(
            elements,
            header.get("tdm_reservation"),
            header.get("tdm_policy"),
            file.body if file and file.status == OK else None,
            url or "",
        )
        if reserved is not None:
            values |= {"tdm": reserved.reserved, "tdm_how": reserved.how, "tdm_policy": reserved.policy}
        if signals:
            values["ai_train"] = signals.get("ai-train")
            values["content_signal"] = ",".join(f"{name}={value}" for name, value in sorted(signals.items()))
        if page is not None and (page_licences := licences.licences(page)):
            values |= {"licence": page_licences[0].name or page_licences[0].url, "licence_type": page_licences[0].type}
        return values

    def _robots(
        self, capture: Capture, url: str, signals: dict[str, str], usage: list[dict[str, str]]
    ) -> dict[str, Any]:
        """Which agents a host keeps from an address, and its licence; and to `signals` and `usage`, what its
        Content-Signal and Content-Usage say to any of them."""
        if capture.status in CLIENT_ERRORS and capture.status != TOO_MANY:  # there is no such file: nothing is refused
            return {"robots": 0}
        if capture.status != OK:
            return {}
        file = robots(capture.body)
        refused = [agent for agent in self.agents if not file.allows(agent, url)]
        for agent in self.agents:
            for name, value in file.group(agent).signals.items():
                signals[name] = "no" if "no" in (value, signals.get(name)) else value
            usage.append(of_path(file.group(agent).usage, url))
        values: dict[str, Any] = {"robots": len(refused), "robots_agents": ",".join(refused) or None}
        if file.licences:
            values |= {"rsl": file.licences[0], "rsl_how": "robots"}
        return values


def _header(metadata: str | None) -> Mapping[str, str]:
    """What the server said with the page, as read/warc keeps it."""
    if not metadata or IN_METADATA not in metadata:
        return {}
    try:
        fields = orjson.loads(metadata)
    except orjson.JSONDecodeError:
        return {}
    return {
        name.removeprefix("http_"): value
        for name, value in fields.items()
        if name.startswith("http_") and isinstance(value, str)
    }
