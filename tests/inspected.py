"""The inspector, asked as a browser asks it: every address with every question that a run allows, and with wrong ones."""

import asyncio
import json
from itertools import product
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

from corpusmill.recipe.names import labels
from corpusmill.report.tables import RunTables

TOKEN = "t0ken"
HERE = b"127.0.0.1:8000"
ANSWERS = {200, 400}
# Numbers as JSON and as text, from what a slider sends to what only somebody who types can.
NUMBERS: tuple[Any, ...] = (
    0,
    1e308,
    -1e308,
    5e-324,
    10**18,
    10**30,
    float("inf"),
    float("nan"),
    None,
    "",
    "x",
    True,
    [],
)
TYPED = ("0", "1e308", "1e400", "-inf", "nan", "1" * 400, "x")


def asking(application: Any) -> Any:
    """Ask an application: status, headers, content. `asked` is sent as JSON."""

    def request(path: str, asked: Any = None, /, host: bytes = HERE, **query: Any) -> tuple[int, dict[str, str], bytes]:
        body = b"" if asked is None else asked if isinstance(asked, bytes) else json.dumps(asked).encode()
        scope: dict[str, Any] = {
            "type": "http",
            "http_version": "1.1",
            "method": "GET" if asked is None else "POST",
            "path": path,
        }
        scope |= {"raw_path": path.encode(), "query_string": urlencode(query).encode(), "headers": [(b"host", host)]}
        scope |= {"scheme": "http", "server": ("127.0.0.1", 8000), "client": ("127.0.0.1", 1), "root_path": ""}
        sent: list[Any] = []
        told = iter([{"type": "http.request", "body": body, "more_body": False}])

        async def receive() -> Any:
            if message := next(told, None):
                return message
            return await asyncio.Event().wait()  # it does not leave

        async def send(message: Any) -> None:
            sent.append(message)

        asyncio.run(application(scope, receive, send))
        headers = {name.decode().lower(): value.decode() for name, value in sent[0]["headers"]}
        return sent[0]["status"], headers, b"".join(message.get("body", b"") for message in sent[1:])

    return request


class Walk:
    """Asks everything of a run. An answer that is neither right nor an error in words fails the test."""

    def __init__(self, folder: str | Path) -> None:
        from corpusmill.inspect.app import Inspector, app

        self.inspector = Inspector(RunTables(folder))
        self.inspector.read_ahead()
        application = app(self.inspector, TOKEN)
        self._ask = asking(application)
        self._left = {getattr(route, "path", "").removeprefix("/{token}/") for route in application.routes}

    def ask(self, name: str, asked: Any = None, /, **query: Any) -> Any:
        """What an address answers; None if it refuses the question."""
        self._left.discard(name)
        status, headers, content = self._ask(f"/{TOKEN}/{name}", asked, **query)
        assert status in ANSWERS, (status, name, asked, query, content)
        if status == 400:
            said = json.loads(content)
            assert list(said) == ["error"] and said["error"], (name, asked, query)
            return None
        return json.loads(content) if headers["content-type"] == "application/json" else content

    def all(self) -> dict[str, Any]:
        """Ask everything; returns what the page is told first."""
        run = self.ask("api/run")
        for page in [name for name in self._left if not name.startswith("api/")]:
            assert self.ask(page) is not None
        self.documents(run)
        for stage in (*run["stages"], "", "no-such-pass"):
            self.stage(stage, stage in run["with_thresholds"], stage in run["stages"])
        self.parameters()
        self.traces()
        assert self.ask("api/agreement") is not None
        assert not self._left, "addresses that nothing here asks"
        return run

    def documents(self, run: Any) -> None:
        ask = self.ask
        for page in ("0", "1", "99999", "999999999999999", "x"):
            ask("api/documents", page=page)
        for name, found in run["facets"].items():
            for value, documents in found:
                assert ask("api/documents", **{name: value})["documents"] == documents
        for signal, sort in product(run["signals"], ("signal", "-signal")):
            assert ask("api/documents", signal=signal, sort=sort) is not None
        for signal, side, value in product(run["signals"][:2], ("low", "high"), TYPED):
            ask("api/documents", signal=signal, **{side: value})
        for about in ({}, {"text": "a"}, {"name": "%"}, {"domain": "x"}, {"sort": "tokens"}, {"sort": "signal"}):
            assert ask("api/documents", **about) is not None
            assert ask("documents.jsonl", **about) is not None
        rows = []
        for outcome, step in product(run["facets"]["outcome"], [*run["facets"]["step"], ("", 0)]):
            rows += ask("api/documents", outcome=outcome[0], step=step[0])["rows"][:1]
        for row in rows:
            where = {name: row[name] for name in ("id", "file", "position")}
            assert ask("api/document", id=row["id"]) is not None
            ask("api/document", tokens="0:999999999999999", **where)
            ask("api/document", tokens="x", **where)
            ask("api/pair", **where)
        for name in ("document", "pair"):
            assert ask(f"api/{name}") is None
        for low in ("1e400", "nan"):
            ask("api/documents", signal="x.y", low=low)

    def stage(self, stage: str, has_thresholds: bool, is_pass: bool) -> None:
        ask = self.ask
        found = ask("api/sliders", stage=stage)
        assert (found is not None) == has_thresholds
        assert (ask("api/estimate", {"stage": stage, "moved": {}}) is not None) == has_thresholds
        wrong: tuple[Any, ...] = ({"x.y": 1}, {"": 1}, [], "x", None)
        for moved in wrong:
            assert ask("api/estimate", {"stage": stage, "moved": moved}) is None
        for slider in found["sliders"] if found else ():
            for value in (*NUMBERS, slider["threshold"], slider["edges"][0], slider["edges"][-1]):
                ask("api/estimate", {"stage": stage, "moved": {slider["key"]: value}})
            ask("api/exact", {"moved": {slider["key"]: None}})
            if not self.measures_nothing:
                assert ask("api/exact", {"moved": {slider["key"]: slider["threshold"]}})
        rows = ask("api/round", stage=stage)
        assert (rows is not None) == is_pass
        for row in (rows or [])[:2]:
            about = {name: row[name] for name in ("stage", "id", "file", "position")}
            assert ask("api/text", **about) is not None
            assert ask("api/mark", {**about, "mark": "unsure"}) is not None
        assert ask("api/text", stage=stage) is None
        assert ask("api/mark", {"stage": stage, "mark": "keep"}) is None

    @property
    def measures_nothing(self) -> bool:
        return self.inspector.tables.files.measure_dropped(0) == "none"

    def parameters(self) -> None:
        steps = self.inspector.tables.files.recipe.steps
        keys = [f"{label}.{name}" for label, step in zip(labels(steps), steps) for name in step.__dataclass_fields__]
        for key in (*keys, *(f"{label}.nothing" for label in labels(steps)), "x.y", ""):
            for name, value in (("exact", 0), ("recipe", 1e308), ("recipe", None)):
                self.ask(f"api/{name}", {"moved": {key: value}})
        for key, number, name in product([*self.inspector.tables.bounds][:2], NUMBERS, ("exact", "recipe")):
            self.ask(f"api/{name}", {"moved": {key: number}})
        wrong: tuple[Any, ...] = ([], "x", None)
        for moved in wrong:
            for name in ("exact", "recipe"):
                assert self.ask(f"api/{name}", {"moved": moved}) is None

    def traces(self) -> None:
        much = 10**14
        assert self.ask("api/trace") is None
        for name, value in product(("step", "row", "shard", "token"), (0, much, -1, "x")):
            self.ask("api/trace", **{name: value})
        for more in ({"batch": much}, {"world": much}, {"seq_len": much}, {"seq_len": 1}, {"seq_len": 0}, {"rank": 5}):
            self.ask("api/trace", step=0, **more)
        others: tuple[dict[str, Any], ...] = ({"seed": -much}, {"order": "stored"}, {"first": much})
        for other in others:
            self.ask("api/trace", step=0, **other)
        for shard, token in product((0, 99), (0, much)):
            self.ask("api/trace", shard=shard, token=token)
            self.ask("api/trace", shard=shard, row=token)
