"""Steps that drop every document they see, or nearly every one of a script: nearly always a mistake in the recipe, and
the whole corpus, or a language of it, is lost."""

import unicodedata
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from shlex import quote

from corpusmill.display import is_command
from corpusmill.engine.work.batch import KEPT, Batch
from corpusmill.store.facts import Facts, total

FEWEST = 20  # documents that a step has seen: that it drops all of fewer says nothing
FEWEST_OF_SCRIPT = 8  # the same, of a script among others
NEARLY_ALL = 0.9  # of the documents of a script
NAMED = 3  # reasons
JUDGED_CHARS = 500  # of a text, which decide its script
EAST_ASIAN = dict.fromkeys(("CJK", "HIRAGANA", "KATAKANA", "KATAKANA-HIRAGANA", "BOPOMOFO"), "Chinese or Japanese")


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

    def __str__(self) -> str:
        counts = ", ".join(f"{name} ({count:,})" for name, count in [*self.reasons.items()][:NAMED])
        return (
            f"{self.step} drops {self.dropped:,} of {self.documents:,} documents in {self.script} script in a sample "
            f"of the input, for {counts}: its words and bounds are those of English. filter/fineweb2 has others for "
            "each language; or give it `words: by_script`, which cuts words where no spaces are, and null for the "
            "rules that only English fits"
        )


def drops_script(labels: Sequence[str], batches: Iterable[Batch]) -> list[DropsScript]:
    """Those of the steps of a pass that drop nearly all documents of a script but Latin for rules on words.

    batches   as the steps have left them, in a run or a trial of one
    """
    reached, dropped = Counter[tuple[int, str]](), dict[tuple[int, str], Counter[str]]()
    for batch in batches:
        scripts = [main_script(text or "") for text in batch.counted_texts().to_pylist()]
        reasons = {label: answer.to_pylist() for label, answer in batch.reasons}
        for row, (script, at) in enumerate(zip(scripts, batch.dropped.tolist())):
            reached.update((step, script) for step in range(len(labels) if at == KEPT else at + 1))
            rule = "" if at == KEPT else (reasons[labels[at]][row] or "").partition(",")[0]
            if "word" in rule:
                dropped.setdefault((at, script), Counter())[rule] += 1
    return [
        DropsScript(labels[at], script, reached[at, script], rules.total(), dict(rules.most_common()))
        for (at, script), rules in sorted(dropped.items())
        if script not in ("", "Latin")
        and reached[at, script] >= FEWEST_OF_SCRIPT
        and rules.total() >= NEARLY_ALL * reached[at, script]
    ]


def main_script(text: str) -> str:
    """The script of most letters at the beginning of a text, by their names in Unicode; "" without letters.

    >>> main_script("Die Mühle"), main_script("東京の川はきれいです。"), main_script("реке"), main_script("12")
    ('Latin', 'Chinese or Japanese', 'Cyrillic', '')
    """
    letters = (unicodedata.name(char, "").partition(" ")[0] for char in text[:JUDGED_CHARS] if char.isalpha())
    scripts = Counter(EAST_ASIAN.get(name, name.capitalize()) for name in letters)
    return max(scripts, key=lambda script: (scripts[script], script), default="")


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
