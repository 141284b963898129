"""Personal data with a recognisable form: addresses, numbers of telephones, people and accounts, keys and secrets."""

from dataclasses import dataclass

import pyarrow as pa

from corpusmill.steps import Columns
from corpusmill.steps.personal_data import KNOWN, FormsOf, Kind, check_countries, find
from corpusmill.steps.phone_regions import PhoneRegions
from corpusmill.steps.redact._redaction import Redaction, check, drop_reasons, redact
from corpusmill.steps.redact._redaction import without_own as without_own  # noqa: PLC0414 - for the report


@dataclass(frozen=True, kw_only=True)
class RedactPii(Redaction):
    """Replace personal data by placeholders that name their kind ("write to <EMAIL>") or by pseudonyms, or drop the
    document.

        placeholder   "<EMAIL>", or the text in `placeholders`
        pseudonym     a value of the same form that belongs to nobody, the same for the same value everywhere; it cannot
                      be traced back without the key
        tag           "<EMAIL>jane@host.example</EMAIL>"
        drop          the document is dropped, and the kind is the reason
        leave         it is counted, and the text is not changed

    A second pass finds nothing. FineWeb writes email@example.com, and 22.214.171.124 and others in turn: set
    `placeholders`. `key: env:NAME` takes the environment variable NAME, anything else is the path of a file; with
    another key the step is computed again.

    Kinds are defined in `corpusmill.text.pii`: numbers are checked (Luhn, mod 97, calling codes). A telephone number
    has a "+" or the American form, or a word that says what it is, or is valid in one of `countries`, else in the
    country of the document's URL or language. `forms: plain` leaves out the last two, and e-mail addresses that are
    international, quoted, in HTML entities or spelled ("jane [at] host [dot] org"), as FineWeb does; Message-IDs are
    then addresses. An IP address counts if it is public, or reserved for documentation; `public_only=False` counts all.

    Signals: `emails`, `ips`, `phones`, …, for each of `kinds`, and `found`; with `spans=True`, `spans`: kind, start and
    end of each, in bytes of the input.

    Source: Penedo et al. 2024 (FineWeb), arXiv:2406.17557; Soldaini et al. 2024 (Dolma), arXiv:2402.00159
    """

    kinds: tuple[Kind, ...] = ("email", "ip")  # what to look for
    public_only: bool = True  # of IP addresses
    forms: FormsOf = "any"  # plain: e-mail addresses and telephone numbers in their plain forms only
    countries: tuple[str, ...] = ()  # of telephone numbers in national form: two capitals, as DE

    def __post_init__(self) -> None:
        check("redact/pii", KNOWN, self)
        check_countries("redact/pii", self.countries)

    @property
    def assets(self) -> tuple[str, ...]:
        return (self.key,) if self.key is not None else ()

    def transform(self, docs: pa.RecordBatch) -> pa.RecordBatch:
        return redact(
            self,
            docs,
            find(docs["text"], self.kinds, self.public_only, self.forms, PhoneRegions(docs, self.countries)),
        )

    def reasons(self, docs: pa.RecordBatch, signals: Columns) -> pa.Array:
        return drop_reasons(self, KNOWN, signals)
