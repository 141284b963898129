"""Boosted trees against walking them in Python."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from corpusmill.text.blocks.trees import Trees, probabilities, several_probabilities


@st.composite
def forests(draw):
    """Trees whose children come after their parents, over three columns; and rows."""
    parts: tuple[list[Any], ...] = ([], [], [], [], [], [])
    columns, thresholds, left, right, leaves, roots = parts

    def grow(depth):
        if depth == 0 or draw(st.booleans()):
            leaves.append(draw(st.floats(-3, 3, width=32)))
            return -len(leaves)
        node = len(columns)
        columns.append(draw(st.integers(0, 2)))
        thresholds.append(draw(st.sampled_from([-1.0, 0.0, 0.5, 2.0])))
        left.append(0)
        right.append(0)
        left[node], right[node] = grow(depth - 1), grow(depth - 1)
        return node

    for _ in range(draw(st.integers(1, 3))):
        roots.append(grow(3))
    kinds = (np.int16, np.float32, np.int16, np.int16, np.float32, np.int16)
    rows = draw(st.lists(st.tuples(*[st.sampled_from([-2.0, 0.0, 0.5, 1.0, 3.0])] * 3), max_size=4))
    return Trees(*(np.array(part, kind) for part, kind in zip(parts, kinds))), np.array(rows, np.float32).reshape(-1, 3)


def walk(trees, row):
    total = np.float32(0)
    for root in trees.root.tolist():
        node = root
        while node >= 0:
            below = row[trees.column[node]] <= trees.threshold[node]
            node = int((trees.left if below else trees.right)[node])
        total += trees.leaf[~node]
    return 1 / (1 + np.exp(-float(total)))


@given(forests())
@settings(max_examples=60)
def test_probabilities_are_those_of_a_walk(case):
    trees, rows = case
    out = probabilities(trees, rows)
    assert out.dtype == np.float32 and out.tolist() == pytest.approx([walk(trees, row) for row in rows], rel=1e-5)


@given(forests(), st.integers(2, 3))
@settings(max_examples=40)
def test_several_probabilities_are_those_of_each_ones_trees(case, questions):
    trees, rows = case
    turned = [np.roll(trees.root, at) for at in range(questions)]
    several = several_probabilities(trees._replace(root=np.concatenate(turned)), rows, questions)
    assert several.shape == (len(rows), questions)
    for at, root in enumerate(turned):
        assert (several[:, at] == probabilities(trees._replace(root=root), rows)).all()


def test_a_value_equal_to_the_threshold_goes_left():
    trees = Trees(
        np.zeros(1, np.int16), np.array([0.5], np.float32), np.array([-1], np.int32), np.array([-2], np.int32),
        np.array([-9, 9], np.float32), np.zeros(1, np.int32),
    )  # fmt: skip
    below, above = probabilities(trees, np.array([[0.5], [0.6]], np.float32)).tolist()
    assert below < 0.01 and above > 0.99
