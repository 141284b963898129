"""Streams for trainers: training and validation, where documents begin and end, against slow twins."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from corpusmill.errors import InputError, RecipeError
from corpusmill.export import export, formats
from corpusmill.export.streams import Llmc, NanoGPT, Numbered, Validation, leading, token_hashes, without_ends
from corpusmill.models.tokenizer import load
from corpusmill.shards.documents import DocumentRange
from corpusmill.shards.pack import UnitTokens
from corpusmill.shards.plan import plan_shards
from corpusmill.shards.writer import write_folder
from corpusmill.text.splitmix64 import GOLDEN, chance, mix64

EOS = 50_256
LENGTHS = st.lists(st.integers(1, 6), min_size=1, max_size=12)


def block(lengths, first=0, ended=True):
    ids = np.arange(sum(lengths), dtype=np.uint16)
    ends = np.cumsum(lengths) - 1
    ids[ends if ended else ends[:-1]] = EOS
    return DocumentRange(first, ids, np.array(lengths, np.int64))


def documents_of(part):
    return [ids.tolist() for ids in np.split(part.ids, np.cumsum(part.lengths)[:-1])]


@settings(max_examples=40, deadline=None)
@given(LENGTHS, st.booleans())
def test_documents_without_their_ends(lengths, ended):
    part = block(lengths, ended=ended)
    got = documents_of(without_ends(part, EOS))
    assert got == [ids[:-1] if ids[-1] == EOS else ids for ids in documents_of(part)]


@settings(max_examples=40, deadline=None)
@given(LENGTHS, st.booleans())
def test_documents_with_their_divider_first(lengths, ended):
    part = block(lengths, ended=ended)
    bare = documents_of(without_ends(part, EOS))
    assert documents_of(leading(part, EOS, None)) == [[EOS, *ids] for ids in bare]
    assert documents_of(leading(part, EOS, 7)) == bare  # they begin with their BOS already


@settings(max_examples=40, deadline=None)
@given(st.lists(LENGTHS, min_size=1, max_size=3), st.integers(0, 60))
def test_the_first_tokens_are_for_validation(blocks, tokens):
    parts, first = [], 0
    for lengths in blocks:
        parts.append(block(lengths, first))
        first += len(lengths)
    split = list(Validation(0.5, tokens).split(iter(parts)))
    stream = [token for part in parts for token in part.ids.tolist()]
    val, train = ([t for part in split if part.split == name for t in part.ids.tolist()] for name in ("val", "train"))
    assert val == stream[:tokens] and train == stream[tokens:]
    assert sum(part.begun for part in split) == first


@settings(max_examples=40, deadline=None)
@given(LENGTHS, st.floats(0, 0.99))
def test_a_share_of_documents_is_for_validation_by_their_tokens(lengths, fraction):
    part = block(lengths, first=1000)
    split: dict[str, list[Any]] = {name: [] for name in ("train", "val")}
    for piece in Validation(fraction).split(iter([part])):
        split[piece.split] += piece.ids.tolist()
    kept_back = [chance(np.array([token_hash(ids)], np.uint64))[0] < fraction for ids in documents_of(part)]
    for name, value in (("train", False), ("val", True)):
        documents = [ids for ids, drawn in zip(documents_of(part), kept_back) if drawn == value]
        assert split[name] == [token for ids in documents for token in ids]


def token_hash(ids):
    """One token after the other: what `token_hashes` computes for many documents at once."""
    places = [(token + (place + 1) * GOLDEN) % 2**64 for place, token in enumerate(ids)]
    return sum(mix64(np.array(places, np.uint64)).tolist()) % 2**64


@given(st.lists(st.lists(st.integers(0, 60_000), min_size=1, max_size=6), min_size=1, max_size=8), st.randoms())
def test_copies_are_on_one_side_and_none_changes_sides_when_others_are_added(documents, random):
    def sides(order):
        lengths = np.array([len(documents[n]) for n in order], np.int64)
        ids = np.array([token for n in order for token in documents[n]], np.uint16)
        kept_back = chance(token_hashes(DocumentRange(0, ids, lengths))) < 0.5
        return dict(zip(order, kept_back.tolist()))

    before = sides(range(len(documents)))
    documents = [*documents, *documents, [7]]
    order = list(range(len(documents)))
    random.shuffle(order)
    after = sides(order)
    assert all(after[n] == after[n + len(before)] == side for n, side in before.items())


def test_chance_is_even_and_depends_on_the_number_alone():
    drawn = chance(np.arange(20_000, dtype=np.uint64))
    assert (drawn >= 0).all() and (drawn < 1).all() and abs(drawn.mean() - 0.5) < 0.01
    assert drawn[7] == chance(np.array([7], np.uint64))[0]


@settings(max_examples=20, deadline=None)
@given(st.lists(st.integers(0, 9), max_size=5), st.integers(1, 7))
def test_numbered_files_are_of_one_size_whatever_is_written_at_a_time(tmp_path_factory, sizes, size):
    folder = tmp_path_factory.mktemp("files")
    file = Numbered(folder, "train", np.dtype("<u2"), size)
    written: list[int] = []
    for count in sizes:
        ids = np.arange(len(written), len(written) + count)
        written += ids.tolist()
        file.write(ids)
    file.close()
    got = []
    for path in sorted(folder.iterdir()):
        head = np.fromfile(path, "<i4", 256)
        ids = np.fromfile(path, "<u2", offset=1024)
        assert head[:3].tolist() == [20240520, 1, len(ids)] and 0 < len(ids) <= size
        got += ids.tolist()
    assert got == written and file.total == len(written)


@pytest.fixture(scope="module")
def shards(tmp_path_factory):
    folder, lengths = tmp_path_factory.mktemp("shards"), [5, 1, 14, 3, 9, 2, 40, 6]
    ids = np.arange(sum(lengths), dtype=np.uint16)
    ids[np.cumsum(lengths) - 1] = EOS
    units = [UnitTokens(ids, np.array(lengths, np.int64))]
    write_folder(folder / "s", plan_shards([units[0].lengths], "best_fit", 16, 32), units, load("gpt2"))
    return folder / "s", ids


def test_nanogpt_is_the_stream_without_padding(shards, tmp_path):
    folder, ids = shards
    done = export(folder, "nanogpt", tmp_path / "out", val_tokens=20)
    assert np.fromfile(tmp_path / "out" / "val.bin", "<u2").tolist() == ids[:20].tolist()
    assert np.fromfile(tmp_path / "out" / "train.bin", "<u2").tolist() == ids[20:].tolist()
    assert (done.documents, done.tokens, done.files) == (8, 80, 2)
    assert (tmp_path / "out" / ".SHA256SUMS").exists()


def test_an_export_says_how_far_it_is(shards, tmp_path):
    calls = []
    export(
        shards[0], "llmc", tmp_path / "out", val_fraction=0, progress=lambda done, total: calls.append((done, total))
    )
    assert calls[-1] == (80, 80) and calls == sorted(calls)
    assert sorted(path.name for path in (tmp_path / "out").glob("*.bin")) == ["train_000000.bin"]


def test_arguments_in_another_order_and_a_recipe_instead_of_a_run_are_told(tmp_path):
    with pytest.raises(InputError, match="the run comes first, then the format: corpusmill export runs/a megatron out"):
        export("megatron", "runs/a", "out")
    (tmp_path / "web.yaml").touch()
    with pytest.raises(InputError, match=r"this is a file\. Name the folder of a run"):
        export(tmp_path / "web.yaml", "megatron", tmp_path / "out")


@pytest.mark.parametrize(
    ("format", "settings", "message"),
    [
        ("nanogtp", {}, 'there is no format "nanogtp" to export; did you mean "nanogpt"? There are: '),
        ("nanogpt", {"val_fraction": 1.0}, "val_fraction is a share from 0 to less than 1, got 1.0"),
        ("nanogpt", {"val_fraction": -0.1}, "val_fraction is a share"),
        ("nanogpt", {"val_tokens": -1}, "val_tokens is a number of tokens, got -1"),
        ("megatron", {"val_tokens": 3}, "megatron takes no val_tokens, which is for nanogpt, llmc"),
        ("nanogpt", {"val_tokens": 80}, "with val_tokens 80 nothing is left for train.bin"),
        ("nanogpt", {"val_fraction": 1e-9}, "none of 8 documents goes to val.bin, and an empty file cannot be mapped"),
        ("llmc", {"val_fraction": 1e-9}, "goes to val_000000.bin, and a trainer needs both"),
    ],
)
def test_what_cannot_be_exported_says_why(shards, tmp_path, format, settings, message):
    with pytest.raises(InputError) as error:
        export(shards[0], format, tmp_path / "out", **settings)
    assert message in str(error.value)
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("format", "settings", "message"),
    [
        ("nanogpt", {"eso": True}, 'nanogpt has no parameter "eso"; did you mean "eos"? it takes: eos'),
        ("llmc", {"tokens_per_shard": 0}, "need tokens_per_shard from 1 to"),
        ("nanochat", {"mb_per_file": 0}, "need mb_per_file from 1 to 1000, got 0"),
    ],
)
def test_wrong_settings_of_a_format_are_refused(shards, tmp_path, format, settings, message):
    with pytest.raises(RecipeError) as error:
        export(shards[0], format, tmp_path / "out", **settings)
    assert message in str(error.value)


def test_a_folder_with_something_in_it_is_left_alone(shards, tmp_path):
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "notes").touch()
    with pytest.raises(InputError, match="there is something already"):
        export(shards[0], "nanogpt", tmp_path / "out")
    (tmp_path / ".other.part").mkdir()
    (tmp_path / ".other.part" / "notes").touch()
    with pytest.raises(InputError, match="what is there is not an export's"):
        export(shards[0], "nanogpt", tmp_path / "other")


def test_an_export_that_was_killed_begins_again(shards, tmp_path):
    part = tmp_path / ".out.part"
    part.mkdir()
    (part / ".corpusmill-export").touch()
    (part / "train.bin").write_bytes(b"half")
    export(shards[0], "nanogpt", tmp_path / "out", val_tokens=20)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["out"]


def test_formats_are_known_by_name():
    assert {"nanogpt", "llmc", "nanochat", "argilla", "label_studio", "megatron"} <= set(formats())
    assert "shards" not in formats() and formats() == sorted(formats())
    assert NanoGPT().eos and Llmc().tokens_per_shard == 100_000_000
