"""National numbers, dates and URLs: kinds of personal data that are looked for only by name.

Each is a regular expression, and a check of the digits where the authority has one. The names are those of Presidio's
entities. A number that only has the form of one is found, too, where there is no check: one in ten random numbers
passes most checks. So name those of the countries that the texts are from.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from corpusmill.text.array_types import Int64s
from corpusmill.text.buffers import TextBuffer
from corpusmill.text.pii import checks

_MONTH = (
    "(?:Jan(?:uary)?|Feb(?:ruary)?|Mar(?:ch)?|Apr(?:il)?|May|June?|July?|Aug(?:ust)?|Sep(?:t(?:ember)?)?|Oct(?:ober)?"
    "|Nov(?:ember)?|Dec(?:ember)?)"
)
_M, _D = "(?:1[0-2]|0?[1-9])", "(?:[12][0-9]|3[01]|0?[1-9])"
_YEAR = "(?:[0-9]{4}|[0-9]{2})"
_CLOCK = r"T[0-9]{2}:[0-9]{2}(?::[0-9]{2}(?:\.[0-9]{1,9})?)?(?:Z|[+-][0-9]{2}:?[0-9]{2})?"
_DATE = (
    rf"[0-9]{{4}}-(?:1[0-2]|0[1-9])-(?:[12][0-9]|3[01]|0[1-9]){_CLOCK}"
    rf"|[0-9]{{4}}([-./]){_M}\1{_D}|{_M}([-./]){_D}\2{_YEAR}|{_D}([-./]){_M}\3{_YEAR}"
    rf"|(?:{_D}[ -]{_MONTH}|{_MONTH}[ -]{_D})(?:,?[ -][0-9]{{4}})?|{_MONTH}[ -][0-9]{{4}}"
    rf"|{_M}/(?:[0-9]{{4}}|[0-9]{{1,2}})"
)
_POSTCODE = (
    "(?:GIR ?0AA|[A-PR-UWYZ](?:[0-9]{1,2}|[A-HK-Y][0-9]|[A-HK-Y][0-9][0-9]|[0-9][A-HJKPSTUW]"
    "|[A-HK-Y][0-9][ABEHMNPRV-Y]) ?[0-9][ABD-HJLNP-UW-Z]{2})"
)
_HOST = r"(?:[A-Za-z0-9-]{1,63}\.)+[A-Za-z]{2,24}"
_URL = (
    rf"(?:https?|ftp)://(?:{_HOST}|[0-9.]{{7,15}}|localhost)(?::[0-9]+)?(?:[/?#][^\s<>\"'`]*[^\s<>\"'`.,;:!?)\]}}])?/?"
    rf"|(?<![@\w.-])(?:www\.{_HOST}|(?:[A-Za-z0-9-]{{2,63}}\.)+(?:com|org|net|edu|gov|io|(?:co|ac|org)\.[a-z]{{2}}))(?:/[^\s<>\"'`]*[^\s<>\"'`.,;:!?)\]}}]|/)?"
)


@dataclass(frozen=True)
class Id:
    """A kind: its form, and the check that its letters and digits pass in capitals."""

    name: str
    form: str
    check: checks.Check = checks.always


IDS = (
    Id("us_itin", r"9[0-9]{2}[ -]?(?:5[0-9]|6[0-5]|7[0-9]|8[0-8]|9[0-24-9])[ -]?[0-9]{4}"),
    Id("us_passport", r"[A-Z][0-9]{8}"),
    Id("us_npi", r"[12][0-9]{3}(?:([- ])[0-9]{3}\1[0-9]{3}|[0-9]{6})", checks.npi),
    Id(
        "us_mbi",
        r"(?i:[1-9][AC-HJKMNP-RT-Y][AC-HJKMNP-RT-Y0-9][0-9](-?)[AC-HJKMNP-RT-Y][AC-HJKMNP-RT-Y0-9][0-9]\1[AC-HJKMNP-RT-Y]{2}[0-9]{2})",
    ),
    Id("aba_routing", r"[0123678][0-9]{3}(-?)[0-9]{4}\1[0-9]", checks.aba),
    Id("ca_sin", r"[1-79][0-9]{2}([ -]?)[0-9]{3}\1[0-9]{3}", checks.sin),
    Id("uk_nhs", r"[0-9]{3}([ -]?)[0-9]{3}\1[0-9]{4}", checks.nhs),
    Id(
        "uk_nino",
        r"(?i:(?!BG|GB|KN|NK|NT|TN|ZZ)[A-CEGHJ-PR-TW-Z][A-CEGHJ-NPR-TW-Z] ?[0-9]{2} ?[0-9]{2} ?[0-9]{2} ?[A-D])",
    ),
    Id("uk_passport", r"[A-Z]{2}[0-9]{7}"),
    Id("uk_postcode", _POSTCODE),
    Id("au_abn", r"[0-9]{2}( ?)[0-9]{3}\1[0-9]{3}\1[0-9]{3}", checks.abn),
    Id("au_acn", r"[0-9]{3}( ?)[0-9]{3}\1[0-9]{3}", checks.acn),
    Id("au_tfn", r"[0-9]{3}( ?)[0-9]{3}\1[0-9]{3}", checks.tfn),
    Id("au_medicare", r"[2-6][0-9]{3}( ?)[0-9]{5}\1[0-9]", checks.medicare),
    Id("in_pan", r"(?i:[A-Z]{5}[0-9]{4}[A-Z])"),
    Id("in_aadhaar", r"[2-9][0-9]{3}([ :-]?)[0-9]{4}\1[0-9]{4}", checks.aadhaar),
    Id("sg_fin", r"(?i:[STFGM][0-9]{7}[A-Z])", checks.nric),
    Id("de_tax_id", r"[1-9][0-9]{10}", checks.steuer_id),
    Id("de_vat_id", r"(?i:DE)[ .-]?[1-9][0-9]{2}[ .-]?[0-9]{3}[ .-]?[0-9]{3}", lambda text: checks.mod_11_10(text[2:])),
    Id("es_nif", r"[0-9]{7,8}-?[A-Za-z]", checks.nif),
    Id("es_nie", r"[XYZxyz][0-9]{7}-?[A-Za-z]", checks.nif),
    Id(
        "fr_nir",
        r"[12] ?[0-9]{2} ?(?:0[1-9]|1[0-2]|[2-9][0-9]) ?(?:[0-9]{2}|2[AB]) ?[0-9]{3} ?[0-9]{3} ?[0-9]{2}",
        checks.nir,
    ),
    Id("it_fiscal_code", r"(?i:[A-Z]{6}[0-9]{2}[A-EHLMPRST][0-9]{2}[A-Z][0-9]{3}[A-Z])", checks.codice_fiscale),
    Id("nl_bsn", r"[0-9]{9}", checks.bsn),
    Id("pl_pesel", r"[0-9]{11}", checks.pesel),
    Id("fi_personal_identity_code", r"[0-3][0-9][01][0-9]{3}[-+A-FU-Y][0-9]{3}[0-9A-FHJ-NPR-Y]", checks.hetu),
    Id("se_personnummer", r"(?:18|19|20)?[0-9]{6}[-+]?[0-9]{4}", checks.personnummer),
    Id("tr_national_id", r"[1-9][0-9]{10}", checks.tckn),
    Id("kr_rrn", r"[0-9]{6}-?[1-4][0-9]{6}", checks.rrn),
    Id("th_tnin", r"[1-8][0-9]{12}", checks.tnin),
    Id("cn_resident_id", r"[1-9][0-9]{5}(?:19|20)[0-9]{9}[0-9Xx]", checks.resident),
    Id("br_cpf", r"[0-9]{3}(?:\.[0-9]{3}\.[0-9]{3}-|[0-9]{6})[0-9]{2}", checks.cpf),
    Id("ng_nin", r"[0-9]{11}", checks.verhoeff),
    Id("date", _DATE),
    Id("url", _URL),
)
NAMES = tuple(form.name for form in IDS)
_FREE = ("date", "url")  # may be next to a hyphen or a dot
_PLUS = frozenset(("fi_personal_identity_code",))  # whose sign is no separator


def id_spans(text: TextBuffer, names: Iterable[str]) -> Int64s:
    """The spans of these kinds.

    returns   (spans, 4) int64: document, kind (an index of NAMES), first byte, end, in bytes from the beginning of the
              document; in order, without overlap: of two that overlap the first counts, then the longer, then the
              earlier in NAMES
    """
    forms = [(NAMES.index(name), _expression(IDS[NAMES.index(name)])) for name in names]
    spans: list[tuple[int, int, int, int]] = []
    data = text.data.data
    for document in range(len(text.offsets) - 1):
        lo, hi = int(text.offsets[document]), int(text.offsets[document + 1])
        raw = bytes(data[lo:hi])
        candidates = [
            (document, kind, *match.span())
            for kind, expression in forms
            for match in expression.finditer(raw)
            if IDS[kind].check(_plain(IDS[kind].name, match[0]))
        ]
        last = 0
        for span in sorted(candidates, key=lambda span: (span[2], -span[3], span[1])):
            if span[2] >= last:
                spans.append(span)
                last = span[3]
    return np.array(spans, np.int64).reshape(-1, 4)


def _expression(form: Id) -> re.Pattern[bytes]:
    if form.name in _FREE:
        return re.compile(rf"(?<![\w/]){'' if form.name == 'url' else '(?<![.:-])'}(?:{form.form})(?![\w])".encode())
    return re.compile(rf"(?<![\w+.-])(?:{form.form})(?![\w-])(?!\.[0-9])".encode())


def _plain(name: str, value: bytes) -> str:
    text = value.decode("utf-8", "replace").upper()
    return text if name in _PLUS else "".join(c for c in text if c.isalnum())
