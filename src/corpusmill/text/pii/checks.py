"""Check digits of national numbers, by the authorities that give them out. Each takes the number without separators."""

from collections.abc import Callable, Sequence
from datetime import date


def digits(text: str) -> list[int]:
    return [int(c) for c in text if c.isdecimal()]


def weighted(text: str, weights: Sequence[int]) -> int:
    """The sum of the digits, each with its weight."""
    return sum(digit * weight for digit, weight in zip(digits(text), weights))


def luhn(text: str) -> bool:
    """ISO/IEC 7812."""
    return sum(sum(divmod(d * (1 + i % 2), 10)) for i, d in enumerate(reversed(digits(text)))) % 10 == 0


def verhoeff(text: str) -> bool:
    """Verhoeff's check, over the dihedral group of order ten.

    >>> verhoeff("2363"), verhoeff("2364")
    (True, False)
    """
    check = 0
    for position, digit in enumerate(reversed(digits(text))):
        check = _product(check, _permuted(digit, position))
    return check == 0


def _product(a: int, b: int) -> int:
    """In the dihedral group: 0 to 4 are rotations, 5 to 9 reflections."""
    if a < 5:
        return (a + b) % 5 if b < 5 else 5 + (a + b) % 5
    return 5 + (a - b) % 5 if b < 5 else (a - b) % 5


def _permuted(digit: int, times: int) -> int:
    for _ in range(times % 8):
        digit = (1, 5, 7, 6, 2, 8, 3, 0, 9, 4)[digit]
    return digit


def mod_11_10(text: str) -> bool:
    """ISO/IEC 7064, MOD 11,10."""
    check = 10
    *body, last = digits(text)
    for digit in body:
        check = (check + digit) % 10 or 10
        check = check * 2 % 11
    return (11 - check) % 10 == last


def is_date(year: int, month: int, day: int) -> bool:
    try:
        date(year, month, day)
    except ValueError:
        return False
    return True


def aba(text: str) -> bool:
    return weighted(text, (3, 7, 1) * 3) % 10 == 0 and len(set(text)) > 1


def npi(text: str) -> bool:
    return luhn("80840" + text)


def nhs(text: str) -> bool:
    return (11 - weighted(text[:9], range(10, 1, -1)) % 11) % 11 == int(text[9]) and len(set(text)) > 1


def abn(text: str) -> bool:
    return (
        text[0] != "0" and weighted(str(int(text[0]) - 1) + text[1:], (10, 1, 3, 5, 7, 9, 11, 13, 15, 17, 19)) % 89 == 0
    )


def acn(text: str) -> bool:
    return (10 - weighted(text[:8], range(8, 0, -1)) % 10) % 10 == int(text[8]) and len(set(text)) > 1


def tfn(text: str) -> bool:
    return weighted(text, (1, 4, 3, 7, 5, 8, 6, 9, 10)) % 11 == 0 and len(set(text)) > 1


def medicare(text: str) -> bool:
    return weighted(text[:8], (1, 3, 7, 9) * 2) % 10 == int(text[8]) and text[9] != "0"


def sin(text: str) -> bool:
    return luhn(text) and len(set(text)) > 1


def nif(text: str) -> bool:
    number = text[:-1].replace("X", "0").replace("Y", "1").replace("Z", "2")
    return "TRWAGMYFPDXBNJZSQVHLCKE"[int(number) % 23] == text[-1]


_ODD_DIGITS = (1, 0, 5, 7, 9, 13, 15, 17, 19, 21)
_ODD_LETTERS = (*_ODD_DIGITS, 2, 4, 18, 20, 11, 3, 6, 8, 12, 14, 16, 10, 22, 25, 24, 23)
ODD = dict(zip("0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ", (*_ODD_DIGITS, *_ODD_LETTERS)))


def codice_fiscale(text: str) -> bool:
    """The control letter of D.M. 23/12/1976."""
    even = sum(int(c) if c.isdecimal() else ord(c) - 65 for c in text[1:15:2])
    return chr(65 + (even + sum(ODD[c] for c in text[0:15:2])) % 26) == text[15]


def pesel(text: str) -> bool:
    month = int(text[2:4]) % 20
    return (
        weighted(text, (1, 3, 7, 9, 1, 3, 7, 9, 1, 3, 1)) % 10 == 0 and 1 <= month <= 12 and 1 <= int(text[4:6]) <= 31
    )


def nric(text: str) -> bool:
    """Singapore: S and T for citizens, F, G and M for others."""
    total = weighted(text[1:8], (2, 7, 6, 5, 4, 3, 2)) + (4 if text[0] in "TG" else 3 if text[0] == "M" else 0)
    letters = {"S": "JZIHGFEDCBA", "F": "XWUTRQPNMLK", "M": "KLJNPQRTUWX"}
    row = letters[{"T": "S", "G": "F"}.get(text[0], text[0])]
    return row[total % 11 if text[0] != "M" else 10 - total % 11] == text[8]


def aadhaar(text: str) -> bool:
    return verhoeff(text) and text != text[::-1]


def hetu(text: str) -> bool:
    """Finland: date, sign of the century, number and check character."""
    century = 18 if text[6] == "+" else 19 if text[6] in "-YXWVU" else 20
    if not is_date(century * 100 + int(text[4:6]), int(text[2:4]), int(text[:2])) or int(text[7:10]) < 2:
        return False
    return "0123456789ABCDEFHJKLMNPRSTUVWXY"[int(text[:6] + text[7:10]) % 31] == text[10]


def personnummer(text: str) -> bool:
    ten = text[-10:]
    day = int(ten[4:6])
    return luhn(ten) and 1 <= int(ten[2:4]) <= 12 and (1 <= day <= 31 or 61 <= day <= 91)


def rrn(text: str) -> bool:
    """Korea: a date of birth, and what says the century and sex; numbers since October 2020 have no check digit."""
    year = (1900 if text[6] in "1256" else 2000) + int(text[:2])
    return is_date(year, int(text[2:4]), int(text[4:6]))


_THAI_RANGES = ((10, 27), (30, 49), (50, 58), (60, 67), (70, 77), (80, 86), (90, 96))
THAI_PROVINCES = frozenset(code for first, last in _THAI_RANGES for code in range(first, last + 1))


def tnin(text: str) -> bool:
    return (11 - weighted(text[:12], range(13, 1, -1)) % 11) % 10 == int(text[12]) and int(text[1:3]) in THAI_PROVINCES


def tckn(text: str) -> bool:
    d = digits(text)
    return (sum(d[0:9:2]) * 7 - sum(d[1:8:2])) % 10 == d[9] and sum(d[:10]) % 10 == d[10]


def steuer_id(text: str) -> bool:
    return mod_11_10(text) and max(text[:10].count(c) for c in text[:10]) <= 3


def cpf(text: str) -> bool:
    """Brazil."""
    first = weighted(text[:9], range(10, 1, -1)) * 10 % 11 % 10
    second = weighted(text[:10], range(11, 1, -1)) * 10 % 11 % 10
    return text[9:] == f"{first}{second}" and len(set(text)) > 1


def resident(text: str) -> bool:
    """China: GB 11643, ISO/IEC 7064 MOD 11-2."""
    total = weighted(text[:17], [pow(2, 17 - i, 11) for i in range(17)])
    return "10X98765432"[total % 11] == text[17] and is_date(int(text[6:10]), int(text[10:12]), int(text[12:14]))


def nir(text: str) -> bool:
    """France: the key of the social security number."""
    body = text[:13].replace("2A", "19").replace("2B", "18")
    return 97 - int(body) % 97 == int(text[13:])


def bsn(text: str) -> bool:
    """The Netherlands: the test of eleven."""
    return weighted(text, (9, 8, 7, 6, 5, 4, 3, 2, -1)) % 11 == 0 and len(set(text)) > 1


def always(text: str) -> bool:
    return True


Check = Callable[[str], bool]
