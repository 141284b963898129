"""A run's folder is a place: what a run writes is the same on a local disk and in an object store."""

import json
import re
import shutil
from pathlib import Path

import fsspec
import pytest

import corpusmill
from corpusmill.errors import InputError, ResumeError
from corpusmill.execute.processes import Processes
from corpusmill.execute.serial import Serial
from corpusmill.report.run_files import RunFiles
from corpusmill.store.locks import only_driver
from corpusmill.store.node_cache import NodeCache
from corpusmill.store.restart import remove_all
from corpusmill.store.run_folder import RunFolder
from shared_store import SharedRun

RECIPE = """
name: places
read:
  - jsonl: {{paths: "{folder}/*.jsonl"}}
steps:
  - clean/normalize
  - filter/gopher_quality: {{min_words: 5, min_stop_words: 0}}
  - dedup/exact
  - dedup/minhash
  - dedup/line
  - tokenize/bpe: {{tokenizer: gpt2}}
  - pack/concat: {{length: 32}}
write: [jsonl, parquet, shards, parquet_tokens]
"""


@pytest.fixture
def recipe(tmp_path):
    for name in ("one", "two"):
        rows = ({"text": f"The {name} text of number {i % 7} is {'long and ' * (i % 5)} plain."} for i in range(40))
        (tmp_path / f"{name}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    return corpusmill.Recipe.parse(RECIPE.format(folder=tmp_path))


@pytest.fixture
def store(tmp_path, monkeypatch):
    """An object store, and this machine's cache of its files."""
    monkeypatch.setenv("CORPUSMILL_NODE_CACHE", str(tmp_path / "cache"))
    fs = fsspec.filesystem("memory")
    fs.store.clear()
    yield "memory://bucket/run"
    fs.store.clear()


def local_output(folder: Path) -> dict[str, bytes]:
    files = [path for path in (folder / "output").rglob("*") if path.is_file()]
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in files}


def remote_output(place: str) -> dict[str, bytes]:
    fs = fsspec.filesystem("memory")
    root = place.removeprefix("memory:/")
    return {name.removeprefix(f"{root}/"): fs.cat_file(name) for name in fs.find(f"{root}/output")}


def test_a_run_in_an_object_store_writes_the_same_bytes(recipe, store, tmp_path):
    here = corpusmill.run(recipe, folder=tmp_path / "run", executor=Serial())
    there = corpusmill.run(recipe, folder=store, executor=Serial())
    assert there.waterfall == here.waterfall
    assert remote_output(store) == local_output(here.folder)
    assert {checked.format for checked in there.checked} == {"shards", "parquet", "jsonl"}
    fs = fsspec.filesystem("memory")
    pages = [fs.cat_file("/bucket/run/report.html"), Path(here.report).read_bytes()]
    there_page, here_page = (re.sub(b'<p id="run".*?</p>|<section id="time">.*?</section>', b"", p) for p in pages)
    assert there_page == here_page and there_page not in pages


def test_it_is_resumed_there_and_looked_at_from_elsewhere(recipe, store, tmp_path, monkeypatch):
    corpusmill.run(recipe, folder=store, executor=Serial())
    again = corpusmill.run(recipe, folder=store, executor=Serial())
    assert not any(counts.done_now for counts in again.units.values())
    monkeypatch.setenv("CORPUSMILL_NODE_CACHE", str(tmp_path / "another machine"))
    files = RunFiles(store)
    assert files.unfinished() is None
    assert all(Path(path).exists() for path in files.paths("signals", 0))
    with pytest.raises(InputError, match="needs a run on a local disk"):
        _ = again.folder


def test_a_killed_run_leaves_nothing_half_there(recipe, store):
    """What was uploaded and not committed does not count, and the run is carried on from what was committed."""
    corpusmill.run(recipe, folder=store, executor=Serial())
    whole = remote_output(store)
    fs = fsspec.filesystem("memory")
    for name in list(fs.find("/bucket/run")):
        if "/results/" in name or ("/pass-2-" in name and "/commits/" in name):
            fs.rm_file(name)
    again = corpusmill.run(recipe, folder=store, executor=Serial())
    assert again.units["pass-1"].done_now == 0 and again.units["pass-2"].done_now > 0
    assert remote_output(store) == whole


def test_a_damaged_copy_on_this_machine_is_fetched_again_and_a_damaged_file_made_again(recipe, store, tmp_path):
    corpusmill.run(recipe, folder=store, executor=Serial())
    whole = remote_output(store)
    fs = fsspec.filesystem("memory")

    def run_without(stage):
        for name in fs.find("/bucket/run"):
            if f"/{stage}-" in name or "/output/" in name:
                fs.rm_file(name)
        done = corpusmill.run(recipe, folder=store, executor=Serial())
        assert remote_output(store) == whole
        return {name: counts.done_now for name, counts in done.units.items() if counts.done_now}, done.damaged

    (cached,) = (tmp_path / "cache").glob("files/*/stages/tokens-*/tokens/*")
    cached.write_bytes(bytes(cached.stat().st_size))
    assert run_without("shards") == ({"shards": 1}, ())
    (name,) = (name for name in fs.find("/bucket/run") if "/tokens/" in name)
    fs.pipe_file(name, bytes(fs.size(name)))
    shutil.rmtree(tmp_path / "cache")
    done, (damaged,) = run_without("shards")
    assert done == {"shards": 1, "tokens": 1} and name in damaged


def test_the_recipe_may_name_it(recipe, store):
    named = corpusmill.Recipe.parse(recipe.dump(), overrides=[f"run.folder={store}"])
    assert named.folder == store
    assert corpusmill.run(named, executor=Serial()).place == store


def test_the_cache_of_a_machine_is_bounded(store, tmp_path):
    fs = fsspec.filesystem("memory")
    for number in range(4):
        fs.pipe_file(f"/bucket/run/{number}.bin", bytes(100))
    cache = NodeCache(store, tmp_path / "small", limit=250)
    paths = [cache.fetch(f"{store}/{number}.bin") for number in range(4)]
    assert [path.exists() for path in paths] == [False, False, True, True]
    assert cache.fetch(f"{store}/0.bin").stat().st_size == 100
    assert not list((tmp_path / "small" / "drafts").rglob("*"))


def test_what_is_not_a_run_is_not_removed(tmp_path):
    (tmp_path / "mine.txt").write_text("mine")
    with pytest.raises(ResumeError, match="this folder is not a run's"):
        remove_all(RunFolder(str(tmp_path)))
    assert (tmp_path / "mine.txt").exists()


def test_one_driver_at_a_time(recipe, tmp_path):
    run = RunFolder(str(tmp_path / "run"))
    run.make()
    with only_driver(run), pytest.raises(ResumeError, match=r"another process .* is at work in this folder"):
        corpusmill.run(recipe, folder=run.place, executor=Serial())


def test_what_a_killed_driver_was_writing_goes_with_the_next_run(recipe, tmp_path):
    run = corpusmill.run(recipe, folder=tmp_path / "run", executor=Serial()).folder
    before = sorted(run.rglob("*"))
    for folder in (run, run / "output", *run.glob("stages/*/commits")):
        (folder / f".writing-{'0' * 32}-some.json").write_text("{")
    corpusmill.run(recipe, folder=run, executor=Serial())
    assert sorted(run.rglob("*")) == before


@pytest.mark.parametrize("place", ["runs/x", "./runs/x", "~/runs/x", "file:///tmp/x"])
def test_names_of_local_places(place, monkeypatch):
    monkeypatch.setenv("HOME", "/home/someone")
    run = RunFolder(place)
    assert run.is_local and run.name_of("run.json") == str(run.path / "run.json")
    assert run.file("/elsewhere/keys.arrays") == Path("/elsewhere/keys.arrays")


def test_workers_reach_an_object_store(recipe, tmp_path, monkeypatch):
    """By processes, which share nothing but the store: here a folder behind a file system that is not local."""
    monkeypatch.setenv("CORPUSMILL_NODE_CACHE", str(tmp_path / "cache"))
    here = corpusmill.run(recipe, folder=tmp_path / "run", executor=Serial())
    executor = Processes(2, preload=("corpusmill.engine.preload",))
    corpusmill.run(recipe, folder=SharedRun(f"shared://{tmp_path}/store"), executor=executor)
    assert local_output(tmp_path / "store") == local_output(here.folder)
