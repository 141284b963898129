"""datamap-rs of Dolma 3, allenai/datamap-rs: filters and modifiers of documents and lines."""

import re

from benchmarks.conformance.cases import Case, Counterpart, Reason, proposed

BULLETS, ELLIPSES = "●•*-", ["...", ". . .", "…"]


def counterpart(case: Case) -> Counterpart | None:
    ours = proposed(case)
    if case.function == "SubstringLineModifier" and case.parameters.get("remove_substring_only", True):
        begin = "(?m)^" if case.parameters.get("location") == "prefix" else ""
        return Counterpart("clean/replace", {"patterns": [[f"{begin}{re.escape(case.parameters['banlist'])} ?", ""]]})
    if ours is None:
        return None
    if case.function == "BulletFilter":
        return ours.but(bullets=BULLETS)
    if case.function == "EllipsisLineRatioFilter":
        return ours.but(ellipses=ELLIPSES)
    if case.function == "SymbolRatioFilter":
        bound = case.parameters["max_symbol_to_word_ratio"]
        rules = {"rules": ["max_symbol_ratio"], "max_symbol_ratio": bound, "ellipses": ELLIPSES}
        return Counterpart("filter/gopher_quality", rules)
    if case.function == "LineLenModifier":  # a document of which no line is left is dropped
        return ours.then("filter/basic", rules=["min_words"], min_words=1)
    return ours


REASONS = (
    Reason(
        "definition",
        "an ellipsis of three dots with spaces counts three times among the words there are; ours is one of the words' "
        "marks",
        function="SymbolRatioFilter",
    ),
    Reason(
        "definition",
        "all lines that occur more than once count, the first one too; here those that occurred before, as in "
        "Gopher's table A1 and datatrove",
        function="_rep_counter_fraction",
    ),
)
