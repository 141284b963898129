"""Arrays in an object store: only the blocks are fetched that hold the rows which are asked for."""

import json
import random
from itertools import count
from typing import Any

import fsspec
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

import corpusmill
from corpusmill import storage
from corpusmill.errors import InputError
from corpusmill.execute.serial import Serial
from corpusmill.steps.dedup import _sketches
from corpusmill.store import fetched_arrays, node_cache, unit_io
from corpusmill.store.arrays import map_arrays, write_arrays
from corpusmill.store.fetched_arrays import FetchedArrays
from corpusmill.store.node_cache import NodeCache

ROWS = 500
RECIPE = """
name: far
run: {{unit_mb: 1}}
read:
  - jsonl: {{paths: "{folder}/*.jsonl"}}
steps:
  - filter/gopher_quality: {{min_words: 5, min_stop_words: 0}}
  - dedup/exact
  - dedup/minhash: {{threshold: 0.6, keep: longest}}
  - dedup/line: {{max_count: 2}}
write: [jsonl]
"""


@pytest.fixture
def store(tmp_path, monkeypatch):
    """An object store; bytes of its files that are fetched in ranges, and as a whole."""
    monkeypatch.setenv("CORPUSMILL_NODE_CACHE", str(tmp_path / "cache"))
    fs = fsspec.filesystem("memory")
    fs.store.clear()
    yield "memory://bucket/run"
    fs.store.clear()


@pytest.fixture
def small(monkeypatch):
    monkeypatch.setattr(node_cache, "BLOCK", 64)
    monkeypatch.setattr(node_cache, "APART", 0)
    monkeypatch.setattr(fetched_arrays, "FIRST", 64)


@pytest.fixture
def fetched(monkeypatch):
    """(name, start, stop) of all ranges that are fetched."""
    ranges: list[tuple[str, int, int]] = []
    read = storage.read_ranges

    def noted(path, wanted):
        ranges.extend((path, *each) for each in wanted)
        return read(path, wanted)

    monkeypatch.setattr(storage, "read_ranges", noted)
    return ranges


def as_of_another_machine(cache, name):
    """What is written is not here afterwards."""
    storage.upload(cache.draft(name), name)
    cache.draft(name).unlink()


rows = st.lists(st.integers(0, ROWS - 1), max_size=8)
asked = st.lists(
    st.one_of(
        st.tuples(st.just("take"), st.sampled_from(["wide", "flat"]), rows),
        st.tuples(st.just("part"), st.sampled_from(["wide", "flat"]), rows.map(lambda own: sorted([*own, 0, 9][:2]))),
        st.tuples(st.just("all"), st.sampled_from(["wide", "flat", "none"]), st.just([])),
    ),
    max_size=6,
)


@pytest.mark.usefixtures("small")
def test_rows_are_those_of_the_file_and_no_block_is_fetched_twice(store, tmp_path, fetched):
    wide, flat = np.arange(ROWS * 7, dtype=np.uint16).reshape(ROWS, 7), np.arange(ROWS) * 3
    whole: dict[str, NDArray[Any]] = {"wide": wide, "none": np.empty((0, 3)), "flat": flat}
    write_arrays(tmp_path / "file", whole)
    size = (tmp_path / "file").stat().st_size
    numbers = count()

    @settings(max_examples=60, derandomize=True, deadline=None)
    @given(asked)
    def check(questions):
        name = f"{store}/{next(numbers)}.arrays"
        storage.upload(tmp_path / "file", name)
        cache = NodeCache.at(store)
        fetched.clear()
        for what, array, values in questions:
            blocks = cache.blocks(name)
            assert blocks is not None and blocks.size == size
            arrays = FetchedArrays(blocks)
            assert set(arrays) == set(whole) and all(arrays.rows(each) == len(whole[each]) for each in whole)
            if what == "take":
                arrays.will_need(array, np.array(sorted(values), np.int64))
                assert np.array_equal(arrays.take(array, np.array(values, np.int64)), whole[array][values])
            elif what == "part":
                arrays.will_read(array, *values)
                assert np.array_equal(arrays.part(array, *values), whole[array][slice(*values)])
            else:
                assert np.array_equal(arrays[array], whole[array])
        taken = [block for _, start, stop in fetched for block in range(start // 64, -(-stop // 64))]
        assert len(taken) == len(set(taken))
        assert all(start < stop <= size for _, start, stop in fetched)
        few = {at for _, array, values in questions for at in values}
        if all(what == "take" for what, *_ in questions):  # the head, and two blocks of a row at most
            assert len(taken) <= 8 + len(few) * 2 * 2

    check()


@pytest.mark.usefixtures("small")
def test_blocks_are_removed_like_files(store, tmp_path):
    write_arrays(tmp_path / "file", {"flat": np.arange(4_000)})
    for number in range(6):
        storage.upload(tmp_path / "file", f"{store}/{number}.arrays")
    cache = NodeCache(store, tmp_path / "small", limit=100_000)
    kept = []
    for number in range(6):
        arrays = FetchedArrays(cache.blocks(f"{store}/{number}.arrays"))
        assert arrays["flat"].sum() == 4_000 * 3_999 // 2
        kept.append(arrays)
    there = [*(tmp_path / "small/blocks").rglob("*.arrays")]
    assert 1 <= len(there) <= 3
    assert all(arrays.take("flat", np.array([3_999, 5])).tolist() == [3_999, 5] for arrays in kept)
    assert FetchedArrays(cache.blocks(f"{store}/0.arrays")).part("flat", 7, 9).tolist() == [7, 8]
    whole = cache.fetch(f"{store}/0.arrays")
    assert cache.blocks(f"{store}/0.arrays") is None
    assert map_arrays(whole)["flat"][-1] == 3_999
    with pytest.raises(InputError, match=r"bucket/run/9\.arrays: no such file"):
        cache.blocks(f"{store}/9.arrays")


def test_a_run_with_less_room_than_its_keys_writes_the_same_bytes(store, tmp_path, monkeypatch, fetched):
    draw = random.Random(5)
    words = [f"{a}{b}" for a in ("ba", "do", "ki", "lu", "me", "so") for b in ("nar", "pel", "tis", "vok", "zum")]
    texts = [" ".join(draw.choices(words, k=1200)) for _ in range(200)]
    texts += [" ".join([*text.split()[:-80], *draw.choices(words, k=80)]) for text in texts[:80]] + texts[:20]
    for number in range(10):
        lines = [json.dumps({"text": f"{text}\nRead more.\n"}) for text in texts[number::10]]
        (tmp_path / f"{number}.jsonl").write_text("\n".join(lines) + "\n")
    recipe = corpusmill.Recipe.parse(RECIPE.format(folder=tmp_path))
    here = corpusmill.run(recipe, folder=tmp_path / "run", executor=Serial())
    assert not fetched
    monkeypatch.setattr(unit_io, "CACHED", 0.0)
    monkeypatch.setattr(_sketches, "MANY_PARTITIONS", 1)
    monkeypatch.setattr(NodeCache, "upload", as_of_another_machine)
    there = corpusmill.run(recipe, folder=store, executor=Serial())
    of_keys = {path for path, *_ in fetched}
    assert len([path for path in of_keys if "/keys-minhash/" in path]) >= 2
    assert any("-shingles-" in path for path in of_keys)
    assert any("-sketches-" in path for path in of_keys)
    assert there.waterfall == here.waterfall
    assert (tmp_path / "run/output/jsonl").is_dir()
    for path in (tmp_path / "run/output").rglob("*"):
        if path.is_file():
            name = path.relative_to(tmp_path / "run").as_posix()
            assert storage.read_bytes(f"{store}/{name}") == path.read_bytes(), name
