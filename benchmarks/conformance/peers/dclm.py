"""DCLM, mlfoundations/dclm: filters, and modifiers of lines, of RefinedWeb's rules."""

import re
from typing import Any

from benchmarks.conformance.cases import Case, Counterpart, Reason, by_stats, patterns, proposed

BULLETS, ELLIPSES = "●•*-", ["...", ". . .", "…"]


LENGTHS = {"char": "characters", "line": "lines", "paragraph": "paragraphs"}


def substrings(call: dict[str, Any]) -> Counterpart | None:
    """Documents with one of some texts, anywhere or at an end, are dropped; case is ignored."""
    given = call.get("banlist", (call.get("args") or [None])[0])
    if given is None:
        return None
    found = "|".join(map(re.escape, [given] if isinstance(given, str) else given))
    found = rf"\b(?:{found})\b" if call.get("exact_word") else found
    at = {"prefix": rf"\A(?:{found})", "suffix": rf"(?:{found})\z"}.get(call.get("location", ""), found)
    case = "" if call.get("case_sensitive") else "(?i)"
    return patterns(f"{case}{at}", max_count=0)


def counterpart(case: Case) -> Counterpart | None:
    ours = proposed(case)
    call = {**case.parameters.get("factory", {}), **case.parameters.get("call", {})}
    if case.function == "substring_filter":
        return substrings(call)
    if case.function == "page_length_filter" and call["args"][0] in LENGTHS:
        unit, *bounds = call["args"]
        named = zip((">=", "<="), bounds)
        return by_stats(" and ".join(f"ours.{LENGTHS[unit]} {sign} {bound}" for sign, bound in named))
    if ours is None:
        return None
    if case.function == "bullet_count_filter":
        return ours.but(bullets=BULLETS)
    if case.function == "ellipsis_count_filter":
        return ours.but(ellipses=ELLIPSES)
    if case.function == "symbol_ratio_filter":
        bound = call.get("max_symbol_to_word_ratio", next(iter(call.get("args", ())), 0.1))
        rules = {"rules": ["max_symbol_ratio"], "max_symbol_ratio": bound, "ellipses": ELLIPSES}
        return Counterpart("filter/gopher_quality", rules)
    if case.function == "url_substring_filter" and not call.get("ignore_chars"):
        return ours.but(sub_words_across=False)
    if case.function == "url_removal_modifier":
        return ours.but(bare=True)
    if case.function == "repetition_filter":  # a text without n-grams is dropped
        return ours.then("filter/basic", rules=["min_words"], min_words=1)
    return ours


REASONS = (
    Reason(
        "definition",
        "characters of repeated n-grams and lines are counted of the characters without white space, and of lines the "
        "first occurrence too",
        function="repetition_filter",
    ),
    Reason(
        "definition",
        'words are those of Unicode\'s word breaks there, which takes "so...yeah" apart; here white space '
        "separates them",
        function="page_length_filter",
    ),
    Reason(
        "definition",
        "the share of capitals is of all characters of a line; here of those that are not white space",
        function="uppercase_ratio_line_modifier",
    ),
    Reason(
        "definition",
        "theirs keeps the blank lines around a removed line; here the widest of the gaps is left",
        function="within_page_dedup",
    ),
    Reason(
        "definition",
        "NLTK's model sees no end of a sentence after \"...\"; here it ends one, as for C4's rule in datatrove",
        function="split_sentences",
    ),
)
