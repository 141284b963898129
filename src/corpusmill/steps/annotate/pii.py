"""How much personal data is in a document, and where?"""

from dataclasses import dataclass

import pyarrow as pa

from corpusmill.steps import Columns
from corpusmill.steps.personal_data import KNOWN, FormsOf, Kind, check_countries, check_kinds, find
from corpusmill.steps.phone_regions import PhoneRegions


@dataclass(frozen=True, kw_only=True)
class AnnotatePii:
    """Count personal data of each kind; the text is not changed.

    `kinds`, `forms` and `countries` are those of redact/pii. Signals: `emails`, `ips`, `phones`, …, one for each of
    `kinds`, and `found`, their total; with `spans=True`, `spans`: kind, start and end of each, in bytes of the text.

    Source: Soldaini et al. 2024 (Dolma), arXiv:2402.00159
    """

    kinds: tuple[Kind, ...] = ("email", "ip", "phone", "ssn", "card", "iban", "mac", "secret", "wallet")
    public_only: bool = True  # of IP addresses
    forms: FormsOf = "any"  # plain: e-mail addresses and telephone numbers in their plain forms only
    countries: tuple[str, ...] = ()  # of telephone numbers in national form: two capitals, as DE
    spans: bool = False

    def __post_init__(self) -> None:
        check_kinds("annotate/pii", KNOWN, self.kinds)
        check_countries("annotate/pii", self.countries)

    def signals(self, docs: pa.RecordBatch) -> Columns:
        return find(docs["text"], self.kinds, self.public_only, self.forms, PhoneRegions(docs, self.countries)).columns(
            self.spans
        )
