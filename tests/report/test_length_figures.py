"""Lengths: sums that are exact, and medians that are near."""

import statistics

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from corpusmill.engine.work.text_facts import LENGTHS
from corpusmill.report.figures.lengths import LENGTH_EDGES, length, lengths_of
from corpusmill.report.figures.texts import texts
from corpusmill.report.samples import dropped_documents, kept_documents
from corpusmill.report.tables import RunTables
from made_run import made_run

values = st.lists(st.integers(0, 10**7), min_size=1, max_size=60)


def counted(numbers):
    """By bin of LENGTHS, as units count."""
    bins = np.searchsorted(LENGTHS, np.array(numbers), "right") - 1
    at, times = np.unique(bins, return_counts=True)
    return dict(zip(at.tolist(), times.tolist()))


@given(values)
def test_sums_are_exact_and_the_median_is_near(numbers):
    figure = length(len(numbers), sum(numbers), counted(numbers), min(numbers), max(numbers))
    assert figure.mean == sum(numbers) / len(numbers)
    low, high = statistics.median_low(numbers), statistics.median_high(numbers)
    assert 0.9 * low - 1 <= figure.median <= 1.1 * high + 1
    assert figure.least <= figure.median <= figure.most


@given(values)
def test_every_document_is_in_one_bin_of_the_chart(numbers):
    figure = length(len(numbers), sum(numbers), counted(numbers), min(numbers), max(numbers))
    assert sum(figure.histogram) == len(numbers)
    expected = [0] * (len(LENGTH_EDGES) - 1)
    for number in numbers:
        expected[max(i for i in range(len(expected)) if LENGTH_EDGES[i] <= number)] += 1
    assert list(figure.histogram) == expected


@given(st.integers(0, 10**6), st.integers(1, 50))
def test_equal_lengths_have_themselves_as_the_median(value, documents):
    figure = length(documents, value * documents, counted([value] * documents), value, value)
    assert figure.median == figure.mean == value


def test_no_documents_have_no_length():
    figure = length(0, 0, {}, 0, 0)
    assert figure.median == figure.mean == 0 and not sum(figure.histogram)


def test_edges_of_charts_are_edges_of_bins():
    assert set(LENGTH_EDGES[:-1]) <= set(LENGTHS.astype(float).tolist())
    assert list(LENGTH_EDGES) == sorted(set(LENGTH_EDGES))


def test_lengths_of_a_run_are_those_of_its_documents():
    tables = RunTables(made_run())
    own = {"kept": kept_documents(tables, 1000), "dropped": dropped_documents(tables, None, 1000)}
    for unit in ("bytes", "tokens"):
        lengths = lengths_of(tables, unit)
        for side, documents in own.items():
            numbers = [document[unit] for document in documents]
            assert lengths[side].documents == len(numbers) and lengths[side].total == sum(numbers)
            assert (lengths[side].least, lengths[side].most) == (min(numbers), max(numbers))
        assert lengths["all"].documents == sum(map(len, own.values()))


def test_words_of_both_sides_are_those_of_the_texts():
    tables = RunTables(made_run())
    sides = texts(tables)
    kept = [document["text"] for document in kept_documents(tables, 1000)]
    every = kept + [document["text"] for document in dropped_documents(tables, None, 1000)]
    for side, own in (("input", every), ("output", kept)):
        assert sides[side].documents == len(own)
        assert sides[side].lengths["characters"].total == sum(map(len, own))
        assert sides[side].lengths["characters"].most == max(map(len, own))
        record = sides[side].to_json()
        assert record["documents"] == len(own) and record["characters"]["total"] == sum(map(len, own))
