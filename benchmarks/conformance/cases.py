"""Vectors: what the tests of other projects give to a function, and what they expect of it."""

import gzip
import json
import re
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal


@dataclass(frozen=True)
class Case:
    """One call in a peer's tests.

    name         unique within the peer
    input        what is given: `text`, `html`, `url`, `docs`, `lengths`, …
    parameters   in the peer's words
    expected     what its test asserts
    proposed     the step of ours that the vectors name, with its parameters and how to compare; None without one
    """

    peer: str
    name: str
    area: str
    input: dict[str, Any]
    parameters: dict[str, Any]
    expected: dict[str, Any]
    proposed: dict[str, Any] | None

    @property
    def function(self) -> str:
        """The peer's name of what is called."""
        names = ("function", "class", "op", "tagger", "filter", "stats", "recognizer", "rule", "content", "mode")
        return str(next((self.parameters[name] for name in names if name in self.parameters), self.name))

    @property
    def text(self) -> str:
        return str(self.input.get("text", ""))


@dataclass(frozen=True)
class Counterpart:
    """What of ours answers a case.

    step         its name in a recipe, or that of a function in `ask`
    compare      how: `signals`: the peer's name -> ours, or "step:ours" for a measure; `reason`: our reason; `spans`,
                 `found_any`; `round`: digits; `peer_drops_empty`: a text of nothing is the peer's way to drop
    """

    step: str
    parameters: dict[str, Any] = field(default_factory=dict)
    compare: dict[str, Any] = field(default_factory=dict)
    after: tuple[tuple[str, dict[str, Any]], ...] = ()  # further steps that the document passes through

    def then(self, step: str, **parameters: Any) -> "Counterpart":
        """The same with one more step."""
        return replace(self, after=(*self.after, (step, parameters)))

    def but(self, **parameters: Any) -> "Counterpart":
        """The same with other parameters."""
        return replace(self, parameters=self.parameters | parameters)


@dataclass(frozen=True)
class Reason:
    """Why answers differ.

    kind       "theirs" is a fault of theirs; "definition": both are right, by other definitions; "missing": we have no
               parameter for it; "ours": a fault of ours, not mended yet
    cases      a regular expression that fits the names of the cases from their beginning …
    function   … and one that fits what they call, whole
    why        a sentence
    theirs     how to get what the peer gives, if there is a way: steps of a recipe, or words
    """

    kind: Literal["theirs", "definition", "missing", "ours"]
    why: str
    cases: str = ""
    function: str = ".*"
    theirs: str = ""

    def fits(self, case: Case) -> bool:
        return bool(re.match(self.cases, case.name) and re.fullmatch(self.function, case.function))


def read_cases(folder: Path, peer: str) -> list[Case]:
    """The cases of one peer, in the order of its file. Raises SystemExit if there is none."""
    path = folder / f"{peer}.jsonl.gz"
    if not path.is_file():
        raise SystemExit(f"{path}: not there. DIR/vectors holds the vectors of other projects, a PEER.jsonl.gz each.")
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        fields = ("peer", "case", "area", "input", "parameters", "expected", "ours")
        return [Case(*(record[name] for name in fields)) for record in map(json.loads, lines)]


def patterns(*expressions: str, **bounds: Any) -> Counterpart:
    """filter/patterns, for any of these."""
    return Counterpart(
        "filter/patterns", {"patterns": {"found": "|".join(f"(?:{one})" for one in expressions)}, **bounds}
    )


def by_stats(condition: str) -> Counterpart:
    """annotate/stats and filter/keep_where: a condition on the signals of a step that is called `ours`."""
    return Counterpart("annotate/stats").then("filter/keep_where", condition=condition)


def proposed(case: Case) -> Counterpart | None:
    """The counterpart that the vectors name."""
    if case.proposed is None:
        return None
    return Counterpart(case.proposed["step"], case.proposed["parameters"], case.proposed.get("compare") or {})
