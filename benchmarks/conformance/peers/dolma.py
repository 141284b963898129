"""Dolma, allenai/dolma: taggers, and guards of token ids."""

from benchmarks.conformance.cases import Case, Counterpart, Reason, proposed


def counterpart(case: Case) -> Counterpart | None:
    if case.function == "cc_re":
        return Counterpart(
            "annotate/licence", {}, {"signals": {name: name for name in ("type", "version", "language")}}
        )
    return Counterpart("periodic") if "min_period" in case.parameters else proposed(case)


REASONS = (
    Reason(
        "definition",
        "the share of a top n-gram is of the characters of all n-grams of that length; here of the document's",
        cases=r".*top_ngrams",
    ),
    Reason(
        "definition",
        "the list that ships is ours, and lacks words that are mostly harmless",
        cases=r"naughty",
        theirs="filter/toxicity: {lexicon: PATH, max_share: 0.0}, with the list of that test as PATH",
    ),
    Reason(
        "definition",
        "a listed page also means all pages below it",
        cases=r"links\[",
        theirs="filter/keep_where with a condition on url",
    ),
)
