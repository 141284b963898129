"""Drop what its owner does not want to be trained on."""

from dataclasses import dataclass
from typing import ClassVar

import pyarrow as pa
import pyarrow.compute as pc

from corpusmill.assets.extras import RIGHTS, Extra
from corpusmill.steps import Columns
from corpusmill.steps.rights import AGENTS, WhatIsSaid
from corpusmill.steps.verdict import join_reasons


@dataclass(frozen=True, kw_only=True)
class FilterRights:
    """Drop pages whose use is reserved: by robots.txt, noai, TDM reservation, Content-Signal, Content-Usage
    (AIPREF) or licence.

    Put it before text extraction. The signals are those of annotate/rights. What is not said drops nothing, unless
    `unknown_robots` is on. Reasons, each a parameter that switches it on or off:

    robots            the host keeps one of `agents` from the page
    noai              meta elements or X-Robots-Tag say noai or noml
    tdm               text and data mining is reserved
    content_signal    Content-Signal says ai-train=no
    content_usage     Content-Usage (AIPREF) says train-ai=n, or so of train-genai or bots
    rsl               a licence by RSL is named: its terms are in a file that is not read, so it is off
    noindex           meta elements or X-Robots-Tag say noindex: it is about search, so it is off
    noncommercial     the licence is one of Creative Commons that forbids commercial use
    no_derivatives    … or changed copies
    unknown_robots    there is no capture of robots.txt of the host

    It is no legal advice. The report says how many tokens each costs.

    Source: RFC 9309; TDM Reservation Protocol, W3C Community Group 2024; https://contentsignals.org;
    draft-ietf-aipref-vocab-06 and draft-ietf-aipref-attach-04; Really Simple Licensing 1.0, https://rslstandard.org/rsl
    """

    captures: str | None = None  # the path of a table that `corpusmill rights` makes
    agents: tuple[str, ...] = AGENTS  # by the names of robots.txt
    robots: bool = True
    noai: bool = True
    tdm: bool = True
    content_signal: bool = True
    content_usage: bool = True
    rsl: bool = False
    noindex: bool = False
    noncommercial: bool = False
    no_derivatives: bool = False
    unknown_robots: bool = False

    needs: ClassVar[tuple[str, ...]] = ()
    RIGHTS: ClassVar[tuple[str, ...]] = (
        *("robots", "noai", "tdm", "content_signal", "content_usage", "rsl", "noindex"),
        *("noncommercial", "no_derivatives", "unknown_robots"),
    )
    threshold_parameters: ClassVar[tuple[str, ...]] = RIGHTS

    def __post_init__(self) -> None:
        self._rights()

    def signals(self, docs: pa.RecordBatch) -> Columns:
        return self._rights().columns(docs)

    def reasons(self, docs: pa.RecordBatch, signals: Columns) -> pa.Array:
        reservations = reserved(signals)
        hits = {name: reservations[name] for name in self.RIGHTS if getattr(self, name)}
        return join_reasons(**hits) if hits else pa.nulls(len(signals["robots"]), pa.string())

    @property
    def assets(self) -> tuple[str, ...]:
        return () if self.captures is None else (self.captures,)

    @property
    def extras(self) -> tuple[Extra, ...]:
        return () if self.captures is None else (RIGHTS,)

    def _rights(self) -> WhatIsSaid:
        return WhatIsSaid(captures=self.captures, agents=self.agents)


def reserved(signals: Columns) -> dict[str, pa.Array]:
    """(documents,) bool each, null where nothing is said: which reservations there are, by the names of the rules."""
    kinds = pc.fill_null(signals["licence_type"], "")
    return {
        "robots": pc.greater(signals["robots"], 0),
        "noai": signals["noai"],
        "tdm": pc.equal(signals["tdm"], 1),
        "content_signal": pc.equal(signals["ai_train"], "no"),
        "content_usage": pc.equal(signals["train_ai"], "n"),
        "rsl": pc.is_valid(signals["rsl"]),
        "noindex": signals["noindex"],
        "noncommercial": pc.match_substring(kinds, "nc"),
        "no_derivatives": pc.match_substring(kinds, "nd"),
        "unknown_robots": pc.is_null(signals["robots"]),
    }
