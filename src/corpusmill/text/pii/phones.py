"""Which of the proposed numbers are telephone numbers, by their country's numbering plan (phonenumbers)."""

import re
from collections.abc import Sequence
from functools import lru_cache

from corpusmill.text.pii.national import CONTEXT, LABELS, LABELS_AFTER, VERBS

# Where no country is known: a number with a label must be possible in one of these.
ANYWHERE = tuple("US GB DE FR ES IT NL PL DK SE CH AU BR RU IN CN JP ZA FI".split())

# With a numbering plan: the regions of libphonenumber 9.
COUNTRIES = tuple(
    """
AC AD AE AF AG AI AL AM AO AR AS AT AU AW AX AZ BA BB BD BE BF BG BH BI BJ BL BM BN BO BQ BR BS BT BW BY BZ CA CC CD
CF CG CH CI CK CL CM CN CO CR CU CV CW CX CY CZ DE DJ DK DM DO DZ EC EE EG EH ER ES ET FI FJ FK FM FO FR GA GB GD GE
GF GG GH GI GL GM GN GP GQ GR GT GU GW GY HK HN HR HT HU ID IE IL IM IN IO IQ IR IS IT JE JM JO JP KE KG KH KI KM KN
KP KR KW KY KZ LA LB LC LI LK LR LS LT LU LV LY MA MC MD ME MF MG MH MK ML MM MN MO MP MQ MR MS MT MU MV MW MX MY MZ
NA NC NE NF NG NI NL NO NP NR NU NZ OM PA PE PF PG PH PK PL PM PR PS PT PW PY QA RE RO RS RU RW SA SB SC SD SE SG SH
SI SJ SK SL SM SN SO SR SS ST SV SX SY SZ TA TC TD TG TH TJ TK TL TM TN TO TR TT TV TW TZ UA UG US UY UZ VA VC VE VG
VI VN VU WF WS XK YE YT ZA ZM ZW""".split()
)

_JOINED = r"[\s:：.,;=#+\"'>)\]]*"  # noqa: RUF001
_BETWEEN = " \t\n\r\f\v:.,;=#+\"'>)](\x1c\x1d\x1e\x1f"  # what a label may have behind it, in ASCII
_NUMBER = "numbers?|no|nr|nummer|num|numero|número|office|work|home|mobile|day|evening|direct|us|free"
_SPACED = "|".join(word for word in LABELS if word < "\u2e80")
_UNSPACED = "|".join(word for word in LABELS if word >= "\u2e80")
_LABEL = re.compile(
    rf"(?:\b(?:{_SPACED})|(?:{_UNSPACED}))(?:{_JOINED}\(?(?:{_NUMBER})\)?)?(?: (?:is|was|ist|est|es))?{_JOINED}\(?$",
    re.IGNORECASE,
)
# "My Greek number is": of a person, and not said to be that of an order or an account.
_OWN = re.compile(
    r"\b(?:[Mm]y|[Oo]ur|[Yy]our|[Hh]is|[Hh]er|[Tt]heir) (?:[A-Z][A-Za-z]+ )?number(?: is| was)?[\s:]{1,2}\(?$"
)
_LETTERS = re.compile(r"[^\W\d_]+")
_EAST = re.compile("[\u2e80-\U0003ffff]")
# How their first runs of letters begin ("telnr" is a label, too; vowel signs of Hindi end a run).
_HEADS = frozenset(_LETTERS.findall(word.lower())[0][:3] for word in (*LABELS, *VERBS))
# All of them, for those that pass; and the words of _VERB, one of which must be a whole run of letters.
_BEGINNINGS = tuple({_LETTERS.findall(word.lower())[0] for word in (*LABELS, *VERBS)})
_LAST = 6  # runs of letters that a label may have, with what belongs to it up to the number
_TOLD = [verb for verb in VERBS if not verb.startswith("number")]
_SAYING = frozenset((*_TOLD, "phone", "telephone", "fax", "whatsapp", "tel"))
_VERB = re.compile(
    rf"\b(?:{'|'.join(_TOLD)}|phone|telephone|fax|whatsapp|tel)\b[^\n\d]{{0,44}}?"
    r"\b(?:at|on|to|is|auf|au|al|unter|number|no|nr)\b(?: (?:my|our|your|his|her|their|this|the)(?: \w+)?)?\W{0,3}$"
    r"|\b(?:call|dial|ring|fax|sms|text|appelez|llame|ligue|reach|contact)"
    r"(?: us| me| him| her| them| now| today| free)?[\s:.]{1,3}\(?$",
    re.IGNORECASE,
)
_AFTER = re.compile(rf"^[ \t]?[-–(]?[ \t]?(?:{'|'.join(LABELS_AFTER)})\b", re.IGNORECASE)
_EXTENSION = re.compile(r" ?(?:[xX]|[eE]xt\.?) ?[0-9]{1,5}(?!\w)")
_DATE = re.compile(
    r"(?:19|20)\d\d[-./ ]\d{1,2}[-./ ]\d{1,2}|\d{1,2}[-./ ]\d{1,2}[-./ ](?:19|20)\d\d|(?:19|20)\d\d[-./ ]+(?:19|20)\d\d"
)
# A date that is not the beginning of a longer number, whatever follows it; a date and time without marks; the number of
# a clause (252.227-7013); hours of the day.
_DATED = re.compile(
    r"(?:(?:19|20)\d\d([-./])(?:1[0-2]|0?[1-9])\1(?:[12]\d|3[01]|0?[1-9])"
    r"|(?:[12]\d|3[01]|0?[1-9])([-./])(?:[12]\d|3[01]|0?[1-9])\2(?:19|20)\d\d)(?![-./]?\d)"
)
_STAMP = re.compile(
    r"(?:19|20)\d\d(?:1[0-2]|0[1-9])(?:[12]\d|3[01]|0[1-9])(?:[ -]?(?:[01]\d|2[0-3])[0-5]\d(?:[0-5]\d)?)?"
)
_CLAUSE = re.compile(r"\d{2,3}\.(?:\d{3}-\d{1,4}|\d{4}-\d{1,2})(?![-.]?\d)")
_HOURS = re.compile(r"(?:[01]?\d|2[0-4])\.[0-5]\d ?- ?(?:[01]?\d|2[0-4])\.[0-5]\d")
_LAST_HOUR, _MINUTES = re.compile(r"(?<!\d)(?:[01]?\d|2[0-4])$"), re.compile(r":[0-5]\d(?!\d)")
# Six digits in pairs count behind a word that means nothing else than telephones, and not as a date.
_PAIRS = re.compile(r"\d\d(?:([ .-])\d\d\1\d\d)")
_SHORT_DATE = re.compile(
    r"(?:(?:0[1-9]|[12]\d|3[01])[.-](?:0[1-9]|1[0-2])|(?:0[1-9]|1[0-2])[.-](?:0[1-9]|[12]\d|3[01]))[.-]\d\d"
)
_AMBIGUOUS = frozenset("cell cel cellular celular desk office handy gsm mobile mobil mob ph phn fon".split())
_SSN = re.compile(r"\d{3}-\d\d-\d{4}")
_DECIMAL = re.compile(r"\d+\.\d+|\d{1,3}(?:\.\d{3})+")


def phone_at(text: str, start: int, end: int, regions: Sequence[str]) -> int:
    """The end of the telephone number that begins at `start`, or 0.

    text      a document, or the part of it around the number, at least CONTEXT characters on each side
    end       of the candidate, which may hold more groups than the number
    regions   countries (ISO 3166, two capitals) whose numbers are looked for; none: those in ANYWHERE, and only where a
              word says that it is a telephone number

    Without such a word a number must be valid in one of the regions, and begin with the digit that is dialled before
    national numbers there, or with a bracket; without groups it must have UNGROUPED digits and begin with a zero. With
    one it must have a possible length.
    """
    before, after = text[max(0, start - CONTEXT) : start], text[end : end + 16]
    labelled, described = _find_labels(before, after)
    if not described and not regions:
        return 0
    if _DATED.match(text, start) or (not labelled and _CLAUSE.match(text, start)):
        return 0
    for stop in _ends(text, start, end):
        value = text[start:stop]
        if stop == end and _PAIRS.fullmatch(value) and _is_short_number(value, before):
            return stop
        if _is_time(text, start, stop) or (not labelled and _STAMP.fullmatch(value)):
            continue
        if _DATE.fullmatch(value) or _DECIMAL.fullmatch(value) or value.count("(") != value.count(")"):
            continue
        if _SSN.fullmatch(value) and not labelled:
            continue
        digits = re.sub(r"\D", "", value)
        if not 7 <= len(digits) <= 12 or len(set(digits)) < 3:
            continue
        valid = any(_holds(digits, region, described) for region in regions)
        if not valid and described:
            # The owner of a page gives numbers of other countries, too.
            if labelled or " " in value or "-" in value or value.count(".") > 1:
                valid = any(_possible(digits, region) for region in ANYWHERE)
            else:
                valid = len(digits) >= 10 and any(_valid(digits, region) for region in ANYWHERE)
        if valid:
            extension = _EXTENSION.match(text, stop)
            return extension.end() if extension else stop
    return 0


def _is_time(text: str, start: int, stop: int) -> bool:
    """Whether these are hours of the day, or the minutes of an hour follow."""
    value = text[start:stop]
    return bool(_HOURS.fullmatch(value) or (_MINUTES.match(text, stop) and _LAST_HOUR.search(value)))


def _is_short_number(value: str, before: str) -> bool:
    """Whether six digits in pairs are a telephone number: "Telefon: 31 45 92"."""
    label = _LABEL.search(before)
    if label is None or len(set(value)) < 4 or _SHORT_DATE.fullmatch(value):
        return False
    return _LETTERS.findall(label[0].lower())[0] not in _AMBIGUOUS


def _find_labels(before: str, after: str) -> tuple[bool, bool]:
    """Whether the text around a number has a label for it; and a label, or other words that say what it is."""
    # Most numbers have no such word before them.
    words = _LETTERS.findall(before.lower())
    if before.isascii():
        last = before.rstrip(_BETWEEN)[-1:].isalpha() and any(
            _may_begin(word) and word.startswith(_BEGINNINGS) for word in words[-_LAST:]
        )
        has_verb = not _SAYING.isdisjoint(words)
    else:  # other characters may be taken for letters of these words
        last = has_verb = any(map(_may_begin, words)) or _EAST.search(before) is not None
    labelled = bool((last and _LABEL.search(before)) or _AFTER.match(after))
    return labelled, labelled or bool(
        (has_verb and _VERB.search(before)) or ("number" in words and _OWN.search(before))
    )


def _may_begin(word: str) -> bool:
    return word[:3] in _HEADS or word[:2] in _HEADS


def _ends(text: str, start: int, end: int) -> list[int]:
    """Where groups of digits end, the last first."""
    return [start + match.end() for match in re.finditer(r"\d(?!\d)", text[start:end])][::-1]


def _holds(digits: str, region: str, described: bool) -> bool:
    if _valid(digits, region):
        return described or digits[0] == "0" or region in ("US", "CA")
    return described and _possible(digits, region)


@lru_cache(1 << 14)
def _valid(digits: str, region: str) -> bool:
    import phonenumbers

    try:
        return phonenumbers.is_valid_number_for_region(phonenumbers.parse(digits, region), region)
    except phonenumbers.NumberParseException:
        return False


@lru_cache(1 << 14)
def _possible(digits: str, region: str) -> bool:
    import phonenumbers

    try:
        number = phonenumbers.parse(digits, region)
    except phonenumbers.NumberParseException:
        return False
    return phonenumbers.is_possible_number_with_reason(number) in (
        phonenumbers.ValidationResult.IS_POSSIBLE,
        phonenumbers.ValidationResult.IS_POSSIBLE_LOCAL_ONLY,
    )
