"""Instructions that numba lacks, and bit maps of 64 bytes, against Python's integers and strings."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

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
    prefetch,
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


@kernel
def sum_of_rows(table, width, order):
    total = 0
    for j in range(len(order)):
        if j + 1 < len(order):
            prefetch(table, order[j + 1] * width)
        for k in range(width):
            total += table[order[j] * width + k]
    return total


def test_what_is_prefetched_stays_as_it_is():
    table, order = np.arange(64).astype(np.uint8), np.array([3, 0, 15, 3])
    expected = sum(int(table[row * 4 : row * 4 + 4].sum()) for row in order)
    assert sum_of_rows(table, 4, order) == expected
    assert (table == np.arange(64)).all()
