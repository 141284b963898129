"""Duplicates of all of a corpus from those of a sample: the range holds what is true as often as it says."""

import numpy as np
import pyarrow as pa
import pytest

from corpusmill.ops.estimate.sampled_copies import pieces_of
from corpusmill.ops.estimate.unseen import Range, both, duplicates, of_pieces
from corpusmill.read import FilePiece
from corpusmill.storage import FileInfo

LAWS = {
    "none": np.ones(50_000, int),
    "pairs": np.r_[np.ones(40_000, int), np.full(5000, 2)],
    "a tail": np.r_[np.ones(20_000, int), np.minimum(np.random.default_rng(0).zipf(2.3, 6000) + 1, 3000)],
    "geometric": np.r_[np.ones(20_000, int), np.random.default_rng(0).geometric(0.4, 8000) + 1],
    "giants": np.r_[np.ones(25_000, int), np.full(5000, 2), np.full(5, 1000)],
}


@pytest.mark.parametrize("law", LAWS)
def test_the_range_holds_the_truth_nine_times_of_ten(law):
    random = np.random.default_rng(7)
    sizes = LAWS[law]
    truth = 1 - len(sizes) / sizes.sum()
    held = 0
    for _ in range(12):
        found = random.binomial(sizes, 0.05)
        held += duplicates(found[found > 0], 0.05).within(truth)
    assert held >= 10


def test_of_everything_it_is_exact():
    assert duplicates(np.array([1, 1, 2, 4]), 1.0) == Range(0.5, 0.5, 0.5)
    assert duplicates(np.array([], int), 0.1).value == 0


def test_a_sample_without_a_pair_says_fewer_than_one_with_a_pair():
    single = np.ones(600, int)
    values = [duplicates(np.append(single, np.full(pairs, 2)), 0.3).value for pairs in range(3)]
    assert values[0] < values[1] < values[2] and values[0] < 0.005


def test_more_of_a_sample_says_more():
    random = np.random.default_rng(3)
    ranges = []
    for share in (0.02, 0.1, 0.3):
        found = random.binomial(LAWS["pairs"], share)
        ranges.append(duplicates(found[found > 0], share))
    widths = [one.high - one.low for one in ranges]
    assert widths[0] > widths[1] > widths[2]


def test_pieces_that_are_alike_say_more_than_pieces_that_differ():
    assert of_pieces([5, 5, 5, 5], 0.1) == (1.0, 1.0)
    low, high = of_pieces([1, 9, 8, 2], 0.1)
    assert low < 0.8 and high > 1.25 and of_pieces([3, 4], 1.0) == (1.0, 1.0)
    assert both((0.8, 1.0), (1.0, 1.25)) == pytest.approx((0.8, 1.25))


def of_rows(name, start):
    """A piece whose start says nothing of bytes, as a row group."""
    return FilePiece(FileInfo(name, name, 1000, ""), start, start + 1, 300)


def test_pieces_are_told_by_the_gaps_between_positions():
    file = pa.array(["a"] * 6 + ["b"] * 6)
    position = np.array([0, 10, 20, 5000, 5010, 5020] * 2)
    few = [of_rows(name, start) for name in "ab" for start in (0, 7)]
    assert pieces_of(file, position, few).max() == 11, "few pieces are cut evenly"
    many = pa.array([f"{i}" for i in range(8)]).take(pa.array(np.repeat(np.arange(8), 6)))
    found = pieces_of(many, np.tile(position[:6], 8), [of_rows(f"{i}", start) for i in range(8) for start in (0, 7)])
    assert found.tolist() == np.repeat(np.arange(16), 3).tolist()


def test_pieces_of_bytes_are_told_by_where_they_begin():
    """Even where two touch each other, and where one has no document."""
    files = [FileInfo(name, name, 5000, "") for name in "ab"]
    pieces = [FilePiece(file, start, start + 100, 100) for file in files for start in (1000, 1100, 2000, 4000)]
    file, position = pa.array(["b", "a", "a", "b", "a"]), np.array([4010, 1099, 1100, 1001, 4090])
    assert pieces_of(file, position, pieces).tolist() == [7, 0, 1, 4, 3]


def test_what_differs_between_far_places_alone_is_no_error_of_a_sample_of_all_places():
    rising, mixed = [*range(100)], [*np.random.default_rng(0).permutation(100).tolist()]
    (_, of_rising), (_, of_mixed) = of_pieces(rising, 0.1), of_pieces(mixed, 0.1)
    assert of_rising < 1.01 and of_mixed > 1.05
