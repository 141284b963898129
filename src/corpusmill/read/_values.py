"""Values of Arrow columns as Python values that JSON can hold, whatever their type and size."""

from collections.abc import Sequence
from datetime import date, timedelta
from typing import Any, cast

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

OBJECT = 32  # bytes of a Python value, about
MAX_SIZE = 1 << 36  # bytes; of larger values it does not matter how large they are, and sums of these do not overflow
CYCLE, CYCLE_YEARS = 146_097, 400  # days and years after which the calendar repeats
PER_SECOND = {"s": 1, "ms": 1000, "us": 1_000_000, "ns": 1_000_000_000}
DAY = 86_400
# What pyarrow raises for a value that Python has no type for, or of a time zone that is not known.
UNFIT = (ValueError, ArithmeticError, LookupError, TypeError, NotImplementedError, pa.ArrowException)
UNREADABLE = (pa.lib.Type_INTERVAL_MONTHS, pa.lib.Type_INTERVAL_DAY_TIME)
Sizes = NDArray[np.int64] | int


def to_python(column: pa.Array) -> list[Any]:
    """The values of a column. Never raises, and does not depend on whether pandas is installed.

    As `to_pylist` has them where it has them. Else: times of a fraction of a microsecond, and dates that Python has
    not, are ISO 8601 ("2024-05-01T12:00:00.000000001", "+12024-05-01"), those of a time zone that is not known in UTC;
    durations "1 day, 0:00:00.000000001"; bytes that are not UTF-8 in strings are U+FFFD; and fields of one name in a
    struct are numbered.
    """
    if _is_temporal(column.type) and column.type.unit == "ns":
        try:
            column = column.cast(_in_microseconds(column.type))
        except pa.ArrowInvalid:
            return [_plain(value) for value in column]
    elif _has_nanoseconds(column.type):
        return [_plain(value) for value in column]
    try:
        return cast(list[Any], column.to_pylist())
    except UNFIT:
        return [_plain(value) for value in column]


def numbered(names: Sequence[str]) -> list[str]:
    """Names, each once: the second of a name gets "_1".

    >>> numbered(["tag", "text", "tag", "tag"])
    ['tag', 'text', 'tag_1', 'tag_2']
    """
    used_names = set(names)
    counts: dict[str, int] = {}
    unique = []
    for name in names:
        number = counts.get(name, 0)
        new = name
        while number and (new := f"{name}_{number}") in used_names:
            number += 1
        counts[name] = number + 1
        used_names.add(new)
        unique.append(new)
    return unique


def sizes(column: pa.Array) -> Sizes:
    """Bytes that each value takes as a Python value, about and at most; a number if that is the same for all.

    A few bytes of a file can stand for a great many values: lists of nulls, runs, and dictionaries and views, in which
    rows share a long string.
    """
    kind, count = column.type, len(column)
    if not count:
        return OBJECT
    if isinstance(column, pa.ExtensionArray):
        return sizes(column.storage)
    if pa.types.is_dictionary(kind):
        return _at_rows(sizes(column.dictionary), _numbers(column.indices))
    if pa.types.is_run_end_encoded(kind) or pa.types.is_union(kind):
        inner = [column.values] if pa.types.is_run_end_encoded(kind) else _children(column)
        return max((_largest(sizes(values)) for values in inner), default=0)
    if pa.types.is_struct(kind):
        total: Sizes = OBJECT
        for i in range(kind.num_fields):
            total = total + sizes(column.field(i))
        return total
    if pa.types.is_fixed_size_list(kind):
        ends = (column.offset + np.arange(count + 1)) * kind.list_size
        return _summed(sizes(column.values), ends[:-1], ends[1:])
    if pa.types.is_list_view(kind) or pa.types.is_large_list_view(kind):
        starts, lengths = _numbers(column.offsets), _numbers(column.sizes)
        return _summed(sizes(column.values), starts, starts + lengths)
    if pa.types.is_list(kind) or pa.types.is_large_list(kind) or pa.types.is_map(kind):
        ends = _numbers(column.offsets)
        if pa.types.is_map(kind):
            keys, items = (sizes(part) for part in (column.keys, column.items))
            return _summed(keys + items, ends[:-1], ends[1:])
        return _summed(sizes(column.values), ends[:-1], ends[1:])
    if pa.types.is_string_view(kind) or pa.types.is_binary_view(kind):
        views = np.frombuffer(column.buffers()[1], np.int32, 4 * (column.offset + count)).reshape(-1, 4)
        lengths = views[column.offset :, 0].astype(np.int64)
        return OBJECT + np.where(column.is_valid().to_numpy(zero_copy_only=False), lengths, 0)
    if _is_bytes(kind):
        return OBJECT + _numbers(pc.binary_length(column))
    return OBJECT


def _children(column: pa.Array) -> list[pa.Array]:
    return [column.field(i) for i in range(column.type.num_fields)]


def _numbers(column: pa.Array) -> NDArray[np.int64]:
    numbers: NDArray[np.int64] = column.fill_null(0).to_numpy(zero_copy_only=False).astype(np.int64)
    return numbers


def _largest(row_sizes: Sizes) -> int:
    return row_sizes if isinstance(row_sizes, int) else int(row_sizes.max(initial=0))


def _at_rows(row_sizes: Sizes, rows: NDArray[np.int64]) -> Sizes:
    return row_sizes if isinstance(row_sizes, int) else row_sizes[rows] if len(row_sizes) else 0


def _summed(row_sizes: Sizes, starts: NDArray[np.int64], ends: NDArray[np.int64]) -> NDArray[np.int64]:
    """Sizes of lists whose items are rows [start, end)."""
    if isinstance(row_sizes, int):
        summed: NDArray[np.int64] = OBJECT + np.minimum(ends - starts, MAX_SIZE // max(row_sizes, 1)) * row_sizes
    else:
        until = np.concatenate([[0], np.cumsum(row_sizes)])
        summed = np.minimum(OBJECT + until[ends] - until[starts], MAX_SIZE)
    return summed


def is_readable(kind: pa.DataType) -> bool:
    """Whether pyarrow can read values of a type. Raises UnicodeDecodeError if a name in it is not UTF-8."""
    if isinstance(kind, pa.BaseExtensionType):
        return is_readable(kind.storage_type)
    if pa.types.is_dictionary(kind) or pa.types.is_run_end_encoded(kind):
        return is_readable(kind.value_type)
    if pa.types.is_timestamp(kind):
        return kind.tz is None or bool(kind.tz.encode())
    parts = [kind.field(i) for i in range(kind.num_fields)]
    return kind.id not in UNREADABLE and all(part.name is not None and is_readable(part.type) for part in parts)


def is_text(kind: pa.DataType) -> bool:
    """Whether a column of this type holds strings."""
    if pa.types.is_dictionary(kind):
        kind = kind.value_type
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind))


def is_page(kind: pa.DataType) -> bool:
    """Whether a column of this type holds strings or bytes."""
    if pa.types.is_dictionary(kind):
        kind = kind.value_type
    is_binary = pa.types.is_binary(kind) or pa.types.is_large_binary(kind) or pa.types.is_binary_view(kind)
    return bool(is_binary or is_text(kind))


def _is_bytes(kind: pa.DataType) -> bool:
    return is_page(kind) and not pa.types.is_dictionary(kind)


# ------------------------------------------------------------------ value by value


def _plain(value: pa.Scalar) -> Any:
    """A value that `to_pylist` may fail for."""
    kind = value.type
    if not value.is_valid:
        return None
    if pa.types.is_struct(kind):
        names = numbered([kind.field(i).name for i in range(kind.num_fields)])
        return {name: _plain(value[i]) for i, name in enumerate(names)}
    if pa.types.is_map(kind):
        entries = value.values
        keys, items = entries.field(0), entries.field(1)
        return [(_plain(key), _plain(item)) for key, item in zip(keys, items)]
    if isinstance(value, pa.ListScalar):  # and its kinds
        return [_plain(item) for item in value.values]
    if isinstance(value, pa.DictionaryScalar | pa.UnionScalar | pa.RunEndEncodedScalar):
        return None if value.value is None else _plain(value.value)
    if isinstance(value, pa.ExtensionScalar):
        return _extension(value)
    if _is_bytes(kind) and is_text(kind):
        return value.as_buffer().to_pybytes().decode("utf-8", "replace")
    if _is_temporal(kind) or pa.types.is_date(kind):
        return _temporal(value)
    try:
        return value.as_py()
    except UNFIT:  # a decimal with an exponent beyond those of Python
        return value.cast(pa.string()).as_py()


def _extension(value: pa.ExtensionScalar) -> Any:
    try:
        return value.as_py() if not _has_nanoseconds(value.type) else _plain(value.value)
    except UNFIT:
        return _plain(value.value)


def _temporal(value: pa.Scalar) -> Any:
    kind, count = value.type, value.value
    if pa.types.is_date(kind):
        try:
            return value.as_py()
        except UNFIT:
            return _day(count if pa.types.is_date32(kind) else count // (1000 * DAY))
    if kind.unit == "ns" and count % 1000 == 0:
        value = pa.array([count // 1000], pa.int64()).view(_in_microseconds(kind))[0]
    if value.type.unit != "ns":
        try:
            return value.as_py()
        except UNFIT:
            pass
    seconds, part = divmod(count, PER_SECOND[kind.unit])
    nanoseconds = f"{part * (10**9 // PER_SECOND[kind.unit]):09d}"
    fraction = f".{nanoseconds.removesuffix('000')}" if part else ""
    if pa.types.is_duration(kind):
        days, seconds = divmod(seconds, DAY)
        before = f"{days} day{'s' * (abs(days) != 1)}, " if days else ""
        return f"{before}{seconds // 3600}:{_clock(seconds)[3:]}{fraction}"
    if pa.types.is_time(kind):
        return f"{_clock(seconds % DAY)}{fraction}"
    days, seconds = divmod(seconds, DAY)
    return f"{_day(days)}T{_clock(seconds)}{fraction}" + "+00:00" * (kind.tz is not None)


def _clock(seconds: int) -> str:
    return f"{seconds // 3600:02d}:{seconds // 60 % 60:02d}:{seconds % 60:02d}"


def _day(days: int) -> str:
    """A day by its number since 1970 as ISO 8601, with a sign where the year has not four digits."""
    cycles, remainder = divmod(days, CYCLE)
    day = date(1970, 1, 1) + timedelta(remainder)
    year = day.year + cycles * CYCLE_YEARS
    return f"{year:04d}{day:-%m-%d}" if 0 <= year <= 9999 else f"{year:+05d}{day:-%m-%d}"


def _is_temporal(kind: pa.DataType) -> bool:
    return bool(pa.types.is_timestamp(kind) or pa.types.is_time(kind) or pa.types.is_duration(kind))


def _in_microseconds(kind: pa.DataType) -> pa.DataType:
    if pa.types.is_timestamp(kind):
        return pa.timestamp("us", kind.tz)
    return pa.time64("us") if pa.types.is_time(kind) else pa.duration("us")


def _has_nanoseconds(kind: pa.DataType) -> bool:
    if isinstance(kind, pa.BaseExtensionType):
        return _has_nanoseconds(kind.storage_type)
    if pa.types.is_dictionary(kind) or pa.types.is_run_end_encoded(kind):
        return _has_nanoseconds(kind.value_type)
    if _is_temporal(kind):
        return bool(kind.unit == "ns")
    return any(_has_nanoseconds(kind.field(i).type) for i in range(kind.num_fields))
