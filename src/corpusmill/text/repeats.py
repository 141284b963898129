"""Which records of a stream occurred before; only distinct ones are remembered."""

import numpy as np

from corpusmill.text.array_types import Bools, Int32s, Int64s, UInt64s
from corpusmill.text.buckets import shared
from corpusmill.text.compile import kernel
from corpusmill.text.lowlevel import U


class RepeatIndex:
    """The distinct (key, whole) of a stream of records, numbered in order of occurrence.

    Takes 27 to 50 bytes per distinct record, and none for the others.
    """

    def __init__(self) -> None:
        self.distinct = 0
        self._key, self._whole = np.empty(0, np.uint64), np.empty(0, np.uint64)
        self._again = np.empty(0, np.bool_)
        self._slots = np.full(16, -1, np.int32)

    def add(self, key: UInt64s, full_hash: UInt64s) -> Bools:
        """(records,) whether each occurred before, among these or earlier ones. New ones are numbered."""
        self._make_room(len(key))
        before = np.empty(len(key), np.bool_)
        self.distinct = int(
            _add(key, full_hash, self.distinct, self._key, self._whole, self._again, self._slots, before)
        )
        return before

    def repeated(self) -> Int64s:
        """The distinct records that occurred more than once, rising."""
        return np.flatnonzero(self._again[: self.distinct])

    def related(self) -> Int64s:
        """The distinct records that share their key with another distinct one, rising."""
        bucket, _ = shared(self._key[: self.distinct])
        return np.flatnonzero(bucket >= 0)

    def _make_room(self, count: int) -> None:
        needed = self.distinct + count
        if needed > len(self._key):
            size = max(needed, len(self._key) + len(self._key) // 2)
            for name in ("_key", "_whole", "_again"):
                old = getattr(self, name)
                new = np.empty(size, old.dtype)
                new[: self.distinct] = old[: self.distinct]
                setattr(self, name, new)
        if 4 * needed > 3 * len(self._slots):
            self._slots = np.full(1 << (2 * needed - 1).bit_length(), -1, np.int32)
            _rehash(self._key, self._whole, self.distinct, self._slots)


@kernel
def _add(
    key: UInt64s,
    full_hash: UInt64s,
    distinct: int,
    keys: UInt64s,
    wholes: UInt64s,
    repeated: Bools,
    slots: Int32s,
    before: Bools,
) -> int:
    for i in range(len(key)):
        slot = _find(key[i], full_hash[i], keys, wholes, slots)
        entry = slots[slot]
        before[i] = entry >= 0
        if entry >= 0:
            repeated[entry] = True
        else:
            slots[slot] = distinct
            keys[distinct], wholes[distinct] = key[i], full_hash[i]
            repeated[distinct] = False
            distinct += 1
    return distinct


@kernel
def _rehash(keys: UInt64s, wholes: UInt64s, distinct: int, slots: Int32s) -> None:
    for entry in range(distinct):
        slots[_find(keys[entry], wholes[entry], keys, wholes, slots)] = entry


@kernel
def _find(key: np.uint64, full_hash: np.uint64, keys: UInt64s, wholes: UInt64s, slots: Int32s) -> np.uint64:
    """The slot that holds a record, or the free one where it belongs."""
    mask = U(len(slots) - 1)
    # Records of one partition share the top bits of their keys, so the slot is computed from both.
    slot = ((key ^ (full_hash * U(0xC2B2AE3D27D4EB4F))) * U(0x9E3779B97F4A7C15)) >> U(24) & mask
    while slots[slot] >= 0 and (keys[slots[slot]] != key or wholes[slots[slot]] != full_hash):
        slot = (slot + U(1)) & mask
    return slot


def warm_up() -> None:
    index = RepeatIndex()
    keys = np.arange(16, dtype=np.uint64)  # more than there is room for at first
    index.add(keys, keys)
    index.related()
