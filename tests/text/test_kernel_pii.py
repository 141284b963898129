"""Each kind of personal data is what its regular expression or checksum says, and nothing else is."""

import re
from collections.abc import Callable, Iterator
from ipaddress import IPv6Address, ip_address
from itertools import pairwise

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from publicsuffixlist import PublicSuffixList

from corpusmill.text.pii import EXTENSIONS, HOST_WORDS, IBAN_SIZES, KINDS, PLANS, VERSION_WORDS, pii_spans
from text_strategies import WORD, strings

PATTERNS = KINDS[:8]  # the others are those of `corpusmill.text.secrets`
LOCAL = r"[A-Za-z0-9!#$%&'*+/=?^_`{|}~-]+"
LABEL = r"[A-Za-z0-9](?:[A-Za-z0-9-]*[A-Za-z0-9])?"
OCTET = "(?:25[0-5]|2[0-4][0-9]|1[0-9][0-9]|[1-9]?[0-9])"
AREA = "[2-9](?!11)[0-9]{2}"
FIRST = rf"(?:001[ .-]|1[ .-]?)?(?:\({AREA}\)[ .-]?|{AREA}[ .-])"  # up to the area
LAST = "[0-9]{2}[ .-][0-9]{4}"
INVENTED = rf"001-(?:\([0-9]{{3}}\)[ .-]?|[0-9]{{3}}[ .-])[0-9]{LAST}"  # of any digits
AMERICAN = rf"(?!{AREA}\.[0-9]{{3}}-)(?:{FIRST}(?:[2-9]{LAST}|[01]{LAST}(?=[xX][0-9]{{3}}))|{INVENTED})"
EXTENSION = r"(?: ?(?:[xX]|[eE]xt\.?) ?[0-9]{1,5})?"
BEFORE = rf"(?<!{WORD})(?<!\+)(?<![0-9][.-])"
BOUNDARY = rf"(?:(?<={WORD})(?!{WORD})|(?<!{WORD})(?={WORD}))"
AFTER = rf"(?!{WORD})(?![.-][0-9])"

Slow = Callable[[str], Iterator[tuple[int, int]]]


def tried(pattern: str, holds: Callable[[str, int, int], bool] = lambda text, start, end: True) -> Slow:
    """Every match that holds, from left to right; where one does not, the search goes on at the next character."""

    def find(text: str) -> Iterator[tuple[int, int]]:
        at = 0
        while match := re.compile(pattern).search(text, at):
            held = holds(text, *match.span())
            if held:
                yield match.span()
            at = match.end() if held else match.start() + 1

    return find


def emails(text: str) -> Iterator[tuple[int, int]]:
    at = 0
    while match := re.compile(rf"{BOUNDARY}{LOCAL}(?:\.{LOCAL})*@(?:{LABEL}\.)+{LABEL}").search(text, at):
        top = match.group().rpartition(".")[2]
        is_password = re.search(r"[A-Za-z0-9]://[^\s/?#]*:[^\s/?#]*$", text[: text.index("@", match.start())])
        if (
            len(top) > 1
            and re.search("[A-Za-z]", top)
            and top.lower() not in EXTENSIONS
            and not (is_password and text[match.end() : match.end() + 1] != "@")
        ):
            yield match.span()
            at = match.end()
        else:
            at = text.index("@", match.start()) + 1


def is_address(text: str, start: int, end: int) -> bool:
    numbers = text[start:end].split(".")
    few = len("".join(numbers)) <= 5 + (len(numbers[0]) == 1)
    few = few and numbers[0] != "10" and len(set(numbers)) > 1
    words = "|".join(HOST_WORDS if few else VERSION_WORDS)
    said = re.search(rf"(?<![A-Za-z])(?:{words})[ .:=#/_\"'(-]{{1,3}}$", text[:start], re.IGNORECASE)
    return bool(said) if few else not said


def phones(text: str) -> Iterator[tuple[int, int]]:
    lengths = {}
    for plan in PLANS.split():
        code, _, span = plan.partition(":")
        least, _, most = span.partition("-")
        lengths[code] = range(int(least), int(most or least) + 1)
    at = 0
    while at < len(text):
        ends = []
        if match := re.compile(BEFORE + AMERICAN + EXTENSION + AFTER).match(text, at):
            ends.append(match.end())
        elif re.compile(BEFORE + r"\+[1-9]").match(text, at):
            end, digits = at + 1, ""
            while len(digits) < 15 and (
                match := re.compile(r"[ .()-]{0,2}([0-9])" if digits else "([0-9])").match(text, end)
            ):
                end = match.end()
                if text[end - 2 : end + 1] == "(0)":
                    continue
                digits += match[1]
                fits = any(len(digits) in lengths.get(digits[:n], ()) for n in (1, 2, 3))
                if fits and not re.compile("[0-9]|[.-][0-9]").match(text, end):
                    ends = [end]
            if ends:
                ends = [m.end() for m in [re.compile(EXTENSION + AFTER).match(text, ends[0])] if m]
        if ends:
            yield at, ends[0]
        at = ends[0] if ends else at + 1


def luhn(digits: str) -> bool:
    total = sum(sum(divmod(int(d) * (1 + i % 2), 10)) for i, d in enumerate(reversed(digits)))
    return total % 10 == 0


NETWORKS = (
    r"4(?:.{12}|.{15}|.{18})|3[47].{13}|3(?:[689].|0[0-5]|095).{11,12}|5[1-5].{14}|(?:2131|1...|2014|2149).{11}"
    r"|(?:222[1-9]|22[3-9].|2[3-6]..|27[01].|2720|5019|6062|508.|63[6-9].|8600|9792|9860).{12}|220[0-4].{12,15}"
    r"|(?:6011|64[4-9].|65..|62..|35..|8[12]..|5060|5061|5078|5079|6334|6767|6706|6709|6771).{12,15}"
    r"|(?:5018|5020|5038|5[678]..|6304|6390|6759|6761|6762|6763).{8,15}"
)


def is_article(digits: str) -> bool:
    return len(digits) == 13 and sum(int(d) * (3 if i % 2 else 1) for i, d in enumerate(digits)) % 10 == 0


def is_card(number: str) -> bool:
    digits = re.sub("[ -]", "", number)
    diners = re.match("3(?:[689]|0[0-5]|095)", digits) is None or len(digits) == 14
    return bool(re.fullmatch(NETWORKS, digits)) and diners and luhn(digits) and not is_article(digits)


def is_series(text: str, start: int, end: int) -> bool:
    """Whether the groups are as far from each other; two groups, with the number on one side of them."""
    groups = [int(group) for group in re.split("[ -]", text[start:end])]
    if len(groups) > 2:
        return len({b - a for a, b in pairwise(groups)}) == 1 and groups[0] != groups[1]
    if len(groups) == 1 or groups[0] == groups[1]:
        return False
    joiner = re.search("[ -]", text[start:end])[0]
    before, after = re.search(rf"([0-9]+){joiner}$", text[:start]), re.match(rf"{joiner}([0-9]+)", text[end:])
    step = groups[1] - groups[0]
    return bool(before and int(before[1]) == groups[0] - step) or bool(after and int(after[1]) == groups[1] + step)


def cards(text: str) -> Iterator[tuple[int, int]]:
    """The longest that holds, where a number of whole digits, or of groups, begins."""
    at = done = 0
    while at < len(text):
        groups = re.compile(r"(?<![0-9])[0-9]{3,6}(?:([ -])[0-9]{3,6}(?:\1[0-9]{3,6})*)?(?![0-9])")
        whole = re.compile(r"(?<![0-9])[0-9]{12,19}(?![0-9])").match(text, at)
        match = whole or groups.match(text, at)
        ends = [m.end() for m in re.compile("(?<=[0-9])(?![0-9])").finditer(text, at, match.end() + 1)] if match else []
        ends = [e for e in ends if is_card(text[at:e])]
        if ends and re.compile(BEFORE).match(text, at) and re.compile(AFTER).match(text, ends[-1]):
            goes_on = re.search(rf"(?<!{WORD})[A-Za-z0-9]{{3}}[0-9] $", text[:at]) and at - 5 >= done
            if not (goes_on and " " in text[at : ends[-1]]) and not is_series(text, at, ends[-1]):
                yield at, ends[-1]
                at = done = ends[-1]
                continue
        at += 1


def is_iban(text: str, start: int, end: int) -> bool:
    number = re.sub("[ -]", "", text[start:end]).upper()
    if IBAN_SIZES.get(number[:2]) != len(number):
        return False
    return int("".join(str(int(c, 36)) for c in number[4:] + number[:4])) % 97 == 1


def ibans(text: str) -> Iterator[tuple[int, int]]:
    at = 0
    while at < len(text):
        end_of_one = None
        if re.compile(rf"(?<!{WORD})[A-Za-z]{{2}}[0-9]{{2}}").match(text, at) and (
            size := IBAN_SIZES.get(text[at : at + 2].upper())
        ):
            end = at + size + (size - 1) // 4 * (text[at + 4 : at + 5] in (" ", "-"))
            last = f"[A-Za-z0-9]{{{(size - 1) % 4 + 1}}}"
            grouped = "|".join(f"[A-Za-z0-9]{{4}}{j}" * ((size - 1) // 4) + last for j in " -")
            if re.fullmatch(f"[A-Za-z0-9]{{{size}}}|{grouped}", text[at:end]) and is_iban(text, at, end):
                end_of_one = end if re.compile(rf"(?!{WORD})").match(text, end) else None
        if end_of_one:
            yield at, end_of_one
        at = end_of_one or at + 1


MAC = r"[0-9A-Fa-f]{2}([:-])(?:[0-9A-Fa-f]{2}\1){4}[0-9A-Fa-f]{2}"
DOTTED = r"[0-9A-Fa-f]{4}\.[0-9A-Fa-f]{4}\.[0-9A-Fa-f]{4}"


def is_mac(text: str, start: int, end: int) -> bool:
    value = text[start:end]
    joiner = re.search(r"[.:-]", value)[0]
    pairs = re.sub("[.:-]", "", value)
    if text[max(0, start - 1) : start] == joiner or re.match(rf"{re.escape(joiner)}[0-9A-Fa-f]", text[end:]):
        return False
    letters = len(re.sub("[0-9]", "", pairs))
    if joiner == ".":
        return 0 < letters < 12
    return len(set(pairs)) > 1 and (joiner == ":" or letters > 0)


def ssns(text: str) -> Iterator[tuple[int, int]]:
    number = r"(?!000|666|9)[0-9]{3}([ .-])(?!00)[0-9]{2}\1(?!0000)[0-9]{4}"
    yield from tried(rf"{BEFORE}{number}{AFTER}", alone)(text)


def alone(text: str, start: int, end: int) -> bool:
    if text[start + 3] == "-":
        return True
    return not re.search(r"[0-9][ .-]$", text[:start]) and not re.match(r"[ .-][0-9]", text[end:])


SLOW: dict[str, Slow] = {
    "email": emails,
    "ipv4": tried(rf"(?<!{WORD})(?<!\+)(?<![0-9]\.){OCTET}(?:\.{OCTET}){{3}}(?!{WORD})(?!\.[0-9])", is_address),
    "phone": phones,
    "ssn": ssns,
    "card": cards,
    "iban": ibans,
    "mac": tried(rf"(?<!{WORD})(?:{MAC}|{DOTTED})(?!{WORD})", is_mac),
}
PARTS = {
    "email": [
        "a",
        "b1",
        ".",
        "..",
        "@",
        "-",
        "_",
        "é",
        "です",
        "가",
        "ไ๙",
        " ",
        "+",
        "c.d",
        "x@y.zz",
        "日",
        "\n",
        "Q-9",
        "a@b",
        "png",
        ".1",
        "@2x.",
        ":",
        "://",
        "u://v:",
        "/",
    ],
    "ipv4": [
        "1",
        "25",
        "255",
        "256",
        "0",
        "01",
        ".",
        "..",
        "1.2.3",
        "10.0.0.1",
        "a",
        "é",
        "です",
        "가",
        "ไ๙",
        "-",
        " ",
        ":",
        "/",
        "+",
        "_",
        "93.184.216.34",
        "Version ",
        "rev",
        "=#",
        "Host: ",
        "addr",
        "3.3.3.0",
    ],
    "phone": [
        "555",
        "234-5678",
        "(212)",
        "1",
        "+",
        "+1",
        "20",
        "7946",
        " ",
        ".",
        "-",
        "(",
        ")",
        "a",
        "é",
        "です",
        "가",
        "ไ๙",
        "\n",
        "0199",
        "x12",
        " ext. 3",
        "(0)",
        "001-",
        "44",
        "911-",
        "040-",
        "234.567-8901",
        "x123",
        "001-100-",
    ],
    "card": [
        "4",
        "4111",
        "1111",
        " ",
        "-",
        "378282246310005",
        "6304",
        "2739",
        "3398",
        "30",
        "GB79",
        "4973229302025",
        "4012888888881881",
        "569309025904",
        "11528 12168 12808",
        "560000",
        "560010",
        "560020",
        "1",
        "a",
        ".",
        "\n",
        "+",
        "é",
        "です",
        "가",
        "ไ๙",
        "12",
    ],
    "iban": [
        "GB82",
        "WEST",
        "1234",
        "5698",
        "7654",
        "32",
        " ",
        "DE89370400440532013000",
        "GB82-WEST-1234-5698-7654-32",
        "-",
        "no93",
        "86011117947",
        "x",
        "é",
        "です",
        "가",
        "ไ๙",
        "a",
        "\n",
    ],
    "mac": [
        "00",
        "1a",
        "ff",
        ":",
        "-",
        "::",
        "00:1A:2b:3C:4d:5e",
        "00-1a-2b-3c",
        "5",
        "g",
        "é",
        "です",
        "가",
        "ไ๙",
        " ",
        ".",
        "11-22-33-44-55-66",
        "0012.3456",
        "789a",
        "ff:ff:ff:",
    ],
    "ssn": [
        "123",
        "-",
        "123 45 6789",
        "123.45.",
        "45",
        "6789",
        "000",
        "666",
        "900",
        "00",
        "0000",
        " ",
        "a",
        ".",
        "+",
        "123-45-6789",
        "é",
        "です",
        "가",
        "ไ๙",
    ],
}


def spans_in(text, *kinds):
    raw = text.encode()
    return [(KINDS[kind], raw[a:b].decode()) for _, kind, a, b in pii_spans(strings(text), kinds or KINDS).tolist()]


@pytest.mark.parametrize("kind", SLOW)
@given(data=st.data())
@settings(max_examples=250)
def test_a_kind_is_what_its_definition_says(kind, data):
    text = "".join(data.draw(st.lists(st.sampled_from(PARTS[kind]), max_size=25)))
    assert spans_in(text, kind) == [(kind, text[start:end]) for start, end in SLOW[kind](text)], text


@given(data=st.data())
@settings(max_examples=150)
def test_a_number_is_found_anywhere_in_a_block(data):
    """The quick look at a run of digits is left out where the run reaches the end of a block of 64 bytes."""
    kind = data.draw(st.sampled_from(sorted(SLOW)))
    parts = st.sampled_from([*PARTS[kind], "+493023125000", "x" * 9, "word ", "2024, "])
    text = " " * data.draw(st.integers(40, 66)) + "".join(data.draw(st.lists(parts, max_size=8)))
    assert spans_in(text, kind) == [(kind, text[start:end]) for start, end in SLOW[kind](text)], text


@pytest.mark.parametrize(
    ("text", "spans"),
    [
        ("lodash@4.17.21 logo@2x.png x@self.weight.T a@b.1@c.org", [("email", "b.1@c.org")]),
        ("write to Jo.Doe+x@mail.example.co.uk.", [("email", "Jo.Doe+x@mail.example.co.uk")]),
        ("not a@b, nor @b.c, nor a@-b.c", []),
        ("555-234-5678@x.org", [("email", "555-234-5678@x.org")]),
        ("1.2.3.4@x.org and 8.8.8.8", [("email", "1.2.3.4@x.org"), ("ipv4", "8.8.8.8")]),
        (
            "3.3.3.0 4.15.1.10 Version: 93.184.216.34 (build 93.184.216.34) averse 93.184.216.34",
            [("ipv4", "93.184.216.34")],
        ),
        (
            "10.0.0.1 1.1.1.1 5.9.23.101 93.18.2.3",
            [("ipv4", a) for a in ("10.0.0.1", "1.1.1.1", "5.9.23.101", "93.18.2.3")],
        ),
        ("at 8.8.8.8:53, 192.168.0.1.", [("ipv4", "8.8.8.8"), ("ipv4", "192.168.0.1")]),
        ("1.2.3.4.5 1.3.6.1.4.1.311 v1.2.3.4 1.2.3.4rc1 256.1.1.1 01.2.3.4 1.2.3", []),
        ("12:30:45 10:00 00:1a:2b:3c:4d:5e:6f:70 10:20:30:40:50:60:70:80 a::b std::string x[1::2] ::1 dead:beef", []),
        (
            "in 1999::, May 7 2004::3, [2004::] 2004::/16, beef::, face::add 2004::3",
            [
                ("ipv6", "2004::"),
                ("ipv6", "2004::"),
                ("ipv6", "2004::3"),
            ],
        ),
        (
            "git+ssh://jane:password@host.example/x redis://:password@host.example, ssh://jane@host.example",
            [("email", "jane@host.example")],
        ),
        ("ftp://anonymous:jane@host.example@ftp.host.example/", [("email", "jane@host.example")]),
        (
            "see http://host.example/to:jane@host.example, mailto:jane@host.example",
            [("email", "jane@host.example")] * 2,
        ),
        (
            "under 252.204-7012, not 212.555-0199, but 212.555.0199 and 1.212.555-0199",
            [
                ("phone", "212.555.0199"),
                ("phone", "1.212.555-0199"),
            ],
        ),
        (
            "001-012-345-6789x12 001-845-199-2004 212-055-0199x1234",
            [("phone", n) for n in ("001-012-345-6789x12", "001-845-199-2004", "212-055-0199x1234")],
        ),
        ("212-055-0199 212-055-0199x12 001 212 055 0199", []),
        ("2001:db8::1, [fe80::1%eth0]", [("ipv6", "2001:db8::1"), ("ipv6", "fe80::1")]),
        ("2001:0db8:85a3:0000:0000:8a2e:0370:7334.", [("ipv6", "2001:0db8:85a3:0000:0000:8a2e:0370:7334")]),
        ("2001:db8::192.0.2.33: yes", [("ipv6", "2001:db8::192.0.2.33")]),
        ("1:2:3:4:5:6:7:8:9 2001:db8::1::2 2001:db8::12345 g2001:db8::1", []),
        ("call (555) 234-5678 or 1-212-555-0199", [("phone", "(555) 234-5678"), ("phone", "1-212-555-0199")]),
        ("(212-555-0199), +44 (0)20 7946 0958", [("phone", "212-555-0199"), ("phone", "+44 (0)20 7946 0958")]),
        ("+555555555555(0)", [("phone", "+555555555555")]),
        ("+46 (0)8 928 571 38, +1 212 555 0199 2024", [("phone", "+46 (0)8 928 571 38"), ("phone", "+1 212 555 0199")]),
        ("212.555.0199x459 212-555-0199 ext. 7", [("phone", "212.555.0199x459"), ("phone", "212-555-0199 ext. 7")]),
        ("2024-11-21 123-456 1234567890 +999 123 456 789 +44 123 911-555-0199", []),
        ("SSN 123-45-6789", [("ssn", "123-45-6789")]),
        ("4111 1111 1111 1111", [("card", "4111 1111 1111 1111")]),
        ("3782-822463-10005 6011111111111117", [("card", "3782-822463-10005"), ("card", "6011111111111117")]),
        ("4111 1111 1111 1111 2025", [("card", "4111 1111 1111 1111")]),
        (
            "4111 1111 1111 1111 4012 8888 8888 1881",
            [("card", n) for n in ("4111 1111 1111 1111", "4012 8888 8888 1881")],
        ),
        (
            "VISA 4111 1111 1111 1111, 2024 4111111111111111",
            [("card", n) for n in ("4111 1111 1111 1111", "4111111111111111")],
        ),
        ("MC79 4918 1871 2818 8818 0582 072, 2387 5646 8587 1464", []),
        ("EAN 4973229302025, 4222222222222", [("card", "4222222222222")]),
        ("Chrome/3.0.195.33 curl/93.184.216.34", [("ipv4", "93.184.216.34")]),
        ("4111 1111 1111 1112, 4111-1111 1111-1111, 1234567812345670, 41111111111111110", []),
        ("GB82 WEST 1234 5698 7654 32.", [("iban", "GB82 WEST 1234 5698 7654 32")]),
        ("DE89370400440532013000", [("iban", "DE89370400440532013000")]),
        ("gb82west12345698765432", [("iban", "gb82west12345698765432")]),
        ("00:1A:2B:3C:4D:5E, aa-bb-cc-dd-ee-ff", [("mac", "00:1A:2B:3C:4D:5E"), ("mac", "aa-bb-cc-dd-ee-ff")]),
        ("11-22-33-44-55-66 00:1a-2b:3c-4d:5e 00:1a:2b:3c:4d FF:FF:FF:FF:FF:FF 1234.5678.9012", []),
        ("00:11:22:33:44:55 0012.3456.789A", [("mac", "00:11:22:33:44:55"), ("mac", "0012.3456.789A")]),
        ("Host: 1.2.3.4, ip=1.2.3.5, 1.2.3.6", [("ipv4", "1.2.3.4"), ("ipv4", "1.2.3.5")]),
        ("SSN 219 09 9999, 011 39 0831 301781", [("ssn", "219 09 9999")]),
        ("122000000000003 5019717010103742", [("card", "122000000000003"), ("card", "5019717010103742")]),
        ("GB82-WEST-1234-5698-7654-32", [("iban", "GB82-WEST-1234-5698-7654-32")]),
        ("GB82 WEST 1234 5698 7654 33 XDE89370400440532013000 DE8937040044053201300", []),
    ],
)
def test_examples(text, spans):
    assert spans_in(text) == spans


TOUCHED = {
    "email": "jane@host.example",
    "ipv4": "93.184.216.34",
    "ipv6": "2001:db8::192.0.2.33",
    "phone": "212-555-0199",
    "ssn": "123-45-6789",
    "card": "4111 1111 1111 1111",
    "iban": "DE89370400440532013000",
    "mac": "00:1A:2B:3C:4D:5E",
}


@pytest.mark.parametrize("kind", TOUCHED)
def test_letters_of_scripts_without_spaces_and_korean_may_touch_personal_data(kind):
    for letters in ("电话", "番号は", "アドレス", "번호", "เลขที่", "ໝາຍເລກ", "ဖုန်း", "លេខ", "\U00020bb7"):
        for text in (letters + TOUCHED[kind], TOUCHED[kind] + letters, letters + TOUCHED[kind] + letters):
            assert spans_in(text) == [(kind, TOUCHED[kind])], text


@pytest.mark.parametrize("kind", [kind for kind in TOUCHED if kind != "email"])
def test_other_letters_and_digits_that_touch_a_number_are_part_of_it(kind):
    for letters in ("x", "é", "ж", "ع", "７", "๗", "Ａ", "_"):
        assert spans_in(letters + TOUCHED[kind]) != [(kind, TOUCHED[kind])], letters
        assert spans_in(TOUCHED[kind] + letters) != [(kind, TOUCHED[kind])], letters


@given(st.text("0123456789", min_size=15, max_size=15))
@settings(max_examples=60)
def test_one_of_ten_last_digits_makes_a_card(digits):
    numbers = [f"4{digits[1:]}{last}" for last in range(10)]
    assert [bool(spans_in(number, "card")) for number in numbers] == [luhn(number) for number in numbers]


@given(st.sampled_from(sorted(IBAN_SIZES)), st.integers(0, 10**28), st.booleans())
@settings(max_examples=80)
def test_an_account_number_has_its_country_s_length_and_check_digits(country, account, spaced):
    rest = str(account).zfill(30)[: IBAN_SIZES[country] - 4]
    as_number = int("".join(str(int(c, 36)) for c in f"{rest}{country}00"))
    whole = f"{country}{98 - as_number % 97:02}{rest}"
    text = " ".join(whole[i : i + 4] for i in range(0, len(whole), 4)) if spaced else whole
    assert spans_in(f"to {text}, please", "iban") == [("iban", text)]
    assert not spans_in(f"to {text}1, please", "iban")
    assert not spans_in(text[:2] + f"{(int(text[2:4]) + 1) % 97:02}" + text[4:], "iban")


@given(st.integers(2**125, 2**126 - 1), st.booleans())
@settings(max_examples=60)
def test_every_global_ipv6_address_is_found(number, exploded):
    address = IPv6Address(number)
    text = address.exploded if exploded else str(address)
    assert spans_in(f"from {text}, hello", "ipv6") == [("ipv6", text)]


def test_kinds_can_be_chosen_and_documents_are_numbered():
    texts = strings("a@b.org", None, "8.8.8.8 a@b.org")
    assert pii_spans(texts[1:], ["email"]).tolist() == [[1, 0, 8, 15]]
    assert pii_spans(texts, []).tolist() == []
    with pytest.raises(ValueError, match='"mail" is not a kind of personal data; there are email, ipv4'):
        pii_spans(texts, ["mail"])


def test_many_spans_get_the_room_they_need():
    assert len(pii_spans(strings("a@b.cd " * 5000, "1.1.1.1 " * 3000))) == 8000


@settings(max_examples=60)
@given(st.lists(st.sampled_from([p for parts in PARTS.values() for p in parts]), max_size=40).map("".join))
@example("1.2.3.4@b.c")
def test_spans_are_in_order_without_overlap(text):
    spans = pii_spans(strings(text, text))
    for (d, _, _, end), (following, _, start, _) in pairwise(spans):
        assert d < following or end <= start


@given(st.integers(1 << 24, (224 << 24) - 1), st.sampled_from(["from {}", "[{}]:", "http://{}/"]))
@settings(max_examples=150)
def test_an_address_with_seven_digits_or_more_is_not_a_version(number, around):
    address = str(ip_address(number))
    enough = len(address) >= 10
    assert bool(spans_in(around.format(address), "ipv4")) >= enough


def test_no_extension_is_a_top_level_domain():
    suffixes = PublicSuffixList(only_icann=True, accept_unknown=False)
    assert not [extension for extension in EXTENSIONS if suffixes.publicsuffix(extension)]
