"""Where an answer of ours is not what a peer's test expects."""

import math
from typing import Any

from benchmarks.conformance.ask import Answer
from benchmarks.conformance.cases import Case, Counterpart

Difference = tuple[str, Any, Any]  # what, theirs, ours


def differences(case: Case, ours: Counterpart, answer: Answer) -> list[Difference]:
    """What of `expected` ours can be asked for, and answers otherwise."""
    found: list[Difference] = []
    expected, compare = case.expected, ours.compare

    def check(what: str, theirs: Any, our: Any, equal: bool) -> None:
        if not equal:
            found.append((what, theirs, our))

    if "keep" in expected:
        check("keep", expected["keep"], answer.reasons or "kept", answer.keep == expected["keep"])
        if "reason" in expected and "reason" in compare and not expected["keep"]:
            check("reason", expected["reason"], answer.reasons, compare["reason"] in answer.reasons.split(","))
    if "text" in expected:
        check("text", expected["text"], answer.text, same_text(case, ours, answer))
    text = answer.text if answer.keep and answer.text is not None else ""
    for part in expected.get("contains", ()):
        check("contains", part, text, part in text)
    for part in expected.get("lacks", ()):
        check("lacks", part, text, part not in text)
    for part in expected.get("paragraphs", ()) if ours.step.startswith("extract/") else ():
        check("paragraphs", part, text, " ".join(part.split()) in " ".join(text.split()))
    for theirs, name in compare.get("signals", {}).items():
        if theirs in expected:
            value = answer.signals.get(name)
            check(theirs, expected[theirs], value, same_number(expected[theirs], value, compare.get("round")))
    if "spans" in compare:
        found += span_differences(case, answer)
    if compare.get("found_any"):
        any_found = bool(answer.signals.get("spans"))
        check("found", expected["found"], any_found, expected["found"] == any_found)
    if "sequences" in answer.signals:
        ours_found = answer.signals["sequences"]
        check("sequences", expected["sequences"], ours_found, expected["sequences"] == ours_found)
    if "language" in expected and "language" not in compare.get("signals", {}):
        label, score = answer.signals.get("label"), answer.signals.get("score") or 0
        sure = label if score >= expected.get("min_score", 0) else None
        check("language", expected["language"], sure, expected["language"] == sure)
    if "score_en" in compare:
        is_english = answer.signals.get("label") == "en"
        score = answer.signals.get("score" if is_english else "runner_up_score") or 0.0
        near = abs(score - expected["score_en"]) <= compare["score_en"]
        check("score_en", expected["score_en"], score, near)
    return found


def same_text(case: Case, ours: Counterpart, answer: Answer) -> bool:
    text = answer.text if answer.keep and answer.text is not None else ""
    if not answer.keep and ours.compare.get("peer_drops_empty"):
        return bool(case.expected["text"] == "" or "keep" in case.expected)
    if ours.compare.get("stripped"):
        return bool(text.split() == case.expected["text"].split())
    return bool(text == case.expected["text"])


def same_number(theirs: Any, ours: Any, digits: int | None) -> bool:
    if ours is None or isinstance(theirs, str):
        return bool(theirs == ours)
    if digits is not None:
        return round(float(ours), digits) == round(float(theirs), digits)
    return math.isclose(float(theirs), float(ours), rel_tol=1e-9, abs_tol=1e-12)


def span_differences(case: Case, answer: Answer) -> list[Difference]:
    raw = case.text.encode()
    ours = [
        [len(raw[: span["start"]].decode(errors="ignore")), len(raw[: span["end"]].decode(errors="ignore"))]
        for span in answer.signals.get("spans") or []
    ]
    if "spans" in case.expected:
        theirs = [list(span[:2]) for span in case.expected["spans"]]
        return [] if sorted(ours) == sorted(theirs) else [("spans", theirs, ours)]
    return [] if len(ours) == case.expected["count"] else [("count", case.expected["count"], ours)]
