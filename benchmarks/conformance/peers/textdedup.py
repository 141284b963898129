"""text-dedup, ChenghaoMou/text-dedup: normalisation, similarity, clusters."""

from benchmarks.conformance.cases import Case, Counterpart, Reason, proposed


def counterpart(case: Case) -> Counterpart | None:
    return proposed(case)


REASONS = (
    Reason(
        "definition",
        "punctuation and signs are removed there, and every digit becomes 0; here punctuation is a space and a number "
        "is one 0 (or stays, as is the default of dedup/minhash), as in datatrove",
        function="normalize",
    ),
)
