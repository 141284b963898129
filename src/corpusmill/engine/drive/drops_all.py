"""Steps that drop every document they see: nearly always a mistake in the recipe, and the whole corpus is lost."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

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
    found = []
    for label in labels:
        counted = {
            source: flow
            for source, flow in facts.get("steps", {}).get(label, {}).items()
            if "passed_through" not in flow and flow["documents_in"]
        }
        gone = {source: flow["documents_in"] for source, flow in counted.items() if not flow["documents_out"]}
        reasons = facts.get("reasons", {}).get(label, {})
        if gone and len(gone) == len(counted) and sum(gone.values()) >= FEWEST:
            found.append(DropsAll(label, None, sum(gone.values()), _ordered(reasons, gone)))
        elif label not in draws:
            found += [
                DropsAll(label, source, documents, _ordered(reasons, [source]))
                for source, documents in gone.items()
                if documents >= FEWEST
            ]
    return found


def _ordered(reasons: Facts, sources: Sequence[str] | Mapping[str, int]) -> dict[str, int]:
    counted = total(reasons.get(source, {}) for source in sources)
    return dict(sorted(counted.items(), key=lambda item: (-item[1], item[0])))


def in_words(one: DropsAll, run: str | None = None, of: str = "") -> str:
    """A sentence on it, with what to do next.

    run   whose documents can be looked at; None: there is none yet
    of    which documents were seen, where these are not all: " in a sample of the input"

    >>> print(in_words(DropsAll("html", None, 563, {"empty": 563})).partition(". ")[0])
    html drops every document: all 563 that reach it, for empty (563)
    """
    about = "" if one.source is None else f" of source {one.source}"
    reasons = [f"{name} ({count:,})" for name, count in one.reasons.items()]
    more = [f"{len(reasons) - NAMED} more"] if len(reasons) > NAMED else []
    why = f", for {', '.join([*reasons[:NAMED], *more])}" if reasons else ""
    left = "Nothing" if one.source is None else "Nothing of it"
    first = f"Look at some with `corpusmill peek {run} --dropped {one.step}`, then change" if run else "Change"
    aside = "remove it" if one.source is None else "name the sources that it is for in `only`"
    return (
        f"{one.step} drops every document{about}: all {one.documents:,} that reach it{of}{why}. "
        f"{left} is left for the steps after it. {first} the step, or {aside}"
    )
