"""Counts and histograms are those of the documents, one by one."""

import math
import shutil
from collections import Counter

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from corpusmill.report import histograms, samples
from corpusmill.report.rule_counts import RuleCount, reasons, rule_counts
from corpusmill.report.tables import RunTables
from made_run import made_run

ALL = 10_000


@pytest.fixture(scope="module")
def tables():
    return RunTables(made_run())


def test_counts_of_rules_are_those_of_the_documents(tables):
    dropped = samples.dropped_documents(tables, None, ALL)
    first = Counter(document["reasons"][0] for document in dropped)
    own = [(r, d) for d in dropped for r in d["reasons"] if r.split(".")[0] == d["dropped_by"]]
    every = Counter(reason for reason, _ in own)
    alone = Counter(reason for reason, document in own if document["reasons"] == [reason])
    assert rule_counts(tables) == {reason: RuleCount(first[reason], every[reason], alone[reason]) for reason in every}
    assert reasons(tables) == sorted(first, key=lambda reason: (-first[reason], reason))


@pytest.mark.parametrize("unit", ["tokens", "bytes"])
def test_lengths_count_each_document_once(tables, unit):
    histogram = histograms.lengths(tables, unit)
    for name, documents in (
        ("kept", samples.kept_documents(tables, ALL)),
        ("dropped", samples.dropped_documents(tables, None, ALL)),
    ):
        bins = zip(histogram.edges, histogram.edges[1:])
        expected = tuple(sum(low <= d[unit] < high for d in documents) for low, high in bins)
        assert histogram.counts[name] == expected
        assert sum(expected) == len(documents)


def test_signals_split_at_the_bound_as_the_filter_did(tables):
    by_reason, counts = histograms.signals(tables), rule_counts(tables)
    reached = {row.step: row.documents_in for row in tables.files.waterfall().rows}
    assert {"gopher_quality.min_words", "fineweb.max_short_lines"} <= set(by_reason)
    for reason, histogram in by_reason.items():
        assert sum(histogram.counts["fail"]) == (counts[reason].all if reason in counts else 0), reason
        assert histogram.total == reached[reason.partition(".")[0]]


def test_infinite_and_missing_values_are_in_no_bin(tmp_path):
    """The ends of an axis are read from the footers of files, which count infinity and leave out null and NaN."""
    folder = shutil.copytree(made_run(), tmp_path / "run")
    reason, signal = "gopher_quality.max_hash_ratio", "gopher_quality.hash_ratio"
    before = histograms.signals(RunTables(folder), [reason])[reason]
    files = RunTables(folder)
    for path in files.files.paths("signals", 0):
        table = pq.read_table(path)
        odd = table.slice(0, 3)
        values = pa.array([math.inf, math.nan, None], table.schema.field(signal).type)[: len(odd)]
        odd = odd.set_column(table.schema.get_field_index(signal), signal, values)
        pq.write_table(pa.concat_tables([table, odd]), path)
    assert histograms.signals(files, [reason])[reason] == before
