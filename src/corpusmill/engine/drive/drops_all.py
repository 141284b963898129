"""Steps that drop every document they see, or nearly every one of a script: nearly always a mistake in the recipe, and
the whole corpus, or a language of it, is lost."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from shlex import quote

from corpusmill.display import is_command
from corpusmill.store.facts import Facts, total

FEWEST = 20  # documents that a step has seen: that it drops all of fewer says nothing
FEWEST_OF_SCRIPT = 8  # the same, of a script among others
LEAST_SHARE = 0.01  # of the documents that a step has seen, in such a script
NEARLY_ALL = 0.9  # of the documents of a script
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

    def in_words(self, run: str | None = None, context: str = "") -> str:
        """A sentence on it, with what to do next.

        run       whose documents can be looked at; None: there is none yet
        context   which documents were seen, where these are not all: " in a sample of the input"

        >>> print(DropsAll("html", None, 563, {"empty": 563}).in_words().partition(". ")[0])
        html drops every document: all 563 that reach it, for empty (563)
        """
        about = "" if self.source is None else f" of source {self.source}"
        reasons = [f"{name} ({count:,})" for name, count in self.reasons.items()]
        rest_of_reasons = [f"{len(reasons) - NAMED} more"] if len(reasons) > NAMED else []
        why = f", for {', '.join([*reasons[:NAMED], *rest_of_reasons])}" if reasons else ""
        remainder = "Nothing" if self.source is None else "Nothing of it"
        first = f"Look at some with `{_look(run, self.step)}`, then change" if run else "Change"
        aside = "remove it" if self.source is None else "name the sources that it is for in `only`"
        return (
            f"{self.step} drops every document{about}: all {self.documents:,} that reach it{context}{why}. "
            f"{remainder} is left for the steps after it. {first} the step, or {aside}"
        )


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


@dataclass(frozen=True)
class DropsScript:
    """A step whose rules on words drop nearly all documents of a script, in which words are others than in English.

    documents, dropped   that came to it, and those of them that it drops for such a rule
    reasons              first failing rule -> documents, the most frequent first
    """

    step: str
    script: str
    documents: int
    dropped: int
    reasons: Mapping[str, int]

    def in_words(self, run: str | None = None, context: str = "") -> str:
        """A sentence on it, as `DropsAll.in_words`."""
        counts = ", ".join(f"{name} ({count:,})" for name, count in [*self.reasons.items()][:NAMED])
        return (
            f"{self.step} drops {self.dropped:,} of {self.documents:,} documents in {self.script} script{context}, for "
            f"{counts}: its words and bounds are those of English. filter/fineweb2 has others for each language; or "
            "give it `words: by_script`, which cuts words where no spaces are, and null for the rules that only "
            "English fits"
        )


def drops_script(labels: Sequence[str], facts: Facts) -> list[DropsScript]:
    """Those of the steps of a pass that drop nearly all documents of a script but Latin for rules on words, by what the
    pass has counted. Few documents among many say nothing: the wrong language, or damage."""
    findings = []
    for label in labels:
        reached = sum(flow["documents_in"] for flow in facts.get("steps", {}).get(label, {}).values())
        for script, counted in sorted(facts.get("scripts", {}).get(label, {}).items()):
            rules = Counter[str](counted.get("rules", {}))
            documents, dropped = counted["documents"], rules.total()
            if documents >= max(FEWEST_OF_SCRIPT, LEAST_SHARE * reached) and dropped >= NEARLY_ALL * documents:
                findings.append(DropsScript(label, script, documents, dropped, dict(rules.most_common())))
    return findings


def losses(labels: Sequence[str], facts: Facts, draws: Sequence[str] = ()) -> list[DropsAll | DropsScript]:
    """`drops_all`, then `drops_script`."""
    return [*drops_all(labels, facts, draws), *drops_script(labels, facts)]


def _look(run: str, step: str) -> str:
    if is_command():
        return f"corpusmill peek {quote(run)} --dropped {step}"
    return f"corpusmill.open({run!r}).dropped()"
