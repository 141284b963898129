"""CCNet, facebookresearch/cc_net: lines that occur elsewhere, WET files."""

from benchmarks.conformance.cases import Case, Counterpart, Reason, proposed


def counterpart(case: Case) -> Counterpart | None:
    if case.function == "normalize" and case.parameters["numbers"]:
        return Counterpart("clean/replace", {"patterns": [[r"\p{Nd}", "0"]]})
    return proposed(case)


REASONS: tuple[Reason, ...] = ()
