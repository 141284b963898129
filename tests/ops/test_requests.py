"""Requests of an object store, their prices, and shuffles that are refused before anything runs."""

import pytest

from corpusmill.errors import InputError
from corpusmill.ops.estimate.requests import Requests, Shuffle, check_shuffles, cost, prices, requests


def test_a_shuffle_above_the_bound_is_refused_and_the_setting_named():
    found = [Shuffle("exact", 1000, 10), Shuffle("minhash", 1000, 160)]
    check_shuffles(found, 170_000, 128)
    with pytest.raises(InputError, match=r"170,000 slices of 1,000 key files.*run.unit_mb=512.*--most-slices 170000"):
        check_shuffles(found, 50_000, 128)


def test_the_table_that_ships_and_one_of_the_user(tmp_path):
    assert set(prices(None)) == {"put", "get", "storage", "core"}
    table = tmp_path / "prices.csv"
    table.write_text("# ours\nitem,usd,per\nget,1,1000\ncore,0.5,\n", "utf-8")
    asked = requests({"pass-1": (10, 3, 0)}, [Shuffle("exact", 10, 2)], 0, 0)
    assert asked == Requests(put=10 * 5 + 4, get=30 + 40)
    assert cost(asked, 1e9, 2.0, prices(table)) == {"get": 0.07, "core": 1.0}


@pytest.mark.parametrize(
    "row", ["item,usd,per\nget,cheap,1", "item,usd,per\nbeer,1,1", "item,usd\n", "item,usd\nget,-1"]
)
def test_a_table_that_is_none_is_an_error_with_its_row(tmp_path, row):
    table = tmp_path / "prices.csv"
    table.write_text(row, "utf-8")
    with pytest.raises(InputError, match=r"prices.csv: (row 1|has no prices)"):
        prices(table)
    with pytest.raises(InputError, match="cannot be read"):
        prices(tmp_path / "none.csv")
