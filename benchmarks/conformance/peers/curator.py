"""NeMo Curator, NVIDIA-NeMo/Curator: heuristic filters, modifiers, extraction."""

import re

from benchmarks.conformance.cases import Case, Counterpart, Reason, patterns, proposed

# It drops a text without words wherever a share cannot be computed.
DROPS_EMPTY = ("NonAlphaNumericFilter",)

QUOTED = (
    r'(?s)\A"([^\n]+|[^\n]*[^\n"]\n.*)"\z'  # a text in quotation marks, of which no line but the last ends with one
)


def counterpart(case: Case) -> Counterpart | None:
    ours = proposed(case)
    if case.function == "LineRemover":
        named = "|".join(map(re.escape, case.parameters["args"][0]))
        return Counterpart("filter/lines", {"patterns": {"named": rf"\A(?:{named})\z"}}, {"peer_drops_empty": True})
    if case.function == "UrlsFilter":
        expression = case.parameters.get("url_regex", r"https?://\S+")
        return patterns(expression, max_share=case.parameters.get("max_url_to_text_ratio", 0.2))
    if case.function == "QuotationRemover":
        return Counterpart("clean/replace", {"patterns": [[QUOTED, r"\1"]]})
    if ours is None:
        return None
    if case.function == "UnicodeReformatter":
        return ours.then("clean/replace", patterns=[["[‘’]", "'"], ["[“”]", '"']])
    if case.function in ("UrlRemover", "regex_url.findall"):
        return ours.but(tidy=False)
    if case.function == "WordCountFilter" and "lang" not in case.parameters:
        bounds = {name: case.parameters[name] for name in ("min_words", "max_words")}
        return Counterpart("filter/basic", {"rules": list(bounds), **bounds})
    if case.function == "SymbolsToWordsFilter":
        bound = case.parameters["max_symbol_to_word_ratio"]
        return Counterpart("filter/gopher_quality", {"rules": ["max_symbol_ratio"], "max_symbol_ratio": bound})
    if case.function in DROPS_EMPTY:
        return ours.then("filter/basic", rules=["min_words"], min_words=1)
    return ours


REASONS = (
    Reason(
        "definition",
        "a line is compared as it is there, with the white space around it, and the gaps around a removed line stay",
        function="LineRemover",
    ),
    Reason(
        "definition",
        "words of Chinese and Japanese are those of a dictionary there; here text without spaces is one word",
        cases=r"TestHeuristicFilters\.test_wordcount_(ja|zh)",
        function="WordCountFilter",
    ),
    Reason(
        "definition",
        "a blank line ends in LF; CR LF is made LF by `controls`, which is switched off here to keep it",
        function="NewlineNormalizer",
        theirs="clean/normalize: {max_blank_lines: 1}, which also makes CR LF LF",
    ),
)
