"""A set of 64-bit keys in a scratch array: open addressing, linear probing, at most half full. Key 0 counts as 1."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from corpusmill.text.array_types import UInt64s
from corpusmill.text.compile import inlined, kernel
from corpusmill.text.lowlevel import NO_BITS, ONE, Bits, U

SPREAD = U(0xD6E8FEB86659FD93)


def slots_for(keys: int) -> int:
    """`room_for` outside of kernels: that would be compiled in every process which calls it from Python."""
    return 1 << max(4, (2 * keys - 1).bit_length())


@inlined
def room_for(keys: int) -> int:
    """The slots of a table for so many keys: a power of two."""
    slots = 16
    while slots < 2 * keys:
        slots *= 2
    return slots


@inlined
def cleared(table: UInt64s, keys: int) -> int:
    """Clear as much of the table as so many keys need; returns the mask for that part."""
    slots = room_for(keys)
    for i in range(slots):
        table[i] = NO_BITS
    return slots - 1


@inlined
def never_zero(key: Bits) -> Bits:
    return key if key != NO_BITS else ONE


@inlined
def find(table: UInt64s, mask: int, key: Bits) -> Any:
    """The slot of a key, or the empty slot where it belongs. The key is not 0."""
    at = np.intp(((key ^ (key >> U(32))) * SPREAD) >> U(32)) & mask
    while table[at] != NO_BITS and table[at] != key:
        at = (at + 1) & mask
    return at


def table_of(keys: UInt64s, values: NDArray[Any]) -> tuple[UInt64s, NDArray[Any]]:
    """Keys in a table for `find`, and of each slot the value of its key; 0 in a free one."""
    table = np.zeros(slots_for(len(keys)), np.uint64)
    of_slot = np.zeros(len(table), values.dtype)
    _fill(keys, values, table, of_slot)
    return table, of_slot


@kernel
def _fill(keys: UInt64s, values: NDArray[Any], table: UInt64s, of_slot: NDArray[Any]) -> None:
    for i in range(len(keys)):
        key = never_zero(keys[i])
        slot = find(table, len(table) - 1, key)
        table[slot], of_slot[slot] = key, values[i]


@inlined
def seen_before(table: UInt64s, mask: int, key: Bits) -> Any:
    """Add a key; returns whether it was in the set already."""
    key = never_zero(key)
    at = find(table, mask, key)
    if table[at] == key:
        return True
    table[at] = key
    return False


FILTER = 16  # minimum of filter bits per key


def filter_of(keys: UInt64s) -> tuple[int, UInt64s]:
    """A bit map that rejects nearly all keys that are not among these, one in some 60 excepted: a Bloom filter whose
    two bits are in one word (Putze et al. 2009, doi:10.1145/1498698.1594230), so that a key costs one load.

    returns   the shift that `may_have` takes, and the map
    """
    bits = max(FILTER * len(keys), 64)
    words = np.zeros(1 << ((bits - 1).bit_length() - 6), np.uint64)
    shift = shift_of(words)
    both = (ONE << (keys >> U(shift) & U(63))) | (ONE << (keys & U(63)))
    np.bitwise_or.at(words, keys >> U(shift + 6), both)
    return shift, words


def shift_of(filter_: UInt64s) -> int:
    return 58 - (len(filter_) - 1).bit_length()


@inlined
def may_have(filter_: UInt64s, shift: int, key: Bits) -> Any:
    bit = key >> U(shift)
    both = (ONE << (bit & U(63))) | (ONE << (key & U(63)))
    return filter_[np.intp(bit >> U(6))] & both == both
