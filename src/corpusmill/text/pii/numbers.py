"""Matchers of numbers: telephone, social security, payment card, bank account."""

from typing import Any

import numpy as np

from corpusmill.text.array_types import Bytes
from corpusmill.text.compile import inlined, kernel
from corpusmill.text.lowlevel import load8, load32
from corpusmill.text.pii.byte_classes import (
    ALNUMS,
    BLANK,
    CLOSE,
    DASH,
    DIGIT,
    DOT,
    JOINERS,
    LETTER,
    ONE_DIGIT,
    OPEN,
    PHONE_JOINERS,
    PHONE_MARKS,
    PLUS,
    ZERO,
    byte_is,
    digit_at,
    word_before,
)
from corpusmill.text.pii.numbering import IBAN_CHARACTERS, PLAN_DIGITS
from corpusmill.text.unicode import Classes

X = ord("x")
ABROAD, EXT = np.uint32(0x313030), np.uint32(0x747865)  # "001", "ext"
U32_24, U32_LOWER = np.uint32(0xFFFFFF), np.uint32(0x20)  # three bytes; the first of them in lower case


@kernel
def phone(data: Bytes, lo: int, at: int, hi: int) -> Any:
    """(start, end) of a telephone number whose first digit is at `at`; end 0 if there is none."""
    before = load8(data, at - 1) if at > lo else BLANK
    if before == PLUS:
        if load8(data, at) == ZERO:
            return 0, 0
        return at - 1, _international(data, at, hi)
    start = i = at
    abroad = at + 4 < hi and load32(data, at) & U32_24 == ABROAD and byte_is(data, at + 3, PHONE_JOINERS)
    if abroad or load8(data, i) == ONE_DIGIT:
        i += 3 if abroad else 1
        i += i < hi and byte_is(data, i, PHONE_JOINERS)
        bracket = i < hi and load8(data, i) == OPEN
        i += bracket
    else:
        bracket = before == OPEN and at + 3 < hi and load8(data, at + 3) == CLOSE
        start -= bracket
    # With a prefix that nothing else has, numbers count that only look like American ones.
    invented = abroad and load8(data, at + 3) == DASH
    if not _digits(data, i, 3, hi):
        return 0, 0
    is_area = load8(data, i) >= ZERO + 2 and not (load8(data, i + 1) == ONE_DIGIT and load8(data, i + 2) == ONE_DIGIT)
    if not (is_area or invented):
        return 0, 0
    # 252.227-7013 is a clause.
    if i == at and i + 7 < hi and load8(data, i + 3) == DOT and load8(data, i + 7) == DASH:
        return 0, 0
    i += 3
    if bracket:
        if i >= hi or load8(data, i) != CLOSE:
            return 0, 0
        i += 1
    joined = i < hi and byte_is(data, i, PHONE_JOINERS)
    if not (joined or bracket):
        return 0, 0
    i += joined
    if not _digits(data, i, 3, hi) or not _digits(data, i + 4, 4, hi) or not byte_is(data, i + 3, PHONE_JOINERS):
        return 0, 0
    if load8(data, i) >= ZERO + 2 or invented:
        return start, i + 8
    # An extension says as much.
    extended = _digits(data, i + 9, 3, hi) and load8(data, i + 8) | 0x20 == X
    return (start, i + 8) if extended else (0, 0)


@inlined
def _digits(data: Bytes, at: int, count: int, hi: int) -> bool:
    """Whether so many digits are at `at`."""
    if at + count > hi:
        return False
    for i in range(at, at + count):
        if not byte_is(data, i, DIGIT):
            return False
    return True


@kernel
def _international(data: Bytes, at: int, hi: int) -> int:
    """The end of the longest number of a calling code at `at`, or 0."""
    digits = best = 0
    prefix: Any = 0
    end = at
    while digits < 15:
        i = end
        while i < hi and i < end + 2 and byte_is(data, i, PHONE_MARKS) and end > at:
            i += 1
        if i >= hi or not byte_is(data, i, DIGIT):
            break
        end = i + 1
        if load8(data, i) == ZERO and load8(data, i - 1) == OPEN and end < hi and load8(data, end) == CLOSE:
            continue
        digits += 1
        if digits <= 3:
            prefix = prefix * 10 + digit_at(data, i)
        if (
            digits >= 8
            and PLAN_DIGITS[prefix, 0] <= digits <= PLAN_DIGITS[prefix, 1]
            and not (end < hi and byte_is(data, end, DIGIT))
            and not (end + 1 < hi and byte_is(data, end, JOINERS) and byte_is(data, end + 1, DIGIT))
        ):
            best = end
    return best


@kernel
def extension(data: Bytes, at: int, hi: int) -> int:
    """The end of " ext. 123" or "x123" at `at`, or 0."""
    i = at + (at < hi and load8(data, at) == BLANK)
    if i + 3 < hi and load32(data, i) & U32_24 | U32_LOWER == EXT:
        i += 3
        i += load8(data, i) == DOT
    elif i < hi and load8(data, i) | 0x20 == X:
        i += 1
    else:
        return 0
    i += i < hi and load8(data, i) == BLANK
    first = i
    while i < hi and i < first + 5 and byte_is(data, i, DIGIT):
        i += 1
    return i if i > first else 0


@kernel
def ssn(data: Bytes, at: int, hi: int) -> int:
    """The end of a social security number at `at`, or 0."""
    if at + 11 > hi or not byte_is(data, at + 3, PHONE_JOINERS) or load8(data, at + 6) != load8(data, at + 3):
        return 0
    numbers: Any = 0
    for i in range(at, at + 11):
        if i not in (at + 3, at + 6):
            if not byte_is(data, i, DIGIT):
                return 0
            numbers = numbers * 10 + digit_at(data, i)
    area, group, serial = numbers // 1_000_000, numbers // 10_000 % 100, numbers % 10_000
    if area in (0, 666) or area >= 900 or group == 0 or serial == 0:
        return 0
    return at + 11


@kernel
def is_continued(data: Bytes, lo: int, claimed: int, start: int, end: int, classes: Classes) -> bool:
    """Whether data[start:end] is only the end of a number in groups that begins before it."""
    if start - 5 < max(lo, claimed) or load8(data, start - 1) != BLANK or not byte_is(data, start - 2, DIGIT):
        return False
    for i in range(start - 5, start - 2):
        if not byte_is(data, i, ALNUMS):
            return False
    if word_before(data, lo, start - 5, classes):
        return False
    for i in range(start, end):
        if load8(data, i) == BLANK:
            return True
    return False


@kernel
def is_series(data: Bytes, lo: int, start: int, end: int, hi: int) -> bool:
    """Whether the groups of data[start:end] are numbers of a series, each as far from the one before; two groups with
    the number before or after them."""
    groups = 0
    joiner: Any = BLANK
    first: Any = 0
    last: Any = 0
    step: Any = 0
    at = start
    while at < end:
        value, stop = _value(data, at, end)
        groups += 1
        if groups == 2:
            step, joiner = value - last, load8(data, at - 1)
        elif groups > 2 and value - last != step:
            return False
        first = value if groups == 1 else first
        last = value
        at = stop + 1
    if groups != 2 or step == 0:
        return groups > 2 and step != 0
    if end + 1 < hi and load8(data, end) == joiner and _value(data, end + 1, hi)[0] == last + step:
        return True
    if start - 1 <= lo or load8(data, start - 1) != joiner:
        return False
    at = start - 1
    while at > lo and start - at < 9 and byte_is(data, at - 1, DIGIT):
        at -= 1
    return at < start - 1 and bool(_value(data, at, start - 1)[0] == first - step)


@inlined
def _value(data: Bytes, at: int, hi: int) -> Any:
    """(value, end) of the number at `at`; of one of more than eight digits, of these."""
    value: Any = np.int64(0)
    end = at
    while end < hi and end - at < 8 and byte_is(data, end, DIGIT):
        value = value * 10 + digit_at(data, end)
        end += 1
    return value, end


@kernel
def card(data: Bytes, at: int, hi: int) -> int:
    """The end of a card number at `at`, or 0; the longest if groups allow several."""
    digits = groups = size = best = 0
    prefix: Any = 0
    # Luhn's sums, for numbers that end at this digit and at the one before.
    plain: Any = 0
    doubled: Any = 0
    article: Any = 0  # the sum for article numbers: every second digit three times
    joiner: Any = 0
    i = at
    while i < hi and digits < 20:
        byte = load8(data, i)
        if byte_is(data, i, DIGIT):
            value = digit_at(data, i)
            twice = 2 * value - 9 * (value > 4)
            plain, doubled = doubled + value, plain + twice
            digits += 1
            article += value if digits & 1 else 3 * value
            size += 1
            if digits <= 4:
                prefix = prefix * 10 + value
            i += 1
            if i < hi and byte_is(data, i, DIGIT):
                continue
            groups += 1
            if groups > 1 and not 3 <= size <= 6:
                break
            if plain % 10 == 0 and _is_network(prefix, digits) and not (digits == 13 and article % 10 == 0):
                best = i
            if groups == 1 and not 3 <= size <= 6:
                break
            size = 0
        elif byte in (BLANK, DASH) and (groups == 1 or byte == joiner) and i + 1 < hi and byte_is(data, i + 1, DIGIT):
            joiner = byte
            i += 1
        else:
            break
    return best


@inlined
def _is_network(prefix: int, digits: int) -> bool:
    """Whether a network issues numbers of this length with these first four digits."""
    two = prefix // 100
    if prefix // 1000 == 1 or prefix in (2014, 2149):  # UATP; enRoute
        return digits == 15
    if prefix // 1000 == 4:
        return digits in (13, 16, 19)
    if two in (34, 37):
        return digits == 15
    if two in (36, 38, 39) or 3000 <= prefix < 3060 or prefix == 3095:
        return digits == 14
    if prefix == 2131:
        return digits == 15
    # Dankort, Hipercard, InstaPayment and InterPayment, Uzcard, Troy, Humo; Elo and RuPay.
    if (
        prefix in (5019, 6062, 6360, 6370, 6380, 6390, 8600, 9792, 9860)
        or 5080 <= prefix <= 5089
        or 6361 <= prefix <= 6399
    ):
        return digits == 16 or (prefix == 6390 and 12 <= digits <= 19)
    # Verve, Solo, Laser.
    if prefix in (5060, 5061, 5078, 5079, 6334, 6767, 6706, 6709, 6771):
        return 16 <= digits <= 19
    if two in (56, 57, 58) or prefix in (5018, 5020, 5038, 6304, 6390, 6759, 6761, 6762, 6763):
        return 12 <= digits <= 19
    if 2200 <= prefix <= 2204:
        return 16 <= digits <= 19
    if 51 <= two <= 55 or 2221 <= prefix <= 2720:
        return digits == 16
    # JCB issues 3528 to 3589; invented numbers in tests and examples use all of 35.
    if prefix == 6011 or 6440 <= prefix < 6500 or two in (35, 62, 65, 81, 82):
        return 16 <= digits <= 19
    return False


@kernel
def iban(data: Bytes, at: int, hi: int) -> int:
    """The end of an account number whose country code is at `at`, or 0."""
    if not (
        byte_is(data, at, LETTER) and byte_is(data, at + 1, LETTER) and at + 4 <= hi and byte_is(data, at + 3, DIGIT)
    ):
        return 0
    length = IBAN_CHARACTERS[(load8(data, at) & 0x1F) - 1, (load8(data, at + 1) & 0x1F) - 1]
    if length == 0:
        return 0
    # With country and check digits moved to the end, and letters as numbers from A = 10, the whole is 1 modulo 97.
    read = 0
    front: Any = 0
    body: Any = 0
    i = at
    joiner = load8(data, at + 4) if at + 4 < hi else 0
    spaced = joiner in (BLANK, DASH)
    while read < length:
        if spaced and read > 0 and read % 4 == 0:
            if i >= hi or load8(data, i) != joiner:
                return 0
            i += 1
        if i >= hi or not byte_is(data, i, ALNUMS):
            return 0
        value = digit_at(data, i) if byte_is(data, i, DIGIT) else np.int64(load8(data, i) & 0x1F) + 9
        if read < 4:
            front = front * (100 if value > 9 else 10) + value
        else:
            body = (body * (100 if value > 9 else 10) + value) % 97
        read += 1
        i += 1
    # Two letters and two digits become six digits.
    return i if (body * 1_000_000 + front) % 97 == 1 else 0
