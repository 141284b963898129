"""What do a page, its server and its host say of its use?"""

from dataclasses import dataclass
from typing import ClassVar

import pyarrow as pa

from corpusmill.assets.extras import RIGHTS, Extra
from corpusmill.steps import Columns
from corpusmill.steps.rights import AGENTS, WhatIsSaid


@dataclass(frozen=True, kw_only=True)
class AnnotateRights:
    """Keep as signals what a page, its server and its host say of its use: put this step before text extraction.

    Without `captures`, a table of what hosts said that `corpusmill rights` makes of a crawl, what only the host says is
    None.

    robots           how many of `agents` its robots.txt keeps from this page; 0 if the host had none, None if unknown
    robots_agents    their names
    noindex, noai    whether meta elements or X-Robots-Tag say so to all or to one of `agents`; noml is noai
    directives       all that they say
    tdm              1 if text and data mining is reserved, 0 if not: by meta elements, else the header, else
                     tdmrep.json
    tdm_how          page, header or file; tdm_policy: an address
    ai_train         yes or no, by Content-Signal of header and robots.txt; content_signal: all that it says
    train_ai         y or n, by Content-Usage (AIPREF) of header and robots.txt, n where one says so: for train-genai,
                     else train-ai, else bots; content_usage: all that it says
    rsl              the address of a licence by RSL: of a link element, else the header Link, else robots.txt; rsl_how:
                     page, header or robots. What it says is not known, as nothing is fetched
    licence          as annotate/licence finds it: SPDX, else the address; licence_type: by-nc …

    Input other than WARC can have the header's fields as columns, `http_x_robots_tag` and so on.

    Source: RFC 9309; TDM Reservation Protocol, W3C Community Group 2024; https://contentsignals.org;
    draft-ietf-aipref-vocab-06 and draft-ietf-aipref-attach-04; Really Simple Licensing 1.0, https://rslstandard.org/rsl;
    Hernández-Cano et al. 2025 (Apertus), arXiv:2509.14233
    """

    captures: str | None = None  # the path of a table
    agents: tuple[str, ...] = AGENTS  # by the names of robots.txt

    needs: ClassVar[tuple[str, ...]] = ()

    def __post_init__(self) -> None:
        self._rights()

    def signals(self, docs: pa.RecordBatch) -> Columns:
        return self._rights().columns(docs)

    @property
    def assets(self) -> tuple[str, ...]:
        return () if self.captures is None else (self.captures,)

    @property
    def extras(self) -> tuple[Extra, ...]:
        return () if self.captures is None else (RIGHTS,)

    def _rights(self) -> WhatIsSaid:
        return WhatIsSaid(captures=self.captures, agents=self.agents)
