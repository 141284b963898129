"""The list of documents beside a slow obvious twin: every filter, every order, every page."""

import hashlib
import random

import pytest

from corpusmill.errors import InputError, ResumeError
from corpusmill.inspect.blind import Review, agreement
from corpusmill.inspect.listing import DOCUMENTS_PER_PAGE, Listing, ListingFilter
from corpusmill.report.figures.domains import registered
from corpusmill.report.tables import RunTables
from corpusmill.report.views import documents
from made_run import made_run, unfinish


@pytest.fixture(scope="module")
def listing():
    return Listing(RunTables(made_run()))


@pytest.fixture(scope="module")
def rows(listing):
    """All documents, as the run has saved them."""
    own = listing.tables.rows(f"SELECT * FROM ({documents(listing.tables)}) ORDER BY id, file, position")
    assert len(own) > 2 * DOCUMENTS_PER_PAGE
    return own


def ids(listing, **values):
    """The ids of all pages of a list."""
    found, page = [], 0
    while True:
        answer = listing.page(ListingFilter(**values), page)
        found += [row["id"] for row in answer["rows"]]
        if not answer["rows"] or len(found) >= answer["documents"]:
            assert len(found) == answer["documents"]
            return found
        assert len(answer["rows"]) == DOCUMENTS_PER_PAGE
        page += 1


def test_without_a_filter_every_document_is_on_one_page(listing, rows):
    assert ids(listing) == [row["id"] for row in rows]
    answer = listing.page(ListingFilter(), 0)
    assert answer["kept"] == sum(row["kept"] for row in rows)
    assert answer["tokens"] == sum(row["tokens"] or 0 for row in rows)
    assert listing.page(ListingFilter(), 99)["rows"] == []


TWINS = {
    "outcome": lambda row: "kept" if row["kept"] else "dropped" if row["dropped_by"] else "lost",
    "step": lambda row: row["dropped_by"],
    "reason": lambda row: (row["reasons"] or "").split(",")[0] or None,
    "source": lambda row: row["source"],
}


@pytest.mark.parametrize("facet", TWINS)
def test_a_facet_counts_and_filters(listing, rows, facet):
    value_of = TWINS[facet]
    counts = dict(listing.facets[facet])
    assert set(counts) == {value_of(row) for row in rows} - {None}
    for value, count in counts.items():
        own = [row["id"] for row in rows if value_of(row) == value]
        assert count == len(own) and ids(listing, **{facet: value}) == own


def test_the_domain_is_the_registered_one(listing, rows):
    assert [name for name, _ in listing.facets["domain"]] == ["made.org"] == [registered("www.made.org")]
    assert ids(listing, domain="made.org") == [row["id"] for row in rows if row["url"]]
    assert ids(listing, domain="other.org") == []


def test_filters_are_combined(listing, rows):
    own = [row["id"] for row in rows if row["source"] == "web" and row["dropped_by"] == "gopher_quality"]
    assert ids(listing, source="web", step="gopher_quality") == own
    assert ids(listing, source="extra", step="gopher_quality") == []


@pytest.mark.parametrize("part", ["/1", "MADE.org/2", "%", "'", "script"])
def test_a_part_of_a_name_is_found_in_either_case(listing, rows, part):
    own = [row["id"] for row in rows if part.lower() in row["id"] or part.lower() in (row["url"] or "").lower()]
    assert ids(listing, name=part) == own == ids(listing, name=part)


def test_a_part_of_a_text_is_found_in_either_case(listing, rows):
    tables = listing.tables
    last = len(tables.passes) - 1
    texts = dict(tables.tuples(f"SELECT id, text FROM ({tables.texts('docs', last)})"))
    for number in range(last + 1):
        texts |= dict(tables.tuples(f"SELECT id, text FROM ({tables.texts('dropped', number)})"))
    for part in ("Over and over", "RIVER stone", "nowhere at all", "%"):
        own = [row["id"] for row in rows if part.lower() in texts[row["id"]].lower()]
        assert ids(listing, text=part) == own


@pytest.mark.parametrize("low, high", [("", "20"), ("20", ""), ("10", "30"), ("30", "10"), ("1e400", "")])
def test_a_range_of_a_signal_includes_its_ends(listing, rows, low, high):
    signal = next(name for name in listing.signals if name.startswith("gopher_quality.") and "words" in name)
    first, last = float(low or "-inf"), float(high or "inf")
    own = [row["id"] for row in rows if row[signal] is not None and first <= row[signal] <= last]
    assert sorted(ids(listing, signal=signal, low=low, high=high)) == sorted(own)


@pytest.mark.parametrize("sort, sign", [("signal", -1), ("-signal", 1), ("tokens", -1), ("-tokens", 1)])
def test_orders(listing, rows, sort, sign):
    signal = listing.signals[0]
    name = signal if "signal" in sort else "tokens"
    values = {row["id"]: row[name] for row in rows}
    found = [values[name] for name in ids(listing, signal=signal if "signal" in sort else "", sort=sort)]
    known = [value for value in found if value is not None]
    assert known == sorted(known, key=lambda value: sign * value)
    assert found == known + [None] * (len(found) - len(known))


def test_rows_are_the_whole_list_in_its_order(listing, rows):
    exported = list(listing.rows(ListingFilter()))
    assert [row["id"] for row in exported] == [row["id"] for row in rows]
    assert all(set(row["signals"]) <= set(listing.signals) for row in exported)
    assert [row["id"] for row in listing.rows(ListingFilter(sort="tokens"))] == ids(listing, sort="tokens")


def test_a_dropped_document_says_why(listing):
    for row in listing.page(ListingFilter(outcome="dropped"), 0)["rows"]:
        assert row["because"].startswith(row["reason"])
    assert all(row["because"] is None for row in listing.page(ListingFilter(outcome="kept"), 0)["rows"])


@pytest.mark.parametrize(
    "values, message",
    [
        ({"outcome": "gone"}, 'there is no outcome "gone". The outcomes are: kept, dropped, lost'),
        ({"signal": "gopher_quality.nothing"}, 'no numeric rule judges by a signal "gopher_quality.nothing"'),
        ({"signal": "x", "sort": "signal"}, 'judges by a signal "x"'),
    ],
)
def test_what_cannot_be_filtered_by_is_refused(listing, values, message):
    with pytest.raises(InputError, match=message):
        listing.page(ListingFilter(**values), 0)


@pytest.mark.parametrize("side", ["low", "high"])
def test_an_end_that_is_no_number_is_refused(listing, side):
    with pytest.raises(InputError, match=f'{side} must be a number; got "x"'):
        listing.page(ListingFilter(signal=listing.signals[0], **{side: "x"}), 0)


def test_a_document_is_in_its_units(listing, rows):
    name = rows[0]["id"]
    assert listing.places(name) == [(name, rows[0]["file"], rows[0]["position"])]
    assert listing.units(name) and listing.units("no-such-id") is None and listing.places("no-such-id") == []


def test_searches_that_are_remembered_are_few(listing, rows):
    for i in range(20):
        assert ids(listing, name=f"/{i}") == [row["id"] for row in rows if f"/{i}" in (row["url"] or "")]
    tables = listing.tables.tuples("SELECT count(*) FROM duckdb_tables() WHERE table_name LIKE 'search_%'")
    assert tables[0][0] >= 1
    assert ids(listing, name="/0") == [row["id"] for row in rows if "/0" in (row["url"] or "")]


def test_parameters_of_an_address_that_are_no_filter_are_ignored():
    assert ListingFilter.from_query({"source": "web", "page": "3", "x": "y"}) == ListingFilter(source="web")


def test_a_run_that_is_not_finished_has_no_list(tmp_path):
    import shutil

    folder = shutil.copytree(made_run(), tmp_path / "run")
    unfinish(folder, "shards")
    with pytest.raises(ResumeError):
        Listing(RunTables(folder))


def kappa(first, second):
    """Cohen's, from the table of both."""
    n = len(first)
    table = {(a, b): sum((x, y) == (a, b) for x, y in zip(first, second)) / n for a in (0, 1) for b in (0, 1)}
    observed = table[0, 0] + table[1, 1]
    chance = sum((table[a, 0] + table[a, 1]) * (table[0, a] + table[1, a]) for a in (0, 1))
    return (observed - chance) / (1 - chance)


@pytest.mark.parametrize("seed", range(6))
def test_agreement_is_cohens_kappa(seed):
    generator = random.Random(seed)
    first = [True, False, *(generator.random() < 0.4 for _ in range(20))]
    second = [True, False, *(one if generator.random() < 0.7 else not one for one in first[2:])]
    found = agreement("x", first, second)
    assert found.kappa == pytest.approx(kappa(first, second))
    assert found.marked == 22 and found.agree == sum(a == b for a, b in zip(first, second))


@pytest.mark.parametrize(
    "first, second", [([], []), ([True], [True]), ([True, True], [True, False]), ([False, True], [True, True])]
)
def test_one_answer_alone_has_no_kappa(first, second):
    assert agreement("x", first, second).kappa is None


def test_a_round_shows_nothing_of_the_decision(listing):
    review = Review(listing)
    (first, *_) = [stage for stage, _ in listing.tables.passes]
    entries = review.round(first)
    assert entries and all(
        set(entry) == {"id", "file", "position", "source", "url", "date", "stage"} for entry in entries
    )
    drawn = [entry["id"] for entry in entries]
    assert drawn == sorted(drawn, key=lambda id: hashlib.sha256(id.encode()).hexdigest())
    with pytest.raises(InputError, match=r'there is no pass "x". The passes are: pass-1'):
        review.round("x")


@pytest.mark.parametrize(
    "mark, message",
    [("maybe", 'a mark must be one of keep, drop, unsure; got "maybe"'), ("keep", "has no document with the id")],
)
def test_a_mark_of_nothing_is_refused(listing, mark, message):
    with pytest.raises(InputError, match=message):
        Review(listing).mark("pass-1", "no-such-id", "file", 0, mark)
