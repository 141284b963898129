"""Boosted trees with a logistic output, evaluated."""

from typing import NamedTuple

import numpy as np

from corpusmill.text.array_types import Float32s, Int16s
from corpusmill.text.compile import kernel


class Trees(NamedTuple):
    """Trees as nodes. A node sends a row to `left` if its column is at most the threshold, else to `right`; a negative
    number is the leaf of that complement.

    column      (nodes,) int16
    threshold   (nodes,) float32
    left        (nodes,) int16
    right       (nodes,) int16
    leaf        (leaves,) float32: what a leaf adds
    root        (trees,) int16: the first node of each tree
    """

    column: Int16s
    threshold: Float32s
    left: Int16s
    right: Int16s
    leaf: Float32s
    root: Int16s


def probabilities(trees: Trees, rows: Float32s) -> Float32s:
    """(rows,) float32: the probability that the trees give each row."""
    return several_probabilities(trees, rows, 1)[:, 0]


def several_probabilities(trees: Trees, rows: Float32s, questions: int) -> Float32s:
    """(rows, questions) float32: the probability of each of several things, by equally many trees of each in turn."""
    out = np.empty((len(rows), questions), np.float32)
    _evaluate(trees, rows, out)
    return out


@kernel
def _evaluate(trees: Trees, rows: Float32s, out: Float32s) -> None:
    column, threshold, left, right, leaf, root = trees
    each = len(root) // out.shape[1]
    for number in range(len(rows)):
        row = rows[number]
        for question in range(out.shape[1]):
            total = np.float32(0)
            for tree in range(question * each, (question + 1) * each):
                node = np.intp(root[tree])
                while node >= 0:
                    # Unsigned: without the look whether an offset counts from the end, a fifth of the time.
                    at = np.uintp(node)
                    node = np.intp(left[at]) if row[np.uintp(column[at])] <= threshold[at] else np.intp(right[at])
                total += leaf[np.uintp(~node)]
            out[number, question] = np.float32(1) / (np.float32(1) + np.exp(-total))


def warm_up() -> None:
    """Compile what evaluates trees."""
    zero = np.zeros(1, np.int16)
    trees = Trees(zero, np.zeros(1, np.float32), ~zero, ~zero, np.zeros(1, np.float32), zero)
    probabilities(trees, np.zeros((1, 1), np.float32))
