"""A line through files that are sorted each by itself is where sorting all of them draws it."""

import math

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from corpusmill.steps.ranks import END, line_at, ordered, run_of

values = st.one_of(st.sampled_from([0.0, -0.0, 1.0, math.inf, -math.inf, math.nan]), st.floats(-3, 3))
files = st.lists(st.lists(st.tuples(values, st.integers(0, 3)), max_size=6), min_size=1, max_size=4)


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
    line = line_at(runs, bound)
    assert (line == END) == (beyond is None)
    if beyond is not None:
        assert line.document == beyond
    before = {
        document for run in runs for document in run["documents"][line.before(run["keys"], run["documents"])].tolist()
    }
    order = [document for _, document, _ in sorted(rows)]
    assert before == set(order if beyond is None else order[: order.index(beyond)])
