"""Dates as inputs write them, as ISO 8601."""

import re
from datetime import UTC, date, datetime
from email.utils import parsedate_to_datetime

MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
ZONES = {"est": -5, "edt": -4, "cst": -6, "cdt": -5, "mst": -7, "mdt": -6, "pst": -8, "pdt": -7}  # as RFC 5322 has them
WITHIN = range(1900, 2101)  # years in which numbers of 8, 12 or 14 digits are dates, not seconds or milliseconds
MONTH = r"(?P<name>" + "|".join(MONTHS) + r")[a-z]*\.?"
DAY = r"(?P<day>\d{1,2})(?:st|nd|rd|th)?"
YEAR = r"(?P<year>\d{4})"
ISO = re.compile(
    r"(\d{4})(?:-(\d\d)(?:-(\d\d)(?:[T ](\d\d):(\d\d)(?::(\d\d)(?:[.,]\d+)?)?\s*(?:Z|[+-]\d\d:?\d\d)?)?)?)?"
)
DIGITS = re.compile(r"(\d{4})(\d\d)(\d\d)(?:[T ]?(\d\d)(\d\d)(?:(\d\d)(\.\d+)?)?(Z|[+-]\d\d:?\d\d)?)?")
EPOCH = re.compile(r"(?:\d{9,10}|\d{12,13}|\d{16}|\d{19})(?:\.\d+)?")  # seconds from 1973 on, and thousandths of these
ZONE_NAME = re.compile(r"(?<=[Z0-9])\[[\w/+-]+\]$", re.ASCII)  # behind an offset: 12:00+01:00[Europe/Paris] (RFC 9557)
TIME = re.compile(
    r"(?:[,\sT]|\bat\b)*\b(?P<hour>\d{1,2}):(?P<minute>\d\d)(?::(?P<second>\d\d)(?P<fraction>[.,]\d+)?)?\s*"
    r"(?P<half>[ap]\.?m\b\.?)?\s*(?P<zone>z\b|utc\b|gmt\b|ut\b|[ecmp][sd]t\b|[+-]\d\d:?\d\d\b)?"
    r"(?:\s*(?:utc|\([a-z ]+\)))?",
    re.I,
)
WEEKDAY = re.compile(r"^(?:mon|tue|wed|thu|fri|sat|sun)[a-z]*[.,]?\s+", re.I)
FORMS = tuple(
    re.compile(form, re.I)
    for form in (
        rf"{YEAR}([/.-])(?P<month>\d{{1,2}})\2{DAY}",
        rf"{DAY}[\s/.-]*(?:of\s+)?{MONTH}[,\s/-]*{YEAR}",
        rf"{MONTH}[\s/-]*{DAY}[,\s/-]+{YEAR}",
        rf"{YEAR}[\s/-]+{MONTH}[\s/-]*{DAY}",
        rf"{MONTH}[,\s/-]+{YEAR}",
    )
)
BY_PARTS = re.compile(r"(\d{1,2})([/.-])(\d{1,2})\2(\d{4})")
RFC_850 = re.compile(r"[a-z]+, \d\d-[a-z]{3}-\d\d \d\d:\d\d:\d\d GMT", re.I)


def iso(value: object) -> str | None:
    """A date as ISO 8601, None if it cannot be read, or could be read in two ways.

    Of ISO 8601 a year, month, day or moment is given as it is, with its zone or without one. Read are

    - 8, 12 or 14 digits, as text or a number: 20240102, 202401020304, 20240102030405
    - seconds since 1970 as a number; as text from 9 digits on; and milli-, micro- and nanoseconds
    - the year first: 2024/01/02, 2024.1.2
    - English names of months: 2 Jan 2024, January 2nd, 2024, 02-Jan-2024, Jan 2024
    - a day and a month in numbers, where only one order is possible: 13/02/2024, 02/02/2024, but not 01/02/2024
    - a weekday before and a time after any of these, with AM, PM and a zone: RFC 5322, RFC 850, ctime

    >>> iso("20190425125754"), iso("Thu, 25 Apr 2019 12:57:54 GMT"), iso(1556197074), iso("soon")
    ('2019-04-25T12:57:54Z', '2019-04-25T12:57:54Z', '2019-04-25T12:57:54Z', None)
    """
    if isinstance(value, datetime | date):
        return _utc(value.isoformat())
    if isinstance(value, bool):
        return None
    if isinstance(value, int | float):
        return _of_number(value)
    return _of_text(value) if isinstance(value, str) else None


def _of_number(value: float) -> str | None:
    if isinstance(value, int) and 1000 <= value < 3000:
        return str(value)
    digits = DIGITS.fullmatch(str(value)) if isinstance(value, int) else None
    if digits and int(digits[1]) in WITHIN and (day := _of_digits(digits)):
        return day
    for limit, unit in ((1e17, 1e9), (1e14, 1e6), (1e11, 1e3)):
        if abs(value) > limit:
            value /= unit
            break
    try:
        return _utc(datetime.fromtimestamp(value, UTC).isoformat())
    except (ValueError, OverflowError, OSError):
        return None


def _of_text(text: str) -> str | None:
    text = ZONE_NAME.sub("", text.strip())
    if not text.isascii():  # digits of other scripts
        text = "".join(str(int(character)) if character.isdecimal() else character for character in text)
    if parts := ISO.fullmatch(text):
        return text if _is_valid(*parts.groups()) else None
    digits = DIGITS.fullmatch(text)
    if digits and (len(text) != 12 or int(digits[1]) in WITHIN) and (day := _of_digits(digits)):
        return day
    if EPOCH.fullmatch(text):
        return _of_number(float(text) if "." in text else int(text))
    if RFC_850.fullmatch(text):
        return _utc(parsedate_to_datetime(text).isoformat())
    time = TIME.search(text)
    rest = f"{text[: time.start()]} {text[time.end() :]}" if time else text
    day = _of_day(WEEKDAY.sub("", rest).strip(" ,"))
    if day is None or time is None or day.count("-") < 2:
        return day if time is None else None
    clock = _clock(time)
    return f"{day}T{clock}" if clock else None


def _of_digits(digits: re.Match[str]) -> str | None:
    year, month, day, hour, minute, second, fraction, zone = digits.groups()
    if not _is_valid(year, month, day, hour, minute, second):
        return None
    return f"{year}-{month}-{day}" + (f"T{hour}:{minute}:{second or '00'}{fraction or ''}{zone or 'Z'}" if hour else "")


def _of_day(text: str) -> str | None:
    """A day, or a month, without its time."""
    for form in FORMS:
        if match := form.fullmatch(text):
            parts = match.groupdict()
            month = parts.get("month") or str(MONTHS.index(parts["name"].lower()) + 1)
            return _joined(parts["year"], month, parts.get("day"))
    if match := BY_PARTS.fullmatch(text):
        one, _, other, year = match.groups()
        orders = {day for day in (_joined(year, one, other), _joined(year, other, one)) if day}
        return orders.pop() if len(orders) == 1 else None
    return None


def _joined(year: str, month: str, day: str | None) -> str | None:
    month, day = month.zfill(2), day and day.zfill(2)
    return "-".join(filter(None, (year, month, day))) if _is_valid(year, month, day) else None


def _clock(time: re.Match[str]) -> str | None:
    hour, half, zone = int(time["hour"]), (time["half"] or "")[:1].lower(), (time["zone"] or "").lower()
    if half:
        if not 1 <= hour <= 12:
            return None
        hour = hour % 12 + 12 * (half == "p")
    if not _is_valid("2000", "01", "01", str(hour), time["minute"], time["second"]):
        return None
    if zone in ZONES:
        zone = f"{ZONES[zone]:+03d}:00"
    elif zone[:1] in ("+", "-"):
        zone = f"{zone[:3]}:{zone[-2:]}"
    elif zone:
        zone = "Z"
    # -0000 says that the zone is not known (RFC 5322, 3.3).
    zone = {"+00:00": "Z", "-00:00": ""}.get(zone, zone)
    return f"{hour:02}:{time['minute']}:{time['second'] or '00'}{(time['fraction'] or '').replace(',', '.')}{zone}"


def _is_valid(year: str, month: str | None, day: str | None, *time: str | None) -> bool:
    """Whether there is such a day and time; 24:00 and leap seconds are."""
    try:
        date(int(year), int(month or 1), int(day or 1))
    except ValueError:
        return False
    return all(int(part or 0) <= limit for part, limit in zip(time, (24, 59, 60)))


def _utc(text: str) -> str:
    return text.removesuffix("+00:00") + "Z" if text.endswith("+00:00") else text
