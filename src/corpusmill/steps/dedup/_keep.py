"""Which of several duplicates is kept: the order in which documents are preferred."""

import re

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from corpusmill.errors import RecipeError, did_you_mean
from corpusmill.steps import Columns

POLICIES = ("first", "longest", "newest", "oldest")
NUMBERS = (pa.types.is_integer, pa.types.is_floating, pa.types.is_boolean, pa.types.is_null)
DATE = re.compile(
    r"(\d{4}|[+-]\d{4,6})(?:-?(\d\d)(?:-?(\d\d)(?:[T ]?(\d\d)(?::?(\d\d)(?::?(\d\d)(?:[.,](?P<fraction>\d+))?)?)?"
    r"\s*(?:(?P<sign>[+-])(?P<hours>\d\d):?(?P<minutes>\d\d)?)?)?)?)?",
    re.ASCII,
)


def check_keep(keep: str) -> None:
    """Raises RecipeError if `keep` is neither a policy nor the name of a signal."""
    if keep not in POLICIES and "." not in keep:
        hint = did_you_mean(keep, POLICIES) or ";"
        raise RecipeError(
            f'keep is one of {", ".join(POLICIES)}, or a signal of an earlier step, as in "quality.score" (the highest '
            f'is kept) or "-perplexity.value" (the lowest), got "{keep}"{hint}'.rstrip(";")
        )


def needs(keep: str) -> tuple[str, ...]:
    """The signals that the policy looks at."""
    return (keep.removeprefix("-"),) if "." in keep else ()


def ranks(keep: str, docs: pa.RecordBatch, signals: Columns) -> dict[str, NDArray[np.float64]]:
    """`rank` (documents,): of two duplicates the one with the lower rank is kept, of equals the earlier document.

    Empty for "first", where all are equal. Documents without a date or value rank after those that have one.
    Raises RecipeError if the signal is not of numbers.
    """
    if keep == "first":
        return {}
    if keep == "longest":
        size = pc.fill_null(pc.utf8_length(docs["text"]), 0).to_numpy(zero_copy_only=False)
        return {"rank": -size.astype(np.float64)}
    if keep in ("newest", "oldest"):
        moments = np.array([moment(date) for date in docs["date"].to_pylist()], np.float64)
        return {"rank": _last_if_nan(-moments if keep == "newest" else moments)}
    column = signals[keep.removeprefix("-")]
    if not any(is_kind(column.type) for is_kind in NUMBERS):
        raise RecipeError(
            f'keep: "{keep}" is of type {column.type}; only a signal of numbers can say which duplicate is kept'
        )
    values = pc.cast(column, pa.float64()).to_numpy(zero_copy_only=False)
    return {"rank": _last_if_nan(values if keep.startswith("-") else -values)}


def moment(date: str | None) -> float:
    """Seconds from 1970 to a date of ISO 8601, to a microsecond; NaN if there is none.

    A year, month or day is its beginning; a time without a zone is UTC.

    >>> moment("2024-05-06T07:08:09.5+02:00") - moment("2024-05-06T05:08:09Z"), moment("2024-05") - moment("2024-04-30")
    (0.5, 86400.0)
    """
    parts = DATE.match(date or "")
    if not parts:
        return float("nan")
    year, month, day, hour, minute, second = (int(part or 0) for part in parts.groups()[:6])
    sign, hours, minutes = parts["sign"], int(parts["hours"] or 0), int(parts["minutes"] or 0)
    zone = (hours * 60 + minutes) * (-1 if sign == "-" else 1)
    seconds = ((_day(year, month or 1, day or 1) - FIRST_DAY) * 24 + hour) * 3600 + (minute - zone) * 60 + second
    return seconds + float(f"0.{parts['fraction'] or 0}")


def _day(year: int, month: int, day: int) -> int:
    """The number of a day of the Gregorian calendar, of any year and a month of 1 to 12."""
    year -= month < 3  # years from March on: the day that leap years have is the last one
    return 365 * year + year // 4 - year // 100 + year // 400 + (153 * ((month - 3) % 12) + 2) // 5 + day


FIRST_DAY = _day(1970, 1, 1)


def _last_if_nan(values: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.where(np.isnan(values), np.inf, values).astype(np.float64)
