"""Where postal addresses are in text: a house number and a street, or a post office box, and the place that follows.

Regular expressions define the forms. They are searched for from left to right, but only where a kernel proposes it: it
stops at numbers, and looks for a word of a street or of a box among the words beside them, as far as these are
capitalised or short. The forms:

    English   a number, one to five capitalised words or ordinals, and a word of STREETS or WEAK_STREETS; then a point
              of the compass, one or two units ("Suite 200", "#4", "3rd Floor") and the place, if there are any. With
              unit or place also "1633 Broadway", "1221 Avenue of the Americas", "7215 Highway 71", "5 The Green"
    box       "P.O. Box 12", "Post Office Box 12", "Postfach 12 34"; and, with a place, "PSC 3, Box 12", "Unit 3 Box 12"
    French    a number, a word of VOIES, "de" and the like, and one to four capitalised words
    Spanish, Italian, Portuguese, Polish   a word of VIAS, "de" and the like, one to four capitalised words, a number
    German, Dutch, Scandinavian, Finnish   a capitalised word that ends as one of STREET_ENDS, or such a word after one
              or two others, and a number: "Hauptstraße 12", "Frankfurter Straße 12"

The place of English addresses and boxes: at most three parts of capitalised words, then a state and ZIP, or a British
or Canadian code; or a town and a state. The place of the others, and of boxes: a code of four or five digits, as in
their countries, and a town. Commas, blanks or a line break are between the parts.

An English address without unit and place counts if none of these holds:

    its word is one of WEAK_STREETS ("3 Bedroom Court"), unless it has a line of its own
    its word is "St", and a capital follows ("5 Mount St Helens"), or it is "ST" after small letters
    its word is written in small letters, or a small word follows ("9 Wall Street banks") that is not of FOLLOWING
    its number is 1600 to 2099, after a word or a date ("in 1929 Wall Street"), other than "at", or before a comma
    four or more words are before its word, or one of NO_NAMES ("8 Flash Drive")

No number is a year after "Copyright", "(c)" or another year ("© 1991–1995 Anne Hill"), and only with a place one that
is a range of years ("1991-95, Anne Hill"), without a comma behind it.

The others count unless their word is one of WEAK_VOIES, WEAK_VIAS, WEAK_STREET_ENDS or NO_STREETS, or their number is
1900 to 2099 (French ones: 1600 to 2099, after a word or a date).

Not searched for: names of houses, units before the number ("Flat 3, …"), rural routes, boxes without "P.O.", streets
without a word that says so ("1333 North Kingsbury", Swiss hamlets), and addresses in other alphabets.
"""

import re
from collections.abc import Iterator
from typing import Any

import numpy as np
import pyarrow as pa

from corpusmill.text import simd
from corpusmill.text.array_types import Bools, Bytes, Int64s, UInt64s
from corpusmill.text.buffers import TextBuffer, view
from corpusmill.text.compile import inlined, kernel
from corpusmill.text.lowlevel import ALL_BITS, NO_BITS, ONE, U, borrowed, load8, load64, lowest_bit
from corpusmill.text.spans import below

# English words of streets: those that say so, and those that are also something else, or have no houses.
STREETS = """
street st road rd avenue ave boulevard blvd lane ln drive crescent cres parkway pkwy turnpike""".split()
WEAK_STREETS = """
alley av bypass center centre cir circle close court crossing ct dr gardens green grove highway hill hwy loop mall mews
parade park path pike pl place plaza quay ridge rise row sq square ter terrace trail vale view walk way wharf""".split()
ABBREVIATED = "av ave blvd cir cres ct dr hwy ln pkwy pl rd sq st ter".split()  # a full stop belongs to these
VOIES = "allée avenue boulevard chemin impasse quai rue".split()
WEAK_VOIES = "bd cours passage place route square".split()
VIAS = "avenida avda calle carrer rua rúa travessa ul. viale vicolo".split()
WEAK_VIAS = "camino corso largo paseo piazza plaza praça ronda strada via".split()
# The ends of German, Dutch, Scandinavian and Finnish words.
STREET_ENDS = "allee gasse gata gatan katu straat str. strasse straße vägen veien".split()
WEAK_STREET_ENDS = "damm dijk gade gracht kade laan platz plein ring ufer vegen vej weg".split()
# Words before a street that make it something else.
NO_NAMES = """
access and at bedroom by cd-rom disk external flash floppy for from frontage hard in internal off on or pen service tape
test the thumb to usb with zip""".split()
# Roads between towns, whose number is that of the road, and abbreviations that end as that of a street.
NO_STREETS = """
autostraße bundesstraße bundesstrasse kreisstraße landesstraße staatsstraße abstr. constr. demonstr. illustr. industr.
instr. orchestr. registr.""".split()
# Small words after an address in a sentence.
FOLLOWING = """
and are as at because before but by for from had has have he her his i if in is it near now on or she since so that the
then they to until was we were when where which while who will with you""".split()
STATES = """
AL AK AZ AR CA CO CT DE DC FL GA HI ID IL IN IA KS KY LA ME MD MA MI MN MS MO MT NE NV NH NJ NM NY NC ND OH OK OR PA PR
RI SC SD TN TX UT VT VA WA WV WI WY AA AE AP AB BC MB NB NL NS NT NU ON PE QC SK YT NSW VIC QLD TAS ACT D.C. Alabama
Alaska Arizona Arkansas California Colorado Connecticut Delaware Florida Georgia Hawaii Idaho Illinois Indiana Iowa
Kansas Kentucky Louisiana Maine Maryland Massachusetts Michigan Minnesota Mississippi Missouri Montana Nebraska Nevada
New_Hampshire New_Jersey New_Mexico New_York North_Carolina North_Dakota Ohio Oklahoma Oregon Pennsylvania Rhode_Island
South_Carolina South_Dakota Tennessee Texas Utah Vermont Virginia Washington West_Virginia Wisconsin Wyoming Alberta
British_Columbia Manitoba New_Brunswick Nova_Scotia Ontario Quebec Saskatchewan Queensland Victoria""".split()
LONGEST_WALK = 20  # words between a number and the word of a street


def _any(words: list[str]) -> str:
    """One of these words; the longest first, so that "Avenue" is not taken for "Ave"."""
    return "|".join(re.escape(word.replace("_", " ")) for word in sorted(words, key=len, reverse=True))


# Latin letters up to U+017F: two bytes at most, which the kernel relies on.
_WORD_CHARACTER, _LETTER, _UPPER = "0-9A-Za-z_À-ÖØ-öø-\u017f", "[A-Za-zÀ-ÖØ-öø-\u017f]", "[A-ZÀ-ÖØ-ÞĀ-\u017f]"
_ENDS = f"(?![{_WORD_CHARACTER}])"
_NUMBER_BEGINS = f"(?<![{_WORD_CHARACTER}/#$@&=%+£€-])(?<![0-9][.,:])"
_WORD_BEGINS = f"(?<![{_WORD_CHARACTER}.'’/-])"
_WORD = rf"{_UPPER}(?:{_LETTER}|['’-](?={_LETTER})){{0,30}}"
_NAMED = rf"(?:(?:[A-Z]\.){{2,3}}|{_UPPER}{_LETTER}{{0,4}}\.|{_WORD})"  # also "S.E.", "N.", "Mass."
_NUMBER = rf"[1-9][0-9]{{0,4}}(?:-[0-9]{{1,4}})?[A-Za-z]?{_ENDS}"
_ORDINAL = f"[0-9]{{1,3}}(?:st|nd|rd|th){_ENDS}"
# Between the parts of an address.
_GAP = r"(?:,?[ \u00a0]{0,3}\r?\n[ \t>]{0,24}|,?[ \u00a0]{1,3}|,)"
_PART = rf"{_NAMED}(?: (?:(?:of|the|on|upon|de|la|del|am|an|der) ){{0,2}}(?!Tel|Fon|Fax|Phone|Post){_NAMED}){{0,3}}"
_STATE = f"(?:{_any(STATES)})"
_CODE = (
    rf"(?:{_STATE}\.?{_GAP}[0-9]{{5}}(?:-[0-9]{{4}})?|[A-Z]{{1,2}}[0-9][A-Z0-9]? ?[0-9][A-Z]{{2}}"
    rf"|(?:{_STATE}{_GAP})?[A-Z][0-9][A-Z] ?[0-9][A-Z][0-9])"
)
_PLACE = rf"(?:(?:{_GAP}{_PART}){{0,3}}?{_GAP}{_CODE}{_ENDS}|{_GAP}{_PART}, {_STATE}{_ENDS})"
_UNIT = (
    rf"{_GAP}(?:(?:Apt|Apartment|Suite|Ste|Unit|Flat|Room|Rm|Floor|Fl|Bldg|Building|Level)\.? ?#? ?"
    rf"(?:[A-Z]?-?[0-9]{{1,5}}[A-Z]?|[A-Z])|# ?[0-9]{{1,5}}[A-Z]?|{_ORDINAL} (?:Floor|Fl\.?)){_ENDS}"
)
_COMPASS = rf"(?:,? (?:[NS]\.?[EW]\.?|[NSEW]\.?|North|South|East|West){_ENDS})?"
_TOWN = rf"{_GAP}(?:[A-Z]{{1,2}}-)?(?:[0-9]{{5}}|[0-9]{{4}}(?: [A-Z]{{2}}|-[0-9]{{3}})?) {_PART}"
_NOT_UNIT = r"(?!(?:Apt|Suite|Ste|Unit|Flat|St)\b)"
_OF = "(?:(?:de|du|des|la|las|los|le|les|del|della|di|da|do|dos|das|e|et|y) |(?:d|l|dell)['’]){0,3}"
_STREET = f"(?i:{_any([*STREETS, *WEAK_STREETS])})"
_ENGLISH_STREET = rf"(?P<street>(?P<short>(?i:{_any(ABBREVIATED)})){_ENDS}|{_STREET}{_ENDS})(?(short)\.?)"
_OTHER = (
    rf"Broadway|Avenue of the {_WORD}|The {_STREET}"
    r"|(?:(?:US|State|County|Old) )?(?:Highway|Hwy|Route|Rte)\.? [0-9]{1,4}"
)
_NAME = rf"(?:{_NAMED}|{_ORDINAL})(?: (?:(?:of|the|de|la|del|van) ){{0,2}}(?:{_NAMED}|{_ORDINAL})){{0,4}}"

ENGLISH = re.compile(
    rf"{_NUMBER_BEGINS}(?P<number>{_NUMBER}),? "
    rf"(?:(?P<name>{_NAME}) {_ENGLISH_STREET}{_COMPASS}|(?:{_OTHER}){_ENDS})"
    rf"(?P<place>(?:{_UNIT}){{1,2}}(?:{_PLACE})?|{_PLACE})?",
    re.ASCII,
)
BOX = re.compile(
    rf"{_WORD_BEGINS}(?:(?i:P\.? ?O\.? ?Box|Post Office Box) [0-9]{{1,6}}|Postfach [0-9]{{1,6}}(?: [0-9]{{2,3}}){{0,2}}"
    rf"|(?P<street>PSC|Unit) [0-9]{{1,5}},? Box [0-9]{{1,5}}){_ENDS}(?P<place>{_PLACE}|{_TOWN})?",
    re.ASCII,
)
FRENCH = re.compile(
    rf"{_NUMBER_BEGINS}(?P<number>{_NUMBER})(?: (?:bis|ter))?,? (?P<street>(?i:{_any([*VOIES, *WEAK_VOIES])})) {_OF}"
    rf"{_NAMED}(?: {_OF}{_NOT_UNIT}{_NAMED}){{0,3}}{_ENDS}(?P<place>{_TOWN})?",
    re.ASCII,
)
VIA = re.compile(
    rf"{_WORD_BEGINS}(?P<street>(?i:{_any([*VIAS, *WEAK_VIAS])}))\.? {_OF}"
    rf"{_NAMED}(?: {_OF}{_NAMED}){{0,3}},? (?P<number>{_NUMBER})(?P<place>{_TOWN})?",
    re.ASCII,
)
_END_OF_STREET = f"(?P<street>(?i:{_any([*STREET_ENDS, *WEAK_STREET_ENDS])}))"
COMPOUND = re.compile(
    rf"{_WORD_BEGINS}(?:(?:{_NAMED} ){{1,2}}(?={_UPPER})|{_UPPER}(?:{_LETTER}|['’-](?={_LETTER})){{1,40}}?)"
    rf"{_END_OF_STREET}"
    rf" (?P<number>{_NUMBER})(?: [a-z]{_ENDS}(?=,|\r?\n))?(?P<place>{_TOWN})?",
    re.ASCII,
)
_WEAK = {*WEAK_STREETS, *WEAK_VOIES, *WEAK_VIAS, *WEAK_STREET_ENDS, "psc", "unit"}
_IS_YEAR, _IS_YEAR_NOW = re.compile("1[6-9][0-9][0-9]|20[0-9][0-9]"), re.compile("19[0-9][0-9]|20[0-9][0-9]")
# What is before the years of copyright, and the ranges of years.
_YEARS_BEFORE = re.compile(
    r"(?:\bcopyright\b:?|\(c\)|©|(?<![0-9])(?:1[6-9]|20)[0-9][0-9] ?(?:[,;&–—-]|and|to))[ \t\u00a0]{0,3}\Z",
    re.IGNORECASE,
)
_IS_RANGE = re.compile("(?:1[6-9]|20)[0-9][0-9]-(?:(?:1[6-9]|20)[0-9][0-9]|[0-9][0-9])")
_AT = re.compile(rf"(?<![{_WORD_CHARACTER}])[Aa]t \Z")
_AFTER_WORD_OR_DATE = re.compile(rf"(?:{_LETTER}|[0-9],) \Z")
_LINE_BEGINS, _LINE_ENDS = re.compile(r"(?:\A|[\n|\t]|   )[ >*]*\Z"), re.compile(r"[ ,]*(?:\Z|\r?\n|[|\t]|   )")
_SMALL = re.compile(rf"[ -](?!(?:{_any(FOLLOWING)}){_ENDS})[a-zà-öø-ÿ]")
_CAPITAL_FOLLOWS = re.compile(f" {_UPPER}")
_NO_NAME = re.compile(rf"(?i:{_any(NO_NAMES)}){_ENDS}")


def address_at(text: str, at: int) -> int:
    """The end of the address that begins at `at`, or 0."""
    for form in (ENGLISH, BOX, FRENCH, VIA, COMPOUND):
        if (match := form.match(text, at)) and not _is_year(text, match) and (match["place"] or _counts(text, match)):
            return match.end()
    return 0


def _is_year(text: str, match: re.Match[str]) -> bool:
    """Whether the number before a street is that of years, as before a name: "1991-1995, Anne Hill"."""
    if match.re not in (ENGLISH, FRENCH):
        return False
    number = match["number"]
    if _IS_RANGE.fullmatch(number):
        return not match["place"] or text[match.end("number")] == "," or _follows_years(text, match.start())
    if not _IS_YEAR.fullmatch(number):
        return False
    followed = text[match.end("number")] == "," and not match["place"]
    return (followed and match.re is ENGLISH) or _follows_years(text, match.start())


def _follows_years(text: str, start: int) -> bool:
    return _YEARS_BEFORE.search(text[max(0, start - 24) : start]) is not None


def _counts(text: str, match: re.Match[str]) -> bool:
    """Whether an address without unit and place is one."""
    if match.re is BOX:
        return match["street"] is None
    weak = match["street"] is None or match["street"].lower() in _WEAK
    if match.re in (VIA, COMPOUND):
        road = match.re is COMPOUND and match[0].split()[-2].lower() in NO_STREETS
        return not weak and not road and not _IS_YEAR_NOW.fullmatch(match["number"])
    before = text[max(0, match.start() - 16) : match.start()]
    if _IS_YEAR.fullmatch(match["number"]) and _AFTER_WORD_OR_DATE.search(before) and not _AT.search(before):
        return False
    if match.re is FRENCH:
        return not weak
    alone = _LINE_BEGINS.search(before) is not None and _LINE_ENDS.match(text, match.end()) is not None
    if match["name"] is None or (weak and not alone):
        return False
    if match["street"].lower() == "st" and (
        _CAPITAL_FOLLOWS.match(text, match.end()) or (match["street"] == "ST" and not match["name"].isupper())
    ):
        return False
    words = match["name"].split()
    return (
        match["street"][0].isupper()
        and len(words) <= 3
        and not any(map(_NO_NAME.match, words))
        and not _SMALL.match(text, match.end())
    )


def address_spans(text: TextBuffer) -> Int64s:
    """(spans, 3) int64: document, first byte and end of each address, in order, without overlap."""
    places = np.empty((64 + (int(text.offsets[-1] - text.offsets[0]) >> 7), 2), np.int64)
    while (count := _propose_all(text, places)) < 0:
        places = np.empty((2 * len(places), 2), np.int64)
    keys = np.unique(places[:count, 0] << 31 | places[:count, 1])  # a document has less than 2**31 bytes
    documents, first = np.unique(keys >> 31, return_index=True)
    spans = []
    for document, proposed in zip(documents.tolist(), np.split(keys & (1 << 31) - 1, first[1:])):
        raw = text.data[text.offsets[document] : text.offsets[document + 1]].tobytes()
        spans += [(document, start, end) for start, end in _confirmed(raw, proposed.tolist())]
    return np.array(spans, np.int64).reshape(-1, 3)


def _confirmed(raw: bytes, places: list[int]) -> Iterator[tuple[int, int]]:
    """The addresses that begin at these bytes of a document."""
    text = raw.decode(errors="surrogateescape")
    claimed = decoded = at = 0
    for start in places:
        at += len(raw[decoded:start].decode(errors="surrogateescape"))
        decoded = start
        if start >= claimed and (end := address_at(text, at)):
            claimed = start + len(text[at:end].encode(errors="surrogateescape"))
            yield start, claimed


# The kernel that proposes. Words are compared by their first eight bytes, with bit 5 set in each, which is lower case.

CAPITAL_BIT = U(0x2020202020202020)


def _packed(words: list[str]) -> UInt64s:
    heads = {word.encode()[:8] for word in words}
    return np.array(sorted(sum((byte | 0x20) << 8 * i for i, byte in enumerate(head)) for head in heads), np.uint64)


MIXER, MIXED_BITS = U(0x9E3779B97F4A7C15), U(52)  # 2**64 divided by the golden ratio; a table has 4,096 places
CAPITAL_BIT_3, THREE_BYTES = U(0x202020), U(0xFFFFFF)


def _table(keys: UInt64s) -> Bools:
    """Whether a key may be one of these, by the highest bits of its product with MIXER: nearly all others are told
    apart with one look."""
    table = np.zeros(1 << 64 - int(MIXED_BITS), np.bool_)
    table[(keys * MIXER) >> MIXED_BITS] = True
    return table


_AFTER_NUMBER = _packed([*STREETS, *WEAK_STREETS, *VOIES, *WEAK_VOIES, "broadway", "route", "rte"])
_BEFORE_NUMBER = _packed([*VIAS, *WEAK_VIAS, "box", "postfach", "ul"])
# Words in small letters within the names of streets, and before boxes; "bis" and "ter" belong to a number.
_SMALL_AFTER = _packed("of the de la del van bis ter".split())
_SMALL_BEFORE = _packed(
    "de du des la las los le les del della di da do dos das e et y d l dell p o post office".split()
)
_MAYBE_AFTER, _MAYBE_BEFORE = _table(_AFTER_NUMBER), _table(_BEFORE_NUMBER)
_MAYBE_SMALL_AFTER, _MAYBE_SMALL_BEFORE = _table(_SMALL_AFTER), _table(_SMALL_BEFORE)
_ENDS_OF_STREETS = [end.rstrip(".").encode() for end in (*STREET_ENDS, *WEAK_STREET_ENDS)]
_END_SIZES = np.array([len(end) for end in _ENDS_OF_STREETS], np.int64)
_ENDS_PACKED = np.array([_packed([end.decode()]) for end in _ENDS_OF_STREETS])
_MAYBE_END = _table(np.array([int.from_bytes(end[-3:], "little") | 0x202020 for end in _ENDS_OF_STREETS], np.uint64))

IN_WORD, CAPITAL, LETTER, BEGINS, DIGIT = np.uint8(1) << np.arange(5, dtype=np.uint8)
_BYTES = np.zeros(256, np.uint8)
for _byte in range(256):
    _c = chr(_byte)
    _ascii = _byte < 128
    _BYTES[_byte] = (
        IN_WORD * (not _ascii or _c.isalnum() or _c in ".'-")
        | CAPITAL * (_c.isupper() or _c.isdigit() if _ascii else 0xC3 <= _byte <= 0xC5)
        | LETTER * (_ascii and _c.isalpha())
        | DIGIT * (_ascii and _c.isdigit())
        | BEGINS * (_c.isalpha() if _ascii else 0xC3 <= _byte <= 0xC5)
    )
BLANK, COMMA, DOT = b" ,."
TIMES_AND_DIVIDED = (0x97, 0xB7)  # second bytes of the signs among the letters of two bytes
_digits = simd.masks(simd.ascii_digit)


@inlined
def _is(data: Bytes, at: int, kinds: np.uint8) -> bool:
    return bool((_BYTES[load8(data, at)] & kinds) != 0)


@inlined
def _is_among(data: Bytes, start: int, size: int, words: UInt64s, maybe: Bools) -> bool:
    """Whether the first eight of these bytes are those of one of the words, whose `_table` is `maybe`."""
    word = load64(data, start) | CAPITAL_BIT
    if size < 8:
        word &= ALL_BITS >> U(64 - 8 * size)
    if not maybe[(word * MIXER) >> MIXED_BITS]:
        return False
    for candidate in words:
        if candidate == word:
            return True
    return False


@kernel
def _propose_all(text: TextBuffer, places: Int64s) -> Any:
    """Write document and place of where an address may begin; returns how many there are, -1 for no room."""
    n: Any = np.int64(0)
    for d in range(len(text.offsets) - 1):
        n = _propose(text.data, text.offsets[d], text.offsets[d + 1], d, places, n)
        if n < 0:
            return n
    return n


@kernel
def _propose(data: Bytes, lo: int, hi: int, document: int, places: Int64s, n: int) -> int:
    """Append the places in one document; returns the new count, -1 for no room."""
    data, places = borrowed(data), borrowed(places)
    before = NO_BITS
    # All numbers within one unbroken word have the same words after it, which are looked up once.
    word_end = lo
    is_number_of_street = False
    for block in range(lo, hi, 64):
        (digits,) = _digits(data, block)
        digits &= below(min(hi - block, 64))
        starts = digits & ~((digits << ONE) | before)
        before = digits >> U(63)
        while starts != NO_BITS:
            at = block + lowest_bit(starts)
            starts &= starts - ONE
            if n == len(places):
                return -1
            if at >= word_end:
                word_end = _word_end(data, at, hi)
                is_number_of_street = _street_follows(data, word_end, hi)
            if is_number_of_street:
                places[n, 0], places[n, 1] = document, at - lo
                n += 1
            if at > lo and load8(data, at - 1) == BLANK:
                n = _words_before(data, lo, at - 1, document, places, n)
                if n < 0:
                    return n
    return n


@inlined
def _word_end(data: Bytes, at: int, hi: int) -> int:
    """Where the rest of an unbroken word ends."""
    end = at
    while end < hi and _is(data, end, IN_WORD):
        end += 1
    return end


@kernel
def _street_follows(data: Bytes, end: int, hi: int) -> bool:
    """Whether a word of a street is among the words after the number that ends there."""
    end += end < hi and load8(data, end) == COMMA
    for nth in range(LONGEST_WALK):
        start = end + 1
        if start >= hi or load8(data, end) != BLANK:
            return False
        size = _letters(data, start, hi)
        if _is_among(data, start, size, _AFTER_NUMBER, _MAYBE_AFTER):
            return True
        digit = _is(data, start, DIGIT)
        small = not _is(data, start, CAPITAL)
        if small and not _is_among(data, start, size, _SMALL_AFTER, _MAYBE_SMALL_AFTER):
            return False
        end = _word_end(data, start + size, hi)
        if digit and not _is(data, end - 1, LETTER):
            return False  # a number, and not an ordinal
        end += nth == 0 and end < hi and load8(data, end) == COMMA  # "12 bis, rue"
    return False


@kernel
def _words_before(data: Bytes, lo: int, blank: int, document: int, places: Int64s, n: int) -> int:
    """Append the beginnings of the words before the blank, if one of them is a word of a street or a box; returns the
    new count, -1 for no room."""
    count = n
    end = blank + 1
    is_street = False
    for nth in range(LONGEST_WALK):
        end -= 1
        if end < lo or load8(data, end) != BLANK:
            break
        end -= end > lo and load8(data, end - 1) == COMMA
        start = end
        while start > lo and _is(data, start - 1, IN_WORD):
            start -= 1
        if nth == 0 and _ends_as_street(data, start, end):
            is_street = True
        size = _letters(data, start, end)
        is_keyword = False
        for at in range(start, end):
            if at > start and _is(data, at - 1, LETTER):
                continue
            letters = _letters(data, at, end)
            is_keyword |= _is_among(data, at, letters, _BEFORE_NUMBER, _MAYBE_BEFORE)
            if not _is(data, at, BEGINS):
                continue
            if count == len(places):
                return -1
            places[count, 0], places[count, 1] = document, at - lo
            count += 1
        is_street |= is_keyword
        end = start
        if start == lo:
            break
        if is_keyword or (_is(data, start, CAPITAL) and (is_street or not _is(data, start, DIGIT))):
            continue
        if not _is_among(data, start, size, _SMALL_BEFORE, _MAYBE_SMALL_BEFORE):
            break
    return count if is_street else n


@inlined
def _letters(data: Bytes, at: int, hi: int) -> int:
    """How many bytes of Latin letters data[at:hi] begins with, as far as `_is_among` compares them: 8 or more are all
    the same to it."""
    end = at
    hi = min(hi, at + 9)
    while end < hi:
        if _is(data, end, LETTER):
            end += 1
        elif _is(data, end, BEGINS) and end + 1 < hi and load8(data, end + 1) not in TIMES_AND_DIVIDED:
            end += 2
        else:
            break
    return end - at


@kernel
def _ends_as_street(data: Bytes, start: int, end: int) -> bool:
    """Whether a word ends as German and Dutch streets do."""
    end -= end > start and load8(data, end - 1) == DOT
    last = (load64(data, end - 3) | CAPITAL_BIT_3) & THREE_BYTES  # all ends have three bytes or more
    if end - start < 3 or not _MAYBE_END[(last * MIXER) >> MIXED_BITS]:
        return False
    for i in range(len(_END_SIZES)):
        size = _END_SIZES[i]
        if size <= end - start:
            word = (load64(data, end - size) | CAPITAL_BIT) & (ALL_BITS >> U(64 - 8 * min(size, 8)))
            if word == _ENDS_PACKED[i, 0]:
                return True
    return False


def warm_up() -> None:
    address_spans(view(pa.array(["10 Main Street, 10115 Berlin"], pa.large_string())))
