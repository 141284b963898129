"""Numbers as people read them: never rounded to something that is not true, and never wider than two units."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from corpusmill.report.numbers import duration, measured, number, plural, share, short, size

counts = st.integers(0, 10**15)
SECONDS = {"d": 86400, "h": 3600, "min": 60, "s": 1}


@given(counts)
def test_a_number_is_itself_with_commas(value):
    text = number(value)
    assert int(text.replace(",", "")) == value
    assert all(len(group) == 3 for group in text.split(",")[1:])


@pytest.mark.parametrize(
    "count, noun, nouns, expected",
    [
        (0, "file", "", "0 files"),
        (1, "file", "", "1 file"),
        (2, "file", "", "2 files"),
        (1234567, "query", "queries", "1,234,567 queries"),
        (1, "query", "queries", "1 query"),
    ],
)
def test_a_noun_follows_its_count(count, noun, nouns, expected):
    assert plural(count, noun, nouns) == expected


@given(counts, counts)
def test_a_share_is_all_or_nothing_only_if_it_is(a, b):
    part, total = min(a, b), max(a, b)
    text = share(part, total)
    if not total:
        assert text == "–"
    elif part == total:
        assert text == "100.0 %"
    elif not part:
        assert text == "0.0 %"
    else:
        assert text not in ("100.0 %", "0.0 %")
        bound = re.fullmatch(r"(?:([<>]) )?(\d+\.\d) %", text)
        assert bound
        if bound[1] is None:
            assert abs(float(bound[2]) - 100 * part / total) <= 0.051
        elif bound[1] == "<":
            assert 100 * part / total < 0.1
        else:
            assert 100 * part / total > 99.9


@given(st.floats(0, 1e16))
def test_a_size_is_near_the_bytes_that_it_is_of(value):
    digits, unit = size(value).split(" ")
    scale = {"B": 1, "kB": 1e3, "MB": 1e6, "GB": 1e9, "TB": 1e12}[unit]
    assert abs(float(digits) * scale - value) <= max(0.051 * scale, 0.51)
    assert unit == "TB" or float(digits) < 1000 or (unit == "B" and value < 1000)


@given(st.floats(0, 1e15))
def test_a_short_number_is_near_what_it_is_of(value):
    text = short(value)
    found = re.fullmatch(r"([\d.e+-]+?)([kMGT]?)", text)
    assert found
    scale = {"": 1, "k": 1e3, "M": 1e6, "G": 1e9, "T": 1e12}[found[2]]
    assert abs(float(found[1]) * scale - value) <= 0.006 * max(value, 1e-300)


def test_the_border_between_two_units_is_not_rounded_over():
    assert [short(value) for value in (999, 999.4, 999.7, 1000, 20_000)] == ["999", "999", "1k", "1k", "20k"]
    assert size(999_949_999) == "999.9 MB" and size(999_950_000) == "1.0 GB"
    assert size(999) == "999 B" and size(1000) == "1.0 kB"


@given(st.floats(0, 1e8))
def test_a_duration_has_two_units_and_is_no_more_than_one_of_the_smaller_off(seconds):
    parts = duration(seconds).split(" ")
    values, units = [float(part) for part in parts[::2]], parts[1::2]
    assert len(units) in (1, 2)
    total = sum(value * SECONDS[unit] for value, unit in zip(values, units))
    assert abs(total - seconds) <= (0.051 if len(units) == 1 else SECONDS[units[-1]] + 0.51)
    if len(units) == 2:
        assert values[1] * SECONDS[units[1]] < SECONDS[units[0]]


@pytest.mark.parametrize(
    "seconds, expected",
    [
        (0, "0.0 s"),
        (59.94, "59.9 s"),
        (60, "1 min 0 s"),
        (3599.6, "1 h 0 min"),
        (3600, "1 h 0 min"),
        (86400, "1 d 0 h"),
    ],
)
def test_durations_at_the_borders(seconds, expected):
    assert duration(seconds) == expected


@pytest.mark.parametrize(
    "value, expected",
    [
        (None, "–"),
        (True, "True"),
        (False, "False"),
        (0, "0"),
        (12345, "12,345"),
        (0.5, "0.5"),
        (1234.5, "1,234"),
        (-2000.0, "-2,000"),
        ("en", "en"),
        (["a"], "['a']"),
        (float("nan"), "nan"),
    ],
)
def test_a_measured_value_is_shown_by_its_kind(value, expected):
    assert measured(value) == expected
