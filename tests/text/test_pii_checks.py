"""Check digits of national numbers: numbers that the authorities publish, each with one digit wrong, and all of a form."""

import random

import pytest

from corpusmill.text.pii import checks

# From the documents of the authorities, or made by their rules.
VALID = [
    (checks.luhn, "4111111111111111"),
    (checks.luhn, "79927398713"),
    (checks.verhoeff, "2363"),
    (checks.verhoeff, "123451"),
    (checks.mod_11_10, "86095742719"),
    (checks.aba, "021000021"),
    (checks.aba, "111000025"),
    (checks.npi, "1234567893"),
    (checks.nhs, "9434765919"),
    (checks.abn, "51824753556"),
    (checks.acn, "004085616"),
    (checks.tfn, "123456782"),
    (checks.medicare, "2123456701"),
    (checks.sin, "046454286"),
    (checks.nif, "12345678Z"),
    (checks.nif, "X1234567L"),
    (checks.codice_fiscale, "RSSMRA85T10A562S"),
    (checks.pesel, "44051401359"),
    (checks.nric, "S1234567D"),
    (checks.nric, "T1234567J"),
    (checks.nric, "F1234567N"),
    (checks.nric, "G1234567X"),
    (checks.hetu, "131052-308T"),
    (checks.personnummer, "8112189876"),
    (checks.personnummer, "198112189876"),
    (checks.tckn, "10000000146"),
    (checks.steuer_id, "86095742719"),
    (checks.cpf, "52998224725"),
    (checks.resident, "11010519491231002X"),
    (checks.nir, "255081416802538"),
    (checks.bsn, "111222333"),
    (checks.tnin, "1101700207366"),
]


def ident(value):
    return getattr(value, "__name__", None)


@pytest.mark.parametrize(("check", "number"), VALID, ids=ident)
def test_numbers_of_the_authorities_pass(check, number):
    assert check(number)


# One wrong digit is always seen, but for checks modulo a number below ten, of which few digits are left over.
ALL_SEEN = [
    checks.luhn, checks.verhoeff, checks.mod_11_10, checks.npi, checks.nhs, checks.sin, checks.cpf, checks.nir,
    checks.bsn, checks.personnummer, checks.pesel,
]  # fmt: skip


@pytest.mark.parametrize(("check", "number"), [pair for pair in VALID if pair[0] in ALL_SEEN], ids=ident)
def test_one_wrong_digit_is_seen(check, number):
    last = len(number) if check is not checks.personnummer else 10
    for at in range(len(number) - last, len(number)):
        for digit in "0123456789":
            if digit != number[at]:
                assert not check(number[:at] + digit + number[at + 1 :]), (at, digit)


@pytest.mark.parametrize(
    "check", [checks.luhn, checks.verhoeff, checks.mod_11_10, checks.aba, checks.npi, checks.nhs, checks.bsn]
)
def test_of_each_number_about_one_last_digit_in_ten_fits(check):
    sizes = {checks.npi: 10, checks.nhs: 10, checks.aba: 9, checks.bsn: 9}
    draw = random.Random(7)
    fitting = 0
    for _ in range(300):
        body = "".join(draw.choice("0123456789") for _ in range(sizes.get(check, 11) - 1))
        fitting += sum(check(body + last) for last in "0123456789")
    assert 220 <= fitting <= 300


@pytest.mark.parametrize(
    ("check", "number"),
    [
        (checks.aba, "000000000"), (checks.nhs, "0000000000"), (checks.acn, "000000000"), (checks.tfn, "000000000"),
        (checks.sin, "000000000"), (checks.bsn, "000000000"), (checks.cpf, "11111111111"),
        (checks.aadhaar, "222222222222"), (checks.abn, "01824753556"), (checks.medicare, "2123456700"),
        (checks.steuer_id, "11111111111"), (checks.pesel, "44131401359"), (checks.hetu, "311352-308T"),
        (checks.hetu, "131052-001T"), (checks.personnummer, "8113189876"), (checks.resident, "11010519490231002X"),
        (checks.rrn, "8013011234567"), (checks.tnin, "1281700207366"),
    ],
    ids=ident,
)  # fmt: skip
def test_what_no_authority_gives_out_fails(check, number):
    assert not check(number)


@pytest.mark.parametrize(
    ("year", "month", "day", "expected"),
    [
        (2024, 2, 29, True),
        (2023, 2, 29, False),
        (1900, 2, 29, False),
        (2000, 2, 29, True),
        (2024, 13, 1, False),
        (2024, 4, 31, False),
        (0, 1, 1, False),
    ],
)
def test_dates(year, month, day, expected):
    assert checks.is_date(year, month, day) is expected


def test_korean_numbers_need_a_date():
    assert checks.rrn("8002291234567") and not checks.rrn("8102291234567")
    assert checks.rrn("0002293234567") and not checks.rrn("0102293234567")


def test_weights_of_a_shorter_number_are_left_over():
    assert checks.weighted("12a3", (1, 10, 100)) == 321
    assert checks.digits("1-2 x3") == [1, 2, 3]
