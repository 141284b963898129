"""text-dedup, ChenghaoMou/text-dedup: normalisation, similarity, clusters."""

from benchmarks.conformance.cases import Case, Counterpart, Reason, proposed

# As CCNet: every digit is 0, without punctuation, signs, and characters that are not seen. dedup/minhash folds
# otherwise: punctuation is a space and a number is one 0 (or stays), as in datatrove.
NORMALIZE = [[r"\p{Nd}", "0"], [r"[\p{P}\p{S}\p{Cc}\p{Cf}]", ""], [r"\A\s+|\s+\z", ""]]


def counterpart(case: Case) -> Counterpart | None:
    if case.function == "normalize":
        return Counterpart("clean/replace", {"patterns": NORMALIZE, "lower": True})
    return proposed(case)


REASONS: tuple[Reason, ...] = ()
