"""A line through files that are sorted each by itself is where sorting all of them draws it."""

import math
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from corpusmill.steps.ranks import END, line_at, ordered, run_of
from corpusmill.store.arrays import map_arrays, write_arrays

values = st.one_of(st.sampled_from([0.0, -0.0, 1.0, math.inf, -math.inf, math.nan]), st.floats(-3, 3))
files = st.lists(st.lists(st.tuples(values, st.integers(0, 3)), max_size=6), min_size=1, max_size=4)


def test_files_are_open_one_at_a_time(tmp_path):
    resource = pytest.importorskip("resource", reason="a limit of POSIX")
    keys = np.random.default_rng(3).integers(0, 50, (300, 20)).astype(np.uint64)
    paths = [tmp_path / str(number) for number in range(len(keys))]
    for number, path in enumerate(paths):
        documents = np.arange(20) + 20 * number
        write_arrays(path, run_of(keys[number], documents, np.ones(20, np.int64)))
    limits = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (len([*Path("/dev/fd").iterdir()]) + 40, limits[1]))
    try:
        line = line_at([partial(map_arrays, path) for path in paths], 2_999.5)
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, limits)
    order = np.lexsort((np.arange(keys.size), keys.ravel()))
    assert line == (keys.ravel()[order[2_999]], order[2_999])


@settings(max_examples=200, derandomize=True, deadline=None)
@given(files, st.floats(0, 30))
def test_the_line_is_that_of_a_sort_of_all(files, bound):
    runs, rows, first = [], [], 0
    for file in files:
        documents = np.arange(first, first + len(file))
        keys = ordered(np.array([value for value, _ in file], np.float64))
        runs.append(run_of(keys, documents, np.array([weight for _, weight in file], np.int64)))
        rows += [
            (math.inf if math.isnan(value) else value, first + i, weight) for i, (value, weight) in enumerate(file)
        ]
        first += len(file)
    taken, beyond = 0, None
    for _, document, weight in sorted(rows):
        taken += weight
        if taken > bound:
            beyond = document
            break
    line = line_at([partial(dict, run) for run in runs], bound)
    assert (line == END) == (beyond is None)
    if beyond is not None:
        assert line.document == beyond
    before = {
        document for run in runs for document in run["documents"][line.before(run["keys"], run["documents"])].tolist()
    }
    order = [document for _, document, _ in sorted(rows)]
    assert before == set(order if beyond is None else order[: order.index(beyond)])
