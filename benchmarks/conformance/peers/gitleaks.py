"""gitleaks, gitleaks/gitleaks: secrets, and strings that look like some. Cases are not shown: they look like keys."""

from benchmarks.conformance.cases import Case, Counterpart, Reason, proposed


def counterpart(case: Case) -> Counterpart | None:
    return proposed(case)


REASONS = (
    Reason(
        "missing",
        "a vendor's format that the scan does not know, or a value in a form that it does not",
        cases=r".*\.tp\[",
    ),
    Reason(
        "definition",
        "the scan takes a value beside a word such as key or password for a secret that gitleaks leaves alone",
        cases=r".*\.fp\[",
    ),
)
