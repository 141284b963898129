"""Sizes of clusters, and what each removal lost, agree with the signals of the documents."""

from collections import Counter

import pytest

from corpusmill.report.figures.clusters import clusters
from corpusmill.report.tables import RunTables
from made_run import COPIES, NEAR, made_run


@pytest.fixture(scope="module")
def tables():
    return RunTables(made_run())


def test_every_kept_document_with_duplicates_is_a_cluster(tables):
    exact, near = clusters(tables)
    assert (exact.step, exact.clusters, exact.documents, exact.largest) == ("exact", COPIES, 2 * COPIES, 2)
    assert (near.step, near.clusters, near.documents, near.largest) == ("minhash", NEAR, 2 * NEAR, 2)
    assert near.sizes.edges == (2.0, 3.0) and near.sizes.counts == {"clusters": (NEAR,)}


def test_the_bins_of_what_is_lost_hold_the_signal(tables):
    exact, near = clusters(tables)
    assert exact.lost is None and near.lost is not None and not near.lost.is_open
    number = len(tables.passes) - 1
    lost = [
        value
        for (value,) in tables.tuples(
            f'SELECT "minhash.lost" FROM ({tables.table("signals", number)}) WHERE "minhash.lost" NOTNULL'
        )
    ]
    slow = Counter(
        next(i for i, (low, high) in enumerate(zip(near.lost.edges, near.lost.edges[1:])) if low <= value < high)
        for value in lost
    )
    assert {i: n for i, n in enumerate(near.lost.counts["dropped"]) if n} == dict(slow) and lost
