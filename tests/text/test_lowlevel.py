"""Instructions that numba lacks, and bit maps of 64 bytes, against Python's integers and strings."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from corpusmill.text import simd
from corpusmill.text.compile import kernel
from corpusmill.text.lowlevel import (
    copy_bytes,
    count_bits,
    high_product,
    highest_zeros,
    is_digit,
    is_letter,
    load8,
    load32,
    load64,
    lowest_bit,
    moved_up,
)
from corpusmill.text.spans import below, rank, take

words = st.integers(0, 2**64 - 1)


@kernel
def loads(data, at, out):
    out[0], out[1], out[2] = load8(data, at), load32(data, at), load64(data, at)


@given(st.binary(min_size=8, max_size=24), st.data())
@settings(max_examples=40)
def test_loads_are_little_endian_at_any_offset(content, data):
    at = data.draw(st.integers(0, len(content) - 8))
    out = np.zeros(3, np.uint64)
    loads(np.frombuffer(content, np.uint8), at, out)
    assert out.tolist() == [int.from_bytes(content[at : at + size], "little") for size in (1, 4, 8)]


@kernel
def bit_counts(x, y, out):
    out[0], out[1], out[2], out[3] = count_bits(x), lowest_bit(x), highest_zeros(x), high_product(x, y)


@given(st.one_of(words, st.sampled_from([0, 1, 1 << 63, 2**64 - 1])), words)
@settings(max_examples=60)
def test_bits_are_counted_and_products_have_128(x, y):
    out = np.zeros(4, np.uint64)
    bit_counts(np.uint64(x), np.uint64(y), out)
    lowest = (x & -x).bit_length() - 1 if x else 64
    assert out.tolist() == [x.bit_count(), lowest, 64 - x.bit_length(), x * y >> 64]


@kernel
def shifts(bits, before, by, out):
    out[0] = moved_up(bits, before, by)


@given(words, words, st.integers(1, 63))
@settings(max_examples=40)
def test_a_map_is_filled_from_the_one_before(bits, before, by):
    out = np.zeros(1, np.uint64)
    shifts(np.uint64(bits), np.uint64(before), by, out)
    assert int(out[0]) == ((bits << 64 | before) >> (64 - by)) % 2**64


@kernel
def copies(source, start, size, target, at):
    copy_bytes(source, start, size, target, at)


@given(st.binary(max_size=40), st.data())
@settings(max_examples=40)
def test_bytes_are_copied(content, data):
    start = data.draw(st.integers(0, len(content)))
    size = data.draw(st.integers(0, len(content) - start))
    target = np.full(50, 7, np.uint8)
    copies(np.frombuffer(content + b"\0", np.uint8), start, size, target, 5)
    assert bytes(target) == b"\7" * 5 + content[start : start + size] + b"\7" * (45 - size)


@kernel
def classes_of_bytes(data, letters, digits):
    for i in range(len(data)):
        letters[i], digits[i] = is_letter(data[i]), is_digit(data[i])


def test_letters_and_digits_are_ascii():
    data = np.arange(256).astype(np.uint8)
    letters, digits = np.zeros(256, bool), np.zeros(256, bool)
    classes_of_bytes(data, letters, digits)
    assert [chr(i) for i in np.flatnonzero(letters)] == [c for c in map(chr, range(128)) if c.isalpha()]
    assert [chr(i) for i in np.flatnonzero(digits)] == list("0123456789")


def mask_kernel(*tests):
    masks = simd.masks(*tests)

    @kernel
    def fill(data, out):
        for block in range(4):
            (bits,) = masks(data, 64 * block)
            for i in range(64):
                out[64 * block + i] = (bits >> np.uint64(i)) & np.uint64(1)

    return fill


TESTS = {
    "equal": (simd.equal("a"), lambda b: b == ord("a")),
    "between": (simd.between(0x30, 0xC0), lambda b: 0x30 <= b <= 0xC0),
    "letter": (simd.letter("t"), lambda b: chr(b) in "tT"),
    "either": (simd.either(simd.equal("a"), simd.equal("b"), simd.equal("c")), lambda b: chr(b) in "abc"),
    "without": (simd.without(simd.between(0x20, 0x40), simd.equal("0")), lambda b: 0x20 <= b <= 0x40 and b != 0x30),
    "ascii_letter": (simd.ascii_letter, lambda b: b < 128 and chr(b).isalpha()),
    "brace": (simd.brace_or_bracket, lambda b: chr(b) in "]}"),
    "comma": (simd.comma_or_full_stop, lambda b: chr(b) in ",."),
    "continuation": (simd.continuation, lambda b: b & 0xC0 == 0x80),
    "not_ascii": (simd.not_ascii, lambda b: b >= 128),
    "upper": (simd.ascii_upper, lambda b: b < 128 and chr(b).isupper()),
    "digit": (simd.ascii_digit, lambda b: b < 128 and chr(b).isdigit()),
    "space": (simd.ascii_space, lambda b: b < 128 and chr(b).isspace()),
    "break": (simd.ascii_break, lambda b: b < 128 and len(f"a{chr(b)}b".splitlines()) == 2),
    "mark": (simd.ascii_mark, lambda b: 32 < b < 127 and not chr(b).isalnum()),
    "followed": (simd.followed(simd.equal("a"), simd.equal("b")), lambda b: b == ord("a")),
}


@pytest.mark.parametrize("name", TESTS)
def test_a_test_of_bytes_gives_a_bit_for_each(name):
    test, expected = TESTS[name]
    data = np.zeros(256 + 64, np.uint8)
    data[:256] = np.arange(256)
    out = np.zeros(256, np.uint64)
    mask_kernel(test)(data, out)
    assert np.flatnonzero(out).tolist() == [byte for byte in range(256) if expected(byte)]


@kernel
def bit_fields(bits, before, at, k, out):
    out[0], out[1], out[2] = below(k), take(bits, at, k), rank(bits, before, at)


@given(st.lists(words, min_size=3, max_size=3), st.integers(0, 127), st.integers(1, 64))
@settings(max_examples=60)
def test_parts_of_bit_maps(maps, at, k):
    bits = np.array(maps, np.uint64)
    before = np.cumsum([0, *(word.bit_count() for word in maps)])[:3].astype(np.int32)
    out = np.zeros(3, np.uint64)
    bit_fields(bits, before, at, k, out)
    whole = sum(word << 64 * i for i, word in enumerate(maps))
    assert out.tolist() == [2**k - 1, whole >> at & 2**k - 1, (whole & 2**at - 1).bit_count()]
