"""Presidio, microsoft/presidio: recognisers of personal data."""

from typing import Any

from benchmarks.conformance.cases import Case, Counterpart, Reason
from corpusmill.steps.personal_data import KNOWN

# Recognisers that are called otherwise here; the others have the name of a kind.
KINDS = {"credit_card": "card", "us_ssn": "ssn", "crypto": "wallet"}
COUNTRIES = ["US", "GB", "DE", "IL", "IN", "CA", "BR", "JP", "CN"]  # its own, and two that its tests name


def counterpart(case: Case) -> Counterpart | None:
    kind = KINDS.get(case.function, case.function)
    if kind not in KNOWN:
        return None
    more: dict[str, Any] = {"countries": COUNTRIES} if kind == "phone" else {}
    return Counterpart("annotate/pii", {"kinds": [kind], "public_only": False, **more}, {"spans": True})


REASONS = (
    Reason(
        "theirs",
        "the first four of five numbers with dots are no address, but a part of a longer number, as of an OID",
        cases=r"ip\..*boundary",
    ),
    Reason(
        "definition",
        "two colons alone are an operator of C++ and a mark of lists; here they are an address only between quotes, "
        "with a prefix length, or as a whole text",
        function="ip",
    ),
    Reason(
        "definition",
        "by default a number whose check digit is wrong counts, too; here none does, as with its strict setting",
        function="de_vat_id",
    ),
    Reason(
        "definition",
        "a number that continues a word is none here",
        function="fi_personal_identity_code|se_personnummer",
    ),
    Reason(
        "definition",
        "a weak pattern of any letter and digits counts with a low score; here the form and check of the authority do",
        function="in_pan|sg_fin|it_fiscal_code",
    ),
    Reason(
        "definition",
        'eleven digits in one run after "number" may be of anything; here the word must be one for telephones, or the '
        "number be grouped",
        function="phone",
    ),
    Reason("theirs", "the span has the space before the number", function="uk_nino"),
    Reason("theirs", "the span has the quotation marks around the address", function="url"),
    Reason(
        "definition",
        "nine digits with fewer than two separators are any number here",
        function="us_ssn",
    ),
)
