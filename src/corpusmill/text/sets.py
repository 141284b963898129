"""A set of 64-bit keys in a scratch array: open addressing, linear probing, at most half full. Key 0 counts as 1."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from corpusmill.text.compile import inlined
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
def cleared(table: NDArray[np.uint64], keys: int) -> int:
    """Clear as much of the table as so many keys need; returns the mask for that part."""
    slots = room_for(keys)
    for i in range(slots):
        table[i] = NO_BITS
    return slots - 1


@inlined
def never_zero(key: Bits) -> Bits:
    return key if key != NO_BITS else ONE


@inlined
def find(table: NDArray[np.uint64], mask: int, key: Bits) -> Any:
    """The slot of a key, or the empty slot where it belongs. The key is not 0."""
    at = np.intp(((key ^ (key >> U(32))) * SPREAD) >> U(32)) & mask
    while table[at] != NO_BITS and table[at] != key:
        at = (at + 1) & mask
    return at


@inlined
def seen_before(table: NDArray[np.uint64], mask: int, key: Bits) -> Any:
    """Add a key; returns whether it was in the set already."""
    key = never_zero(key)
    at = find(table, mask, key)
    if table[at] == key:
        return True
    table[at] = key
    return False
