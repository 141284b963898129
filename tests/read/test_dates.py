"""Dates of every usual form become ISO 8601; those that could be two days, or none, are null and counted."""

from datetime import UTC, datetime, timedelta, timezone
from email.utils import format_datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st
from reading import read_all, save

from corpusmill.engine.plan.look import look
from corpusmill.read import CsvReader, JsonlReader
from corpusmill.read._dates import iso
from corpusmill.recipe.parts import Source

MOMENTS = st.datetimes(datetime(1973, 3, 4), datetime(2100, 1, 1))


@pytest.mark.parametrize(
    ("value", "date"),
    [
        # as it is
        ("2024-05-01", "2024-05-01"),
        (" 2024-05-01T10:00:00+02:00 ", "2024-05-01T10:00:00+02:00"),
        ("2024-05-01 10:00:00.25", "2024-05-01 10:00:00.25"),
        ("2024-05-01T10:00:00+02:00[Europe/Berlin]", "2024-05-01T10:00:00+02:00"),
        ("2024-05-01T10:00:00Z[UTC]", "2024-05-01T10:00:00Z"),
        ("2020-03", "2020-03"),
        ("2020", "2020"),
        (2020, "2020"),
        # digits
        ("20200329", "2020-03-29"),
        (20200329, "2020-03-29"),
        ("20200329090410", "2020-03-29T09:04:10Z"),
        (20200329090410, "2020-03-29T09:04:10Z"),
        ("202003290904", "2020-03-29T09:04:00Z"),
        ("946684800000", "2000-01-01T00:00:00Z"),
        ("20200329T090410Z", "2020-03-29T09:04:10Z"),
        ("20200329T090410+0200", "2020-03-29T09:04:10+0200"),
        ("\u0662\u0660\u0662\u0664-\u0660\u0661-\u0660\u0662", "2024-01-02"),
        # since 1970
        *((value, "2020-03-29T09:04:10Z") for value in (1585472650, 1585472650.0, 1585472650000, 1585472650000000000)),
        *((value, "2020-03-29T09:04:10Z") for value in ("1585472650", "1585472650.0", "1585472650000")),
        ("1585472650000000", "2020-03-29T09:04:10Z"),
        ("1585472650.5", "2020-03-29T09:04:10.500000Z"),
        (0, "1970-01-01T00:00:00Z"),
        # the year first
        *((value, "2024-01-02") for value in ("2024/01/02", "2024.01.02", "2024/1/2", "2024-1-2", "2024.1.2")),
        ("2024/01/02 03:04", "2024-01-02T03:04:00"),
        ("2024/01/02 03:04:05 UTC", "2024-01-02T03:04:05Z"),
        ("2024-01-02 03:04:05 +0000 UTC", "2024-01-02T03:04:05Z"),
        ("2024-01-02 3:04:05 PM", "2024-01-02T15:04:05"),
        # names of months
        *(
            (value, "2024-01-02")
            for value in (
                *("Jan 2, 2024", "January 2, 2024", "Jan. 2, 2024", "Jan 2 2024", "January 2nd, 2024", "JAN 2, 2024"),
                *("2 Jan 2024", "02 Jan 2024", "02-Jan-2024", "2nd of January 2024", "2 January, 2024", "02/Jan/2024"),
                *("Tue, 02 Jan 2024", "Tuesday, January 2, 2024", "Tue Jan 2 2024", "2024-Jan-02", "2024 Jan 2"),
            )
        ),
        ("Sept 2, 2024", "2024-09-02"),
        ("May 2024", "2024-05"),
        ("Sun, 29 Mar 2020 09:04:10 +0000", "2020-03-29T09:04:10Z"),
        ("Sun, 29 Mar 2020 09:04:10 GMT", "2020-03-29T09:04:10Z"),
        ("29 Mar 2020 09:04:10 -0500", "2020-03-29T09:04:10-05:00"),
        ("29 Mar 2020 09:04:10 EST", "2020-03-29T09:04:10-05:00"),
        ("Sun, 29 Mar 2020 09:04:10 +0200 (CEST)", "2020-03-29T09:04:10+02:00"),
        ("Sunday, 29-Mar-20 09:04:10 GMT", "2020-03-29T09:04:10Z"),
        ("Sun Mar 29 09:04:10 2020", "2020-03-29T09:04:10"),
        ("Sun Mar  1 09:04:10 2020", "2020-03-01T09:04:10"),
        ("Sun Mar 29 09:04:10 +0000 2020", "2020-03-29T09:04:10Z"),
        ("Jan 2, 2024 at 3:04 PM", "2024-01-02T15:04:00"),
        ("Jan 2, 2024, 12:30 a.m. UTC", "2024-01-02T00:30:00Z"),
        # numbers of which one order is possible
        ("13/02/2024", "2024-02-13"),
        ("02/13/2024", "2024-02-13"),
        ("31.12.2024 10:00", "2024-12-31T10:00:00"),
        ("02/02/2024", "2024-02-02"),
    ],
)
def test_dates_become_iso_8601(value, date):
    assert iso(value) == date


@pytest.mark.parametrize(
    "value",
    [
        *(
            "01/02/2024",
            "1.2.2024",
            "01-02-2024 10:00",
            "01/02/24",
            "2 Jan 24",
            "Jan 2",
            "12:30",
            "tomorrow",
            "",
            "x2024",
        ),
        *(
            "2024-13-01",
            "2024-02-30",
            "0000-00-00",
            "2024/02/30",
            "20240230",
            "13/13/2024",
            "Feb 30, 2024",
            "Jan 42, 2024",
        ),
        *("2024-01-02T25:00:00", "2024-01-02 10:61", "Jan 2, 2024 13:00 PM", "Jan 2, 2024 10:00 CET", "May 2024 10:00"),
        *("12345", "123456", "20240", "Maybe 2, 2024 or so", "2024-01-02 and 2024-01-03", "version 2024.01.02"),
        *(True, None, float("nan"), float("inf"), 1e300, -1e300, {"$date": 1}, ["2024-01-02"], b"2024-01-02"),
    ],
)
def test_what_is_no_date_or_may_be_two_is_null(value):
    assert iso(value) is None


@given(MOMENTS, st.integers(-12 * 60, 14 * 60))
def test_what_standard_libraries_write_is_read_back(moment, offset):
    here = moment.replace(microsecond=0, tzinfo=timezone(timedelta(minutes=offset)))
    seconds = int(here.timestamp())
    thousandths = seconds * 1000 if seconds >= 10**9 else seconds  # before, 12 digits may be a date
    for written in (format_datetime(here), here.isoformat(), str(here), here.strftime("%a %b %d %H:%M:%S %z %Y")):
        read = iso(written)
        assert read is not None and datetime.fromisoformat(read) == here
    for written in (
        seconds,
        str(seconds),
        thousandths,
        str(thousandths),
        format_datetime(here.astimezone(UTC), True),
    ):
        read = iso(written)
        assert read is not None and datetime.fromisoformat(read) == here
    for form in ("%Y/%m/%d", "%Y.%m.%d", "%Y%m%d", "%B %d, %Y", "%b %d, %Y", "%d %b %Y", "%A, %d %B %Y", "%d-%b-%Y"):
        assert iso(here.strftime(form)) == str(here.date())


@given(st.text(st.sampled_from("0123456789/-.:, TZJanuryPM+"), max_size=30))
def test_no_text_is_an_error_or_no_date(text):
    read = iso(text)
    assert (
        read is None
        or len(read) == 4
        or datetime.fromisoformat(f"{read}-01" if len(read) == 7 else read.replace("T24", "T00"))
    )


def test_what_cannot_be_read_is_counted_and_kept(tmp_path):
    rows = b"""text,date
one,01/02/2024
two,2024/01/02
three,
four,1704164645
five,soon
"""
    documents, dead, counts = read_all(CsvReader(), save(tmp_path, "a.csv", rows))
    assert [row["date"] for row in documents] == [None, "2024-01-02", None, "2024-01-02T03:04:05Z", None]
    assert not dead and (counts.unread_dates, counts.unread_dates_sample) == (2, "01/02/2024")
    assert b"01/02/2024" in bytes(str(documents[0]["metadata"]), "utf-8")


def test_a_look_at_the_input_says_so(tmp_path):
    rows = b"".join(b'{"text": "a ferry", "date": "0%d/02/2024"}\n' % day for day in range(1, 4))
    file = save(tmp_path, "a.jsonl", rows)
    sample, warnings = look(Source(JsonlReader(), (file.path,), "forum"), [file], 0.01)
    assert warnings == [
        'forum: of the first 3 documents, 2 have a date that cannot be read, such as "01/02/2024"; it is null'
    ]
    assert sample.documents == 3
