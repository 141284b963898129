"""Proposes telephone numbers in national form, without a calling code; `phones` decides which of them are any."""

from typing import Any

import numpy as np

from corpusmill.text.array_types import Bytes, UInt64s
from corpusmill.text.compile import inlined, kernel
from corpusmill.text.lowlevel import ALL_BITS, U, load8, load64
from corpusmill.text.pii.byte_classes import (
    BLANK,
    CLOSE,
    DIGIT,
    JOINERS,
    LETTER,
    OPEN,
    PHONE_JOINERS,
    PHONE_MARKS,
    ZERO,
    byte_is,
    stands_alone,
)
from corpusmill.text.unicode import Classes

MIN_DIGITS, MAX_DIGITS = 7, 12  # digits
PAIRED = 6  # digits of the shortest number, in pairs
UNGROUPED = 10  # digits of a number that is seen by its first zero alone
CONTEXT = 60  # bytes before a number in which a word may say what it is
SLASH, DOLLAR, PUNCTUATION = ord("/"), ord("$"), 0xE2  # the first byte of characters from U+2000 to U+2FFF

# Words that say that a telephone number follows, or that one may; the first four characters or more.
LABELS = """
phone phones phonenumber telephone telephones tel tels telefon telefono teléfono teléf telefone téléphone tél fono
telefoon telefonnummer telefax fax faks mobile mobil móvil movil cell cellphone cellular celular cel handy gsm desk
office whatsapp hotline helpline ph phn mob fon puhelin telefonu telefonszám tlf tfno тел телефон моб факс τηλ
τηλέφωνο 電話 电话 手机 傳真 传真 전화 휴대폰 電話番号 โทร هاتف تلفن फोन""".split()
VERBS = """
call calls calling dial ring text sms message messages texting reach contact answering answer number numbers
registered appelez appeler anrufen rufen llame llamar ligue chiamare bel voicemail callback""".split()
LABELS_AFTER = "office fax mobile cell home work phone tel voice desk direct handy mobil".split()


def _packed(words: list[str]) -> UInt64s:
    return np.array(
        sorted(
            {int.from_bytes(w.encode()[:8].ljust(8, b"\0"), "little") for word in words for w in (word, word.title())}
        ),
        np.uint64,
    )


LOWER_BITS = U(0x2020202020202020)
_WORDS = _packed([*LABELS, *VERBS])
_ASCII_BITS = U(0x8080808080808080)


@kernel
def national(data: Bytes, lo: int, at: int, hi: int, classes: Classes) -> Any:
    """(start, end) of what may be a national number whose first digit is at `at`: 7 to 12 digits with at most two of
    [ ./()-] between two of them. It begins with a zero and another digit, or with "(", or a word of LABELS or VERBS is
    near; or it has ten digits or more, the first a zero and the second none, and stands at the start or behind a blank
    or "(". Or three pairs of digits with the same of [ .-] between, if such a word is near. End 0 if there is none."""
    start = at - (at > lo and load8(data, at - 1) == OPEN)
    end = i = at
    digits = groups = 0
    while i < hi and digits <= MAX_DIGITS:
        if byte_is(data, i, DIGIT):
            groups += i == at or not byte_is(data, i - 1, DIGIT)
            digits += 1
            i += 1
            end = i
        elif i < end + 2 and (byte_is(data, i, PHONE_MARKS) or load8(data, i) == SLASH):
            i += 1
        else:
            break
    if digits > MAX_DIGITS:
        # More than a number: what fits before a mark may still be one.
        digits = groups = 0
        i = at
        fits = at
        while i < hi and digits <= MAX_DIGITS:
            if byte_is(data, i, DIGIT):
                digits += 1
            elif byte_is(data, i - 1, DIGIT):
                groups += 1
                fits = i if digits >= MIN_DIGITS else fits
            i += 1
        end = fits
        digits = MIN_DIGITS if fits > at else 0
    pairs = (
        digits == PAIRED
        and end == at + 8
        and byte_is(data, at + 2, PHONE_JOINERS)
        and load8(data, at + 5) == load8(data, at + 2)
    )
    if (digits < MIN_DIGITS and not pairs) or (start < at and not _closed(data, at, end)):
        return 0, 0
    if start > lo and load8(data, start - 1) in (SLASH, DOLLAR):
        return 0, 0  # the end of a path, a price
    if not stands_alone(data, lo, start, end, hi, JOINERS, classes):
        return 0, 0
    zero = load8(data, at) == ZERO and byte_is(data, at + 1, DIGIT)
    trunk = groups > 1 and (start < at or zero) and not pairs
    alone = start == lo or load8(data, start - 1) <= BLANK or load8(data, start - 1) == OPEN
    trunk |= zero and alone and digits >= UNGROUPED and load8(data, at + 1) != ZERO
    if trunk or _is_named(data, lo, start) or _is_named_after(data, end, hi):
        return start, end
    return 0, 0


@inlined
def _closed(data: Bytes, at: int, end: int) -> bool:
    for i in range(at, end):
        if load8(data, i) == CLOSE:
            return True
    return False


@kernel
def _is_named(data: Bytes, lo: int, start: int) -> bool:
    """Whether one of the words is in the CONTEXT bytes before `start`, or East Asian text just before."""
    floor = max(lo, start - CONTEXT)
    for i in range(max(lo, start - 12), start):
        byte = load8(data, i)
        if 0xE0 <= byte <= 0xED and byte != PUNCTUATION:
            return True
    i = start
    while i > floor:
        i -= 1
        if not _is_letter(data, i):
            continue
        end = i + 1
        while i > floor and _is_letter(data, i - 1):
            i -= 1
        if _is_word(data, i, end):
            return True
    return False


@kernel
def _is_named_after(data: Bytes, end: int, hi: int) -> bool:
    i = end
    while i < min(hi, end + 3) and not _is_letter(data, i):
        i += 1
    stop = i
    while stop < min(hi, i + 12) and _is_letter(data, stop):
        stop += 1
    return stop > i and _is_word(data, i, stop)


@inlined
def _is_letter(data: Bytes, at: int) -> bool:
    return byte_is(data, at, LETTER) or load8(data, at) >= 0x80


@inlined
def _is_word(data: Bytes, start: int, end: int) -> bool:
    size = min(end - start, 8)
    word = load64(data, start) & (ALL_BITS >> U(64 - 8 * size))
    if word & _ASCII_BITS == U(0):
        word |= LOWER_BITS & (ALL_BITS >> U(64 - 8 * size))
    for candidate in _WORDS:
        if candidate == word:
            return True
    return False
