"""CCNet, facebookresearch/cc_net: lines that occur elsewhere, WET files."""

from benchmarks.conformance.cases import Case, Counterpart, Reason, proposed


def counterpart(case: Case) -> Counterpart | None:
    return proposed(case)


REASONS: tuple[Reason, ...] = ()
