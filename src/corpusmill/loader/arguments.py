"""What a training loop gives the loader, checked before it is used: it may come from a config file or a checkpoint."""

import operator
import os
from collections.abc import Collection
from typing import Any

from corpusmill.errors import InputError, ShardError

WIDE_COLUMNS = ("tokens", "targets", "doc_ids", "position_ids")  # columns of 8 bytes a token; the mask has 1
MAX_CU_SEQLENS = (1 << 31) - 1  # tokens that the 32 bits of `cu_seqlens` can count


class ShardRangeError(ShardError, InputError):
    """Rows, tokens or ranks were asked for that the shards do not have."""


def whole_number(name: str, value: Any, minimum: int | None = None, maximum: int | None = None, why: str = "") -> int:
    """The value as a Python int. Raises ShardError if it is no whole number from `minimum` to `maximum`.

    NumPy's whole numbers are some, True and 8.0 are none.

    >>> whole_number("batch_size", 2.5, 1)
    Traceback (most recent call last):
    corpusmill.errors.ShardError: batch_size must be a whole number of 1 or more, got 2.5.
    """
    try:
        number = None if isinstance(value, bool) else operator.index(value)
    except TypeError:
        number = None
    if number is None or (minimum is not None and number < minimum) or (maximum is not None and number > maximum):
        bound = (
            ""
            if minimum is None
            else f" of {minimum} or more"
            if number is None or number < minimum
            else f" up to {maximum}"
        )
        raise ShardRangeError(f"{name} must be a whole number{bound}, got {shown(value)}{f': {why}' if why else ''}.")
    return number


def flag(name: str, value: Any) -> bool:
    """Raises ShardError if it is not True or False: of a text, "false" would be true."""
    if value is True or value is False or type(value).__name__ == "bool":  # NumPy's, too
        return bool(value)
    raise ShardRangeError(f"{name} must be True or False, got {shown(value)}.")


def shown(value: Any) -> str:
    """A value for a message, cut where it is long."""
    text = repr(value)
    return text if len(text) <= 120 else f"{text[:117]}…"


def check_room(rows: int, length: int, fields: Collection[str]) -> None:
    """Raises ShardError if a batch of so many rows of so many tokens cannot be: before anything is allocated for it."""
    tokens = rows * length
    needed = bytes_of(tokens, fields)
    if tokens > MAX_CU_SEQLENS and "cu_seqlens" in fields:
        raise ShardError(
            f"{too_large(rows, length, needed)}, and `cu_seqlens` counts to {MAX_CU_SEQLENS:,d} tokens. {SIZE_REMEDY}"
        )
    memory = machine_memory()
    if memory is not None and needed > memory:
        raise ShardError(
            f"{too_large(rows, length, needed)}; this machine has {memory / 2**30:,.1f} GiB. {SIZE_REMEDY}"
        )


SIZE_REMEDY = "Set the number of rows, or their length, lower."


def too_large(rows: int, length: int, needed: int) -> str:
    return f"a batch of {rows:,d} rows of {length:,d} tokens needs {needed / 2**30:,.1f} GiB of memory"


def bytes_of(tokens: int, fields: Collection[str]) -> int:
    """Bytes of the columns of a batch, but for the beginnings of pieces."""
    return tokens * (8 * sum(name == "tokens" or name in fields for name in WIDE_COLUMNS) + ("loss_mask" in fields))


def machine_memory() -> int | None:
    """Bytes of memory of this machine; None where the system does not say: on Windows."""
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, ValueError, OSError):
        return None
