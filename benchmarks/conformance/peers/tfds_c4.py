"""The original C4, tensorflow/datasets: clean_page and what follows it."""

from benchmarks.conformance.cases import Case, Counterpart, Reason, proposed


def counterpart(case: Case) -> Counterpart | None:
    return proposed(case)


REASONS: tuple[Reason, ...] = ()
