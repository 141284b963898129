"""What a run writes in other formats, what is exported from its shards, and what verify says of both."""

import json
import shutil
import struct
import sys
from hashlib import sha256
from itertools import pairwise
from pathlib import Path
from random import Random

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import zstandard

from corpusmill import Recipe, run
from corpusmill.errors import InputError, MissingExtraError, RecipeError
from corpusmill.execute.serial import Serial
from corpusmill.export import export, formats
from corpusmill.export.streams import token_hashes
from corpusmill.models.tokenizer import load
from corpusmill.ops.verify import verify, verify_folder, verify_place
from corpusmill.shards.documents import DocumentRange
from corpusmill.store.run_folder import RunFolder
from corpusmill.text.splitmix64 import chance
from made_run import prose

RECIPE = """
name: outputs
read: [jsonl: {folder}/*.jsonl]
steps: [tokenize/bpe, pack/{packing}: {{length: 64}}]
write:
  - shards: {{tokens_per_shard: 1000}}
  - megatron: {{tokens_per_shard: 1000}}
  - parquet_tokens: {{tokens_per_shard: 1000}}
  - jsonl: {{single_file: true}}
  - parquet
"""


def recipe(folder, packing):
    return Recipe.parse(RECIPE.format(folder=folder, packing=packing))


@pytest.fixture(scope="module", params=["concat", "best_fit"])
def done(request, tmp_path_factory):
    """A run with shards of several files, documents longer than a row, and two units of work."""
    folder, random = tmp_path_factory.mktemp("outputs"), Random(3)
    for name in "ab":
        lines = [json.dumps({"text": prose(random, random.choice([5, 40, 300]))}) for _ in range(25)]
        (folder / f"{name}.jsonl").write_text("\n".join(lines) + "\n")
    return run(recipe(folder, request.param), folder=folder / "run", executor=Serial())


def expected(done):
    """Ids of every kept document, with EOS: from its text, by the reference tokenizer."""
    reference = load("gpt2", engine="tokenizers")
    tables = [pq.read_table(path) for path in sorted((done.output / "parquet").glob("*.parquet"))]
    ids = []
    for text in (text for table in tables for text in table["text"].to_pylist()):
        found, lengths = reference.encode_documents(pa.array([text], pa.large_string()))
        assert lengths.tolist() == [len(found)]
        ids.append(found.tolist())
    return ids


def megatron(folder):
    """Documents by the letter of the format."""
    found = []
    for path in sorted(folder.glob("*.idx")):
        data, ids = path.read_bytes(), path.with_suffix(".bin").read_bytes()
        (count,) = struct.unpack_from("<Q", data, 18)
        lengths = struct.unpack_from(f"<{count}i", data, 34)
        pointers = struct.unpack_from(f"<{count}q", data, 34 + 4 * count)
        found.append([list(struct.unpack_from(f"<{n}H", ids, at)) for n, at in zip(lengths, pointers)])
    return found


def contents(folder):
    return {path.relative_to(folder): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_megatron_has_every_document_whole_where_it_starts(done):
    files = megatron(done.output / "megatron")
    assert [document for file in files for document in file] == expected(done)
    starts = np.cumsum([0, *(len(document) for file in files for document in file)])
    first = np.cumsum([0, *map(len, files)])
    assert len(files) > 3
    for a, b in pairwise(first.tolist()):
        assert len({int(start) // 1000 for start in starts[a:b]}) == 1


@pytest.mark.parametrize("format", ["megatron", "parquet_tokens"])
def test_an_export_is_what_the_run_would_have_written(done, tmp_path, format):
    settings = {"tokens_per_shard": 1000} if format == "megatron" else {}
    told = []
    made = export(done.folder, format, tmp_path / "out", progress=lambda *place: told.append(place), **settings)
    assert contents(tmp_path / "out") == contents(done.output / format)
    assert made.files == len(contents(tmp_path / "out")) - 1
    assert made.bytes == sum(len(data) for path, data in contents(made.folder).items() if path.name != ".SHA256SUMS")
    done_at_last, whole = told[-1]
    assert len(told) > 1 and done_at_last == whole == made.tokens


def test_rows_can_be_cut_again(done, tmp_path):
    export(done.shards, "parquet_tokens", tmp_path / "out", tokens_per_shard=200)
    tables = [pq.read_table(path) for path in sorted((tmp_path / "out").glob("*.parquet"))]
    assert {len(table) for table in tables[:-1]} == {3}  # rows of 64 in 200
    before = [pq.read_table(path) for path in sorted((done.output / "parquet_tokens").glob("*.parquet"))]
    assert [r for t in tables for r in t.to_pylist()] == [r for t in before for r in t.to_pylist()]


def test_text_is_exported_as_the_run_writes_it(done, tmp_path):
    made = export(done.folder, "jsonl", tmp_path / "one", single_file=True)
    assert contents(made.folder) == contents(done.output / "jsonl")
    (path,) = (done.output / "jsonl").glob("*.zst")
    lines = zstandard.ZstdDecompressor().stream_reader(path.read_bytes()).read().decode().splitlines()
    assert made.documents == len(lines) == len(expected(done))
    assert contents(export(done.folder, "parquet", tmp_path / "many").folder) == contents(done.output / "parquet")


@pytest.mark.parametrize("fraction", [0.0, 0.3])
def test_nanogpt_has_every_document_in_one_of_two_files(done, tmp_path, fraction):
    made = export(done.folder, "nanogpt", tmp_path / "out", val_fraction=fraction)
    documents = expected(done)
    blocks = (DocumentRange(0, np.array(ids, np.uint16), np.array([len(ids)])) for ids in documents)
    val = np.array([chance(token_hashes(block))[0] < fraction for block in blocks])
    for name, wanted in (("train.bin", ~val), ("val.bin", val)):
        if wanted.any():
            found = np.memmap(tmp_path / "out" / name, np.uint16, "r").tolist()
            assert found == [token for document, here in zip(documents, wanted) if here for token in document]
        else:
            assert not (tmp_path / "out" / name).exists()
    assert (made.documents, made.tokens) == (len(documents), sum(map(len, documents)))


def test_chance_is_even_and_depends_on_the_number_alone():
    found = chance(np.arange(20_000, dtype=np.uint64))
    assert np.histogram(found, 10, (0, 1))[0].tolist() == pytest.approx([2000] * 10, abs=200)
    assert chance(np.array([7], np.uint64)) == found[7]


def test_a_val_file_that_would_be_empty_is_refused(done, tmp_path):
    with pytest.raises(InputError, match=r"none of \d+ documents goes to val.bin"):
        export(done.folder, "nanogpt", tmp_path / "out", val_fraction=1e-9)
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("format", "settings", "error", "said"),
    [
        ("megatorn", {}, InputError, 'no format "megatorn" to export; did you mean "megatron"'),
        ("shards", {}, InputError, "no format"),
        ("nanogpt", {"val_fraction": 1.0}, InputError, "val_fraction"),
        ("megatron", {"tokens_per_shard": 0}, RecipeError, "tokens_per_shard >= 1"),
        ("megatron", {"single_file": True}, RecipeError, "single_file"),
    ],
)
def test_a_mistake_is_reported_before_anything_is_written(done, tmp_path, format, settings, error, said):
    with pytest.raises(error, match=said):
        export(done.folder, format, tmp_path / "out", **settings)
    assert not list(tmp_path.iterdir())


def test_nothing_is_written_over(done, tmp_path):
    (tmp_path / "mine").write_text("my own")
    with pytest.raises(InputError, match="there is something already"):
        export(done.folder, "megatron", tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["mine"]


def test_what_an_export_that_was_killed_left_is_removed_by_the_next(done, tmp_path):
    (tmp_path / ".out.part").mkdir()
    (tmp_path / ".out.part" / "torn.bin").write_bytes(b"x")
    (tmp_path / ".out.part" / ".corpusmill-export").touch()
    (tmp_path / "out").mkdir()
    export(done.folder, "nanogpt", tmp_path / "out", val_fraction=0.0)
    assert sorted(path.name for path in tmp_path.rglob("*")) == [".SHA256SUMS", "out", "train.bin"]


def test_a_run_without_shards_is_told_how_to_get_them(done, tmp_path):
    shutil.copytree(done.folder, tmp_path / "run")
    shutil.rmtree(tmp_path / "run" / "output" / "shards")
    with pytest.raises(InputError, match="Add `shards` to what its recipe writes"):
        export(tmp_path / "run", "megatron", tmp_path / "out")
    with pytest.raises(InputError, match="not a run folder"):
        export(done.shards, "jsonl", tmp_path / "out")


# ------------------------------------------------------------------- libraries that are not installed


@pytest.mark.parametrize("format", ["mds", "litdata"])
def test_a_missing_library_is_named_with_its_extra(done, tmp_path, monkeypatch, format):
    for module in ("streaming", "litdata", "litdata.streaming.item_loader"):
        monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(MissingExtraError, match=rf"corpusmill\[{format}\]"):
        export(done.folder, format, tmp_path / "out")
    (tmp_path / "d.jsonl").write_text('{"text": "one two"}\n')
    text = f"read: [jsonl: {tmp_path}/d.jsonl]\nsteps: [tokenize/bpe, pack/concat: {{length: 8}}]\nwrite: [{format}]"
    with pytest.raises(MissingExtraError, match=rf"corpusmill\[{format}\]"):
        run(Recipe.parse(text), folder=tmp_path / "run", executor=Serial())
    assert not (tmp_path / "run").exists() and not (tmp_path / "out").exists()


def test_tokens_need_a_tokenizer_and_no_packing(tmp_path):
    (tmp_path / "d.jsonl").write_text('{"text": "one two"}\n')
    text = "read: [jsonl: {0}/d.jsonl]\nsteps: [clean/normalize{1}]\nwrite: [megatron]"
    with pytest.raises(RecipeError, match=r"megatron writes tokens, and no step makes them; add tokenize/bpe"):
        run(Recipe.parse(text.format(tmp_path, "")), folder=tmp_path / "run", executor=Serial())
    done = run(Recipe.parse(text.format(tmp_path, ", tokenize/bpe")), folder=tmp_path / "run", executor=Serial())
    assert megatron(done.output / "megatron") == [[[505, 734, 50256]]]


# ------------------------------------------------------------------- verify


def test_everything_that_a_run_wrote_is_as_it_was_written(done):
    checked = {found.folder.name: found for found in verify(RunFolder(str(done.folder)))}
    assert {name: found.problems for name, found in checked.items()} == dict.fromkeys(checked, ())
    assert set(checked) == {"shards", "megatron", "parquet_tokens", "jsonl", "parquet"}
    assert checked["megatron"].tokens == sum(map(len, expected(done)))
    assert checked["shards"].tokens == checked["parquet_tokens"].tokens
    assert checked["megatron"].bytes == sum(path.stat().st_size for path in done.output.glob("megatron/0*"))


def test_checksums_are_those_of_sha256sum(done):
    for line in (done.output / "megatron" / ".SHA256SUMS").read_text().splitlines():
        digest, name = line.split("  ")
        assert digest == sha256((done.output / "megatron" / name).read_bytes()).hexdigest()


DAMAGE = {
    "cut": lambda path: path.write_bytes(path.read_bytes()[:-1]),
    "changed": lambda path: path.write_bytes(path.read_bytes()[:50] + b"\0\xff" + path.read_bytes()[52:]),
    "gone": Path.unlink,
}


@pytest.mark.parametrize("damage", DAMAGE)
@pytest.mark.parametrize("format", ["megatron", "parquet_tokens", "jsonl", "parquet", "nanogpt"])
def test_damage_is_reported_with_the_file(done, tmp_path, corpusmill, format, damage):
    folder = tmp_path / "copy"
    if format == "nanogpt":
        export(done.folder, "nanogpt", folder, val_fraction=0.2)
    else:
        shutil.copytree(done.output / format, folder)
    path = sorted(path for path in folder.iterdir() if path.name != ".SHA256SUMS")[-1]
    DAMAGE[damage](path)
    status, out, _ = corpusmill("verify", folder)
    assert status == 1 and out.startswith(f"{path}: ") and "1 problem" in out
    assert ("it is not there" if damage == "gone" else "cut, changed or damaged") in out.splitlines()[0]


def test_a_file_that_was_not_written_is_reported(done, tmp_path):
    folder = shutil.copytree(done.output / "megatron", tmp_path / "copy")
    (folder / "00099.bin").write_bytes(b"ab")
    assert verify_folder(folder).problems == (f"{folder / '00099.bin'}: is not listed in .SHA256SUMS",)
    (folder / "00099.bin").unlink()
    sums = folder / ".SHA256SUMS"
    sums.write_text(sums.read_text() + "nonsense\n")
    (problem,) = verify_folder(folder).problems
    assert "is not a checksum and a name" in problem


@pytest.mark.parametrize("name", ["_SHA256SUMS", "SHA256SUMS"])
def test_checksums_under_the_names_of_earlier_versions_are_read(done, tmp_path, name):
    folder = shutil.copytree(done.output / "jsonl", tmp_path / "copy")
    (folder / ".SHA256SUMS").rename(folder / name)
    assert verify_folder(folder).compared == "SHA-256, every line"
    next(folder.glob("0*")).write_bytes(b"cut")
    assert "cut, changed or damaged" in verify_folder(folder).problems[0]


def without_sums(folder, target):
    shutil.copytree(folder, target)
    (target / ".SHA256SUMS").unlink()
    return target


@pytest.mark.parametrize(
    ("damage", "said"),
    [
        (lambda f: (f / "00000.bin").write_bytes((f / "00000.bin").read_bytes()[:-2]), "00000.idx says"),
        (lambda f: (f / "00000.bin").unlink(), "is not there, and 00000.idx describes it"),
        (lambda f: (f / "00000.idx").write_bytes(b"no"), "not an index of Megatron-LM"),
        (lambda f: change(f / "00000.idx", -1, 9), "not every sequence is one document"),
        (lambda f: change(f / "00000.idx", -1 - 8 * 2 - (index_size(f) * 8), 9), "do not begin where the ones before"),
    ],
)
def test_an_index_of_megatron_is_checked_without_checksums_too(done, tmp_path, damage, said):
    folder = without_sums(done.output / "megatron", tmp_path / "copy")
    assert len(verify_folder(folder).problems) == 1  # there are no checksums
    damage(folder)
    problems = verify_folder(folder).problems
    assert len(problems) == 2 and said in problems[1]


def change(path, at, value):
    data = bytearray(path.read_bytes())
    data[at] ^= value
    path.write_bytes(bytes(data))


def index_size(folder):
    return struct.unpack_from("<Q", (folder / "00000.idx").read_bytes(), 18)[0]


def test_rows_in_parquet_are_checked_without_checksums_too(done, tmp_path):
    folder = without_sums(done.output / "parquet_tokens", tmp_path / "copy")
    path = folder / "00001.parquet"
    table = pq.read_table(path)
    lengths = table["lengths"].to_pylist()
    lengths[2][0] += 65
    at = table.schema.get_field_index("lengths")
    pq.write_table(table.set_column(at, "lengths", pa.array(lengths, table.schema.types[at])), path)
    assert verify_folder(folder).problems[1:] == (f"{path}: row 2 is shorter than the documents in it",)
    path.write_bytes(path.read_bytes()[:-9])
    (problem,) = verify_folder(folder).problems[1:]
    assert problem.startswith(f"{path}: cannot be read: ")


def index_of(format, entries):
    if format == "mds":
        shards = [{"format": "mds", "raw_data": {"basename": name, "bytes": size}} for name, size in entries.items()]
        return {"version": 2, "shards": shards}
    chunks = [{"filename": name, "chunk_bytes": size, "dim": 5} for name, size in entries.items()]
    return {"chunks": chunks, "config": {}}


@pytest.mark.parametrize(("format", "suffix"), [("mds", ".mds"), ("litdata", ".bin")])
def test_an_index_of_another_library_is_compared_with_the_files(tmp_path, format, suffix):
    entries = {f"0{suffix}": 3, f"1{suffix}": 4}
    (tmp_path / "index.json").write_text(json.dumps(index_of(format, entries)))
    (tmp_path / f"0{suffix}").write_bytes(b"abc")
    (tmp_path / f"1{suffix}").write_bytes(b"ab")
    (tmp_path / f"2{suffix}").write_bytes(b"ab")
    found = verify_folder(tmp_path)
    assert found.format == format and found.tokens == (10 if format == "litdata" else None)
    assert [problem.removeprefix(f"{tmp_path}/") for problem in found.problems[1:]] == [
        f"1{suffix}: has 2 bytes, index.json says 4; it was cut or changed",
        f"2{suffix}: is not named in index.json",
    ]
    (tmp_path / f"0{suffix}").unlink()
    assert f"{tmp_path / f'0{suffix}'}: index.json names it, and it is not there" in verify_folder(tmp_path).problems


def test_a_folder_that_is_not_an_output_is_reported(tmp_path):
    with pytest.raises(InputError, match="nothing is there"):
        list(verify_place(str(tmp_path / "nowhere")))
    (tmp_path / "above/shards").mkdir(parents=True)
    with pytest.raises(InputError, match=r"only folders here: shards\. Name a run, a folder of its output"):
        list(verify_place(str(tmp_path / "above")))
    (tmp_path / "letter.txt").write_text("dear")
    with pytest.raises(InputError, match="holds no shards, and nothing else"):
        list(verify_place(str(tmp_path)))
    (tmp_path / "run.json").write_text("{}")
    with pytest.raises(InputError, match="no output yet"):
        list(verify_place(str(tmp_path)))


def test_the_verbs_speak_json(done, tmp_path, corpusmill):
    status, out, err = corpusmill("export", done.folder, "nanogpt", tmp_path / "out", "--val-fraction", "0", "--json")
    assert (status, err) == (0, "") and json.loads(out)["folder"] == str(tmp_path / "out")
    assert json.loads(out)["tokens"] == sum(map(len, expected(done)))
    status, out, _ = corpusmill("verify", done.folder, "--json")
    found = json.loads(out)
    assert status == 0 and found["problems"] == [] and found["shards"] == str(done.shards)
    assert [folder["format"] for folder in found["folders"]] == ["jsonl", "megatron", "parquet", "parquet", "shards"]


def test_the_verb_says_what_it_wrote_and_answers_a_slip(done, tmp_path, corpusmill):
    status, out, _ = corpusmill("export", done.folder, "jsonl", tmp_path / "out", "--single-file")
    assert status == 0 and f"{tmp_path / 'out'}: 50 documents in 1 file" in out
    status, out, err = corpusmill("export", done.folder, "json", tmp_path / "other")
    assert (status, out) == (2, "") and 'did you mean "jsonl"' in err
    assert all(name in err for name in formats())
