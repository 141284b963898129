"""The page on a month of a crawl shows what its script reckons; and the simulation of failures adds up."""

import importlib.util
from pathlib import Path

import pytest

from benchmarks.simulate.scheduler import Cluster, simulate

ROOT = Path(__file__).parents[1]


def test_the_page_is_made_from_the_unit_costs():
    spec = importlib.util.spec_from_file_location("make_at_scale", ROOT / "docs" / "make_at_scale.py")
    assert spec and spec.loader
    made = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(made)
    text = made.PAGE.read_text("utf-8")
    assert made.page(text) == text, "run python docs/make_at_scale.py"


def test_without_failures_equal_units_take_their_rounds():
    done = simulate([2.0] * 10, Cluster(4))
    assert (done.makespan, done.useful, done.wasted, done.doubled) == (6.0, 20.0, 0.0, 0)
    assert done.efficiency == pytest.approx(20 / 24)


def test_every_unit_is_done_once_whatever_dies_and_the_same_by_seed():
    cluster = Cluster(20, mean_life=50.0, lease=30.0, back=5.0, notice=0.3, slow=0.1, steal=True)
    one = simulate([3.0] * 500, cluster, seed=4)
    assert one == simulate([3.0] * 500, cluster, seed=4) != simulate([3.0] * 500, cluster, seed=5)
    assert one.ends > 0 and one.wasted > 0 and one.useful >= 1500


def test_a_longer_lease_only_costs_time():
    short, long = (simulate([5.0] * 200, Cluster(10, 100.0, lease=lease), seed=2) for lease in (10.0, 1000.0))
    assert short.makespan < long.makespan and short.useful == long.useful


def test_slow_workers_are_overtaken():
    slow = Cluster(10, slow=0.3, slower=50)
    stolen = Cluster(10, slow=0.3, slower=50, steal=True)
    assert simulate([1.0] * 100, stolen, seed=3).makespan < simulate([1.0] * 100, slow, seed=3).makespan
