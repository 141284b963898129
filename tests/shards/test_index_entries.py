"""`index.entries`: a folder opens the same with it and without it, whatever becomes of it."""

import json
import os
import pickle
import shutil
import signal
import subprocess
import sys
from dataclasses import replace
from itertools import islice
from random import Random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import corpusmill
from corpusmill.errors import ShardError
from corpusmill.execute.serial import Serial
from corpusmill.loader import RowSource, TokenLoader
from corpusmill.loader.stages import StageLoader
from corpusmill.models.tokenizer import load
from corpusmill.ops import forget, verify
from corpusmill.shards import open_shards
from corpusmill.shards.entries import ENTRIES_FILE, MIN_SHARDS, entries_of, index_files, mapped_index
from corpusmill.shards.forgotten import erase
from corpusmill.shards.layout import ShardEntries, ShardEntry, ShardIndex
from corpusmill.shards.pack import UnitTokens
from corpusmill.shards.plan import plan_shards
from corpusmill.shards.writer import write_folder
from made_run import prose

MANY = 80  # shards, of two rows of 8 tokens
BETWEEN = 40  # a shard that opening does not look at


def made(folder, shards=MANY, first=0):
    lengths = np.array([5, 3, 8, 11, 5] * (shards // 2), np.int64)
    ids = (first + np.arange(lengths.sum())).astype(np.uint16)
    ids[np.cumsum(lengths) - 1] = load("gpt2").eos_id
    units = [UnitTokens(ids, lengths)]
    write_folder(folder, plan_shards([lengths], "concat", 8, 16, "keep"), units, load("gpt2"))
    return folder


@pytest.fixture(scope="module")
def sound(tmp_path_factory):
    return made(tmp_path_factory.mktemp("many") / "shards")


@pytest.fixture
def folder(sound, tmp_path):
    return shutil.copytree(sound, tmp_path / "shards")


def without(folder):
    (folder / ENTRIES_FILE).unlink()
    return folder


def first_batches(loader, count=30):
    return [{name: column.tolist() for name, column in batch.items()} for batch in islice(loader, count)]


@pytest.mark.parametrize("settings", [{}, {"seq_len": 21, "seed": 3}, {"rank": 1, "world": 3}, {"shuffle": False}])
def test_batches_and_states_are_the_same_with_and_without(sound, folder, settings):
    mapped, parsed = TokenLoader(sound, **settings), TokenLoader(without(folder), **settings)
    assert isinstance(mapped.shards[0].index.shards, ShardEntries)
    assert isinstance(parsed.shards[0].index.shards, tuple)
    assert mapped.shards[0].index == parsed.shards[0].index
    assert first_batches(mapped) == first_batches(parsed)
    assert mapped.state_dict() == parsed.state_dict()
    assert mapped.trace(7) == [piece._replace(source=str(sound)) for piece in parsed.trace(7)]
    if "seq_len" not in settings:
        assert [one._replace(source="") for one in mapped.served([3, 150])] == [
            one._replace(source="") for one in parsed.served([3, 150])
        ]


def test_shards_are_the_same_with_and_without(sound, folder):
    mapped, parsed = open_shards(sound), open_shards(without(folder))
    assert mapped.edges.tolist() == parsed.edges.tolist()
    assert len(mapped) == len(parsed)
    assert mapped.tokens(3, len(mapped) - 2).tolist() == parsed.tokens(3, len(parsed) - 2).tolist()
    assert [mapped.document_at(token) for token in range(0, len(mapped), 7)] == [
        parsed.document_at(token) for token in range(0, len(parsed), 7)
    ]
    assert mapped.index.to_bytes() == parsed.index.to_bytes() == (sound / "index.json").read_bytes()
    assert mapped.index.shards[-1] == parsed.index.shards[-1]
    assert mapped.index.shards[5:9] == parsed.index.shards[5:9]
    assert hash(mapped.index) == hash(parsed.index)
    with pytest.raises(IndexError):
        mapped.index.shards[MANY]
    assert RowSource(sound).fingerprint() == RowSource(folder).fingerprint()
    assert pickle.loads(pickle.dumps(mapped)).index == parsed.index


def test_few_shards_have_none(tmp_path):
    assert not (made(tmp_path / "few", MIN_SHARDS - 2) / ENTRIES_FILE).exists()
    assert (made(tmp_path / "enough", MIN_SHARDS) / ENTRIES_FILE).exists()


sums = st.binary(min_size=16, max_size=16).filter(any).map(bytes.hex)
entries = st.lists(
    st.tuples(*[st.integers(0, 1 << 40)] * 2, sums, sums, st.none() | sums).map(
        lambda drawn: ShardEntry(0, drawn[0] + 1, 0, 0, 1, drawn[1], 1, 0, *drawn[2:])
    ),
    max_size=9,
)


@settings(max_examples=50)
@given(entries)
def test_what_is_mapped_is_what_was_written(tmp_path_factory, sound, drawn):
    numbered = tuple(replace(entry, number=number) for number, entry in enumerate(drawn))
    index = replace(ShardIndex.read(sound / "index.json"), shards=numbered, packing="none", sequence_length=None)
    place = tmp_path_factory.mktemp("drawn")
    (place / "index.json").write_bytes(index.to_bytes())
    (place / ENTRIES_FILE).write_bytes(entries_of(index.to_bytes()))
    mapped = mapped_index(place)
    assert mapped == index
    assert list(mapped.shards) == [mapped.shards[at] for at in range(len(drawn))] == list(numbered)
    assert mapped.edges.tolist() == [sum(entry.tokens for entry in drawn[:at]) for at in range(len(drawn) + 1)]


@settings(max_examples=60)
@given(at=st.floats(0, 1, exclude_max=True), bit=st.integers(0, 7), cut=st.booleans())
def test_one_that_is_damaged_is_not_used(sound, tmp_path_factory, at, bit, cut):
    content = bytearray((sound / ENTRIES_FILE).read_bytes())
    place = int(at * len(content))
    content[place] ^= 1 << bit
    folder = tmp_path_factory.mktemp("damaged")
    shutil.copy(sound / "index.json", folder)
    (folder / ENTRIES_FILE).write_bytes(content[:place] if cut else content)
    assert mapped_index(folder) is None


def test_a_changed_index_is_read_itself_and_checked(folder):
    index = json.loads((folder / "index.json").read_text())
    (folder / "index.json").write_text(json.dumps(index | {"tokenizer": "another"}))
    assert open_shards(folder).index.tokenizer == "another"
    (folder / "index.json").write_text(json.dumps(index | {"eos_id": -1}))
    with pytest.raises(ShardError, match="eos_id must be a whole number"):
        open_shards(folder)


def test_a_checksum_that_the_records_cannot_hold_leaves_the_index_alone(sound):
    index = ShardIndex.read(sound / "index.json")
    for unlike in ("", "no", index.shards[0].spans_xxh3_128.upper(), "0" * 32):
        changed = (replace(index.shards[0], table_xxh3_128=unlike), *index.shards[1:])
        assert list(index_files(replace(index, shards=changed))) == ["index.json"]


def test_verify_says_what_is_wrong_with_it(folder, tmp_path):
    assert open_shards(folder).verify() == []
    shutil.copy(made(tmp_path / "other", first=7) / ENTRIES_FILE, folder)
    (problem,) = open_shards(folder).verify()
    assert problem.startswith(f"{folder / ENTRIES_FILE}: does not say what index.json says")
    assert "Remove it" in problem
    (folder / ENTRIES_FILE).unlink()
    assert open_shards(folder).verify() == []


KILLED = """
import os, signal, sys
from pathlib import Path
from corpusmill.shards import forgotten
replace = forgotten._replace
def killed(path, content):
    replace(path, content)
    if path.name == sys.argv[2]:
        os.kill(os.getpid(), signal.SIGKILL)
forgotten._replace = killed
forgotten.erase(Path(sys.argv[1]), [3, 150])
"""


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="needs kill -9")
@pytest.mark.parametrize("after", [ENTRIES_FILE, "index.json"])
def test_forgetting_that_is_killed_around_the_two_writes_leaves_shards_that_are_read(folder, after):
    before = (folder / "index.json").read_bytes()
    done = subprocess.run([sys.executable, "-c", KILLED, str(folder), after], check=False)
    assert done.returncode == -signal.SIGKILL
    assert ((folder / "index.json").read_bytes() == before) == (after == ENTRIES_FILE)
    assert (mapped_index(folder) is None) == (after == ENTRIES_FILE)
    assert open_shards(folder).index == ShardIndex.read(folder / "index.json")
    killed = first_batches(TokenLoader(folder))
    erase(folder, [3, 150])
    shards = open_shards(folder)
    assert isinstance(shards.index.shards, ShardEntries)
    assert shards.verify() == []
    assert first_batches(TokenLoader(folder)) == killed


def test_shards_are_erased_in_an_older_folder(folder):
    assert ENTRIES_FILE in erase(without(folder), [3])
    assert open_shards(folder).verify() == []


def test_a_folder_without_its_index_is_not_finished(folder):
    (folder / "index.json").unlink()
    with pytest.raises(ShardError, match=r"has an index\.json, written last: did the run finish"):
        open_shards(folder)


@pytest.mark.parametrize("name", ["00000.bin", f"{MANY - 1:05d}.bin"])
def test_opening_misses_the_first_and_the_last(folder, name):
    (folder / name).unlink()
    with pytest.raises(ShardError, match=rf"{name}: No such file .*The index lists it; copy the shards again"):
        TokenLoader(folder)


@pytest.mark.parametrize("suffix", [".bin", ".idx"])
@pytest.mark.parametrize("prefetch", [0, 2])
def test_a_missing_file_is_named_before_the_second_batch(folder, suffix, prefetch):
    (folder / f"{BETWEEN:05d}{suffix}").unlink()
    batches = iter(TokenLoader(folder, shuffle=False, prefetch=prefetch))
    next(batches)
    with pytest.raises(ShardError, match=rf"00040\{suffix}: No such file .*The index lists it; copy the shards again"):
        next(batches)
    with pytest.raises(ShardError, match=rf"00040\{suffix}: is missing, and index.json lists it"):
        TokenLoader(folder).check()
    assert [problem.partition(":")[0] for problem in open_shards(folder).verify()][:1] == [
        str(folder / f"{BETWEEN:05d}{suffix}")
    ]


def test_what_a_mixture_or_a_later_stage_lacks_is_named_before_the_second_batch(sound, folder):
    (folder / f"{BETWEEN:05d}.bin").unlink()
    later = [
        {"name": "first", "tokens": 640, "shards": str(sound), "batch": 4},
        {"name": "later", "tokens": 640, "shards": str(folder), "batch": 4},
    ]
    for batches in (iter(StageLoader(later)), iter(TokenLoader({sound: 1000, folder: 1}, batch_size=1))):
        next(batches)
        with pytest.raises(ShardError, match=r"00040\.bin: No such file"):
            next(batches)


@pytest.mark.parametrize("change", [-2, 2])
def test_the_size_of_a_file_is_checked_when_it_is_first_used(folder, change):
    path = folder / f"{BETWEEN:05d}.bin"
    content = path.read_bytes()
    path.write_bytes(content[:change] if change < 0 else content + b"--")
    shards = open_shards(folder)
    shards.check_there()
    for use in (lambda: shards.mapped(BETWEEN), TokenLoader(folder).check, lambda: open_shards(folder, verify=True)):
        with pytest.raises(ShardError, match=rf"00040\.bin: .*{len(content) + change} bytes|00040.bin: XXH3-128 is"):
            use()


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="nothing is refused to an administrator")
def test_a_folder_that_may_not_be_listed_is_read(folder):
    folder.chmod(0o300)
    try:
        assert len(first_batches(TokenLoader(folder), 3)) == 3
    finally:
        folder.chmod(0o700)


def test_a_run_writes_it_and_forgetting_keeps_it_true(tmp_path):
    random = Random(3)
    records = [{"text": prose(random, 20), "url": f"https://site.example/{i}"} for i in range(70)]
    (tmp_path / "in.jsonl").write_text("".join(json.dumps(record) + "\n" for record in records))
    recipe = {
        "name": "many",
        "read": [{"jsonl": {"paths": str(tmp_path / "in.jsonl")}}],
        "steps": [{"tokenize/bpe": {"tokenizer": "gpt2"}}, {"pack/concat": {"length": 16}}],
        "write": [{"shards": {"tokens_per_shard": 16}}],
    }
    (tmp_path / "recipe.yaml").write_text(json.dumps(recipe))
    done = corpusmill.run(tmp_path / "recipe.yaml", folder=tmp_path / "run", executor=Serial())
    shards = open_shards(done.shards)
    assert isinstance(shards.index.shards, ShardEntries)
    assert shards.verify() == []
    gone = shards.provenance(5)["id"]
    told = forget.forget(done.folder, forget.find(done.folder, ids=[gone]))
    assert f"shards/{ENTRIES_FILE}" in told.changed
    again = open_shards(done.shards)
    assert isinstance(again.index.shards, ShardEntries)
    assert again.forgotten.tolist() == [5]
    assert not verify.verify_folder(done.shards).problems
    assert again.provenance(5)["url"] is None
