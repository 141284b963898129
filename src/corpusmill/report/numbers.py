"""Numbers as people read them."""


def number(value: float) -> str:
    """1234567 -> 1,234,567"""
    return f"{value:,.0f}"


def plural(count: float, noun: str, nouns: str = "") -> str:
    """A count with its noun: `nouns` for other counts than one, with an s if it is not given.

    >>> plural(1, "file"), plural(1234, "file"), plural(0, "query", "queries")
    ('1 file', '1,234 files', '0 queries')
    """
    return f"{number(count)} {noun if count == 1 else nouns or f'{noun}s'}"


def size(value: float) -> str:
    """Bytes in units of 1000.

    >>> size(1234567), size(999)
    ('1.2 MB', '999 B')
    """
    return f"{value:.0f} B" if value < 1000 else _scaled(value, ("kB", "MB", "GB", "TB"), "{:.1f} {}")


def short(value: float) -> str:
    """A count or a small value for an axis.

    >>> short(20000), short(1500000), short(0.25), short(12), short(0.0291667), short(999.7)
    ('20k', '1.5M', '0.25', '12', '0.0292', '1k')
    """
    rounded = float(f"{value:.3g}")
    if abs(rounded) < 1000:
        return f"{rounded:g}"
    return _scaled(value, ("k", "M", "G", "T"), "{:.3g}{}")


def share(part: float, total: float) -> str:
    """A share in per cent; 100 % and 0 % only if it is all or nothing.

    >>> share(1, 3), share(0, 3), share(99999, 100000), share(1, 0)
    ('33.3 %', '0.0 %', '> 99.9 %', '–')
    """
    if not total:
        return "–"
    text = f"{100 * part / total:.1f}"
    if text == "100.0" and part < total:
        return "> 99.9 %"
    if text == "0.0" and part > 0:
        return "< 0.1 %"
    return f"{text} %"


def duration(seconds: float) -> str:
    """Time in two units at most.

    >>> duration(0.31), duration(75), duration(9000), duration(200000)
    ('0.3 s', '1 min 15 s', '2 h 30 min', '2 d 7 h')
    """
    if seconds < 60:
        return f"{seconds:.1f} s"
    rounded = round(seconds)
    for length, name, small, smaller in ((86400, "d", 3600, "h"), (3600, "h", 60, "min"), (60, "min", 1, "s")):
        if rounded >= length:
            return f"{rounded // length} {name} {rounded % length // small} {smaller}"
    raise AssertionError


def measured(value: object) -> str:
    """The value of a signal: counts in full, ratios to three digits, text as it is.

    >>> measured(1234), measured(0.123456), measured(3.0), measured("en"), measured(None)
    ('1,234', '0.123', '3', 'en', '–')
    """
    if value is None:
        return "–"
    if isinstance(value, bool) or not isinstance(value, int | float):
        return str(value)
    if isinstance(value, int) or abs(value) >= 1000:
        return number(value)
    return f"{value:.3g}"


def _scaled(value: float, units: tuple[str, ...], form: str) -> str:
    for unit in units:
        value /= 1000
        if abs(value) < 999.95 or unit == units[-1]:
            return form.format(value, unit)
    raise AssertionError
