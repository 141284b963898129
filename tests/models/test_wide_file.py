"""The tables of lid.wide are the same mapped, unpacked and made again; damage is noticed."""

import shutil

import numpy as np
import pytest

from corpusmill import assets
from corpusmill.models import table_cache, wide_file
from corpusmill.models.wide import LID_WIDE, WideModel


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setattr(table_cache, "cache_folder", lambda: tmp_path)
    return tmp_path


@pytest.fixture(scope="module")
def own():
    return wide_file.unpacked(assets.locate(LID_WIDE))


@pytest.fixture(scope="module")
def written(own, tmp_path_factory):
    folder = tmp_path_factory.mktemp("tables")
    table_cache.write(folder, own)
    return folder


def same(tables, others):
    return tables.keys() == others.keys() and all(
        np.array_equal(table, others[name]) and table.dtype == others[name].dtype for name, table in tables.items()
    )


def test_mapped_tables_are_those_of_the_file(own, written):
    tables = table_cache.read(written, wide_file.MAPPED_TABLES)
    assert same(tables, own)
    for name in wide_file.MAPPED_TABLES:
        assert not tables[name].flags.writeable  # all processes have the same pages
        assert not tables[name].flags.owndata
    for each in (tables, own):
        assert each["table"].ctypes.data % wide_file.ROW == 0


@pytest.mark.parametrize("damage", ["bit", "missing", "empty", "no sums"])
def test_damaged_tables_are_not_taken(damage, written, tmp_path):
    folder = tmp_path / "tables"
    shutil.copytree(written, folder)
    path = folder / ("sums.json" if damage == "no sums" else "states.npy")
    if damage == "bit":
        content = bytearray(path.read_bytes())
        content[-1000] ^= 1
        path.write_bytes(content)
    elif damage == "missing":
        path.unlink()
    else:
        path.write_bytes(b"")
    assert table_cache.read(folder, wide_file.MAPPED_TABLES) is None


def test_they_are_unpacked_once_and_again_if_they_are_damaged(folder, own, monkeypatch):
    times = []

    def unpacked(path):
        times.append(path)
        return own

    monkeypatch.setattr(wide_file, "unpacked", unpacked)
    path = assets.locate(LID_WIDE)
    assert same(wide_file.read_tables(path), own)
    (kept,) = folder.iterdir()
    assert same(wide_file.read_tables(path), own) and len(times) == 1
    (kept / "sums.json").write_text("{")
    assert same(wide_file.read_tables(path), own) and len(times) == 2
    assert list(folder.iterdir()) == [kept]


def test_without_a_folder_each_process_has_its_own(own, monkeypatch, tmp_path):
    path = assets.locate(LID_WIDE)
    monkeypatch.setattr(table_cache, "cache_folder", lambda: None)
    assert same(wide_file.read_tables(path), own)

    def full(folder, tables):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(table_cache, "cache_folder", lambda: tmp_path)
    monkeypatch.setattr(table_cache, "write", full)
    assert same(wide_file.read_tables(path), own)
    assert not list(tmp_path.iterdir())


def test_what_is_expected_of_a_class_is_a_misfit(own):
    """A class made from much text in a script of its own fits its texts; one made from stop words alone does not."""
    names = wide_file.read_card(assets.locate(LID_WIDE))["classes"]
    expected = dict(zip(names, own["expected"].tolist(), strict=True))
    assert expected["el"] < 0.5 < expected["ru"] < expected["en"] < expected["mww"]
    assert assets.load(LID_WIDE, WideModel.load)._model.expected.tolist() == own["expected"].tolist()
