"""decon, allenai/decon: contamination by benchmarks."""

from benchmarks.conformance.cases import Case, Counterpart, Reason, proposed


def counterpart(case: Case) -> Counterpart | None:
    return proposed(case)


REASONS: tuple[Reason, ...] = ()
