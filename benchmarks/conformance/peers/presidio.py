"""Presidio, microsoft/presidio: recognisers of personal data."""

from benchmarks.conformance.cases import Case, Counterpart, Reason, proposed


def counterpart(case: Case) -> Counterpart | None:
    return proposed(case)


REASONS = (
    Reason("missing", "a network of cards that is not known here", function="credit_card"),
    Reason(
        "definition",
        "a value inside a longer one, or a form that is not public, is left alone here",
        function="ip|mac.*|url|email",
    ),
    Reason(
        "missing",
        "forms of numbers that need a country, or separators that are not known here",
        function="phone|us_ssn|iban|.*",
    ),
)
