"""Steps that drop every document they see: nearly always a mistake in the recipe, and the whole corpus is lost."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from shlex import quote

from corpusmill.display import is_command
from corpusmill.store.facts import Facts, total

FEWEST = 20  # documents that a step has seen: that it drops all of fewer says nothing
NAMED = 3  # reasons


@dataclass(frozen=True)
class DropsAll:
    """A step that drops all it sees, or all of a source.

    source      None: of every source that reaches it
    documents   that came to it
    reasons     first failing rule -> documents, the most frequent first
    """

    step: str
    source: str | None
    documents: int
    reasons: Mapping[str, int]


def drops_all(labels: Sequence[str], facts: Facts, draws: Sequence[str] = ()) -> list[DropsAll]:
    """Those of the steps of a pass that drop all of FEWEST documents or more, by what the pass has counted.

    draws   labels of steps that leave out sources on purpose, as a mix does
    """
    findings = []
    for label in labels:
        counted = {
            source: flow
            for source, flow in facts.get("steps", {}).get(label, {}).items()
            if "passed_through" not in flow and flow["documents_in"]
        }
        dropped_of = {source: flow["documents_in"] for source, flow in counted.items() if not flow["documents_out"]}
        reasons = facts.get("reasons", {}).get(label, {})
        if dropped_of and len(dropped_of) == len(counted) and sum(dropped_of.values()) >= FEWEST:
            findings.append(DropsAll(label, None, sum(dropped_of.values()), _ordered(reasons, dropped_of)))
        elif label not in draws:
            findings += [
                DropsAll(label, source, documents, _ordered(reasons, [source]))
                for source, documents in dropped_of.items()
                if documents >= FEWEST
            ]
    return findings


def _ordered(reasons: Facts, sources: Sequence[str] | Mapping[str, int]) -> dict[str, int]:
    counted = total(reasons.get(source, {}) for source in sources)
    return dict(sorted(counted.items(), key=lambda item: (-item[1], item[0])))


def in_words(finding: DropsAll, run: str | None = None, context: str = "") -> str:
    """A sentence on it, with what to do next.

    run   whose documents can be looked at; None: there is none yet
    context   which documents were seen, where these are not all: " in a sample of the input"

    >>> print(in_words(DropsAll("html", None, 563, {"empty": 563})).partition(". ")[0])
    html drops every document: all 563 that reach it, for empty (563)
    """
    about = "" if finding.source is None else f" of source {finding.source}"
    reasons = [f"{name} ({count:,})" for name, count in finding.reasons.items()]
    rest_of_reasons = [f"{len(reasons) - NAMED} more"] if len(reasons) > NAMED else []
    why = f", for {', '.join([*reasons[:NAMED], *rest_of_reasons])}" if reasons else ""
    remainder = "Nothing" if finding.source is None else "Nothing of it"
    first = f"Look at some with `{_look(run, finding.step)}`, then change" if run else "Change"
    aside = "remove it" if finding.source is None else "name the sources that it is for in `only`"
    return (
        f"{finding.step} drops every document{about}: all {finding.documents:,} that reach it{context}{why}. "
        f"{remainder} is left for the steps after it. {first} the step, or {aside}"
    )


def _look(run: str, step: str) -> str:
    if is_command():
        return f"corpusmill peek {quote(run)} --dropped {step}"
    return f"corpusmill.open({run!r}).dropped()"
