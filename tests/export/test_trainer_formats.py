"""Formats that trainers read, each read here by a reader written from the trainer's description of it.

The trainers' own code reads them in `make trainers`.
"""

import csv
import gzip
import json
from random import Random
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from corpusmill import Recipe, run
from corpusmill.errors import InputError, RecipeError
from corpusmill.execute.serial import Serial
from corpusmill.export import export
from corpusmill.export.streams import Numbered, leading
from corpusmill.models.tokenizer import load
from corpusmill.ops.verify import verify_folder
from corpusmill.shards.documents import DocumentRange
from made_run import prose

EOS = 50_256
RECIPE = """
name: formats
read: [jsonl: {folder}/*.jsonl]
steps: [tokenize/bpe: {{tokenizer: gpt2}}]
write:
  - shards: {{tokens_per_shard: 1500}}
  - olmo: {{tokens_per_shard: 1000}}
  - jsonl: {{single_file: true, compression: none}}
"""


def made(folder):
    random = Random(3)
    for name in "ab":
        lines = [json.dumps({"text": prose(random, random.choice([5, 40, 300]))}) for _ in range(25)]
        (folder / f"{name}.jsonl").write_text("\n".join(lines) + "\n")
    return run(Recipe.parse(RECIPE.format(folder=folder)), folder=folder / "run", executor=Serial())


@pytest.fixture(scope="module")
def done(tmp_path_factory):
    return made(tmp_path_factory.mktemp("formats"))


@pytest.fixture(scope="module")
def texts(done):
    (path,) = (done.output / "jsonl").glob("*.jsonl")
    return [json.loads(line)["text"] for line in path.read_text("utf-8").splitlines()]


@pytest.fixture(scope="module")
def ids(texts):
    """Ids of every document without control tokens, by the reference tokenizer."""
    reference = load("gpt2", engine="tokenizers")
    return [reference.encode_documents(pa.array([text], pa.large_string()))[0].tolist()[:-1] for text in texts]


def llmc(path):
    """A file of llm.c: 256 int32, magic, version and count first; then uint16."""
    header = np.fromfile(path, np.int32, 256)
    tokens = np.fromfile(path, np.uint16, offset=1024)
    assert header[:2].tolist() == [20240520, 1] and not header[3:].any() and header[2] == len(tokens)
    return tokens.tolist()


def flat(lists):
    return [item for each in lists for item in each]


def test_llmc_has_a_header_and_a_divider_before_each_document(done, ids, tmp_path):
    made = export(done.folder, "llmc", tmp_path / "out", tokens_per_shard=1000, val_fraction=0)
    files = sorted(made.folder.glob("*.bin"))
    assert [path.name for path in files] == [f"train_{number:06d}.bin" for number in range(len(files))]
    read = [llmc(path) for path in files]
    assert {len(tokens) for tokens in read[:-1]} == {1000}
    assert flat(read) == flat([EOS, *document] for document in ids)
    assert (made.documents, made.tokens) == (len(ids), len(flat(read)))
    assert not verify_folder(made.folder).problems


def test_the_first_tokens_can_be_for_validation(done, ids, tmp_path):
    """Wherever that cuts a document, as llm.c's own preparation of tinyshakespeare does."""
    stream = flat([EOS, *document] for document in ids)
    export(done.folder, "llmc", tmp_path / "llmc", val_tokens=777)
    assert llmc(tmp_path / "llmc" / "val_000000.bin") == stream[:777]
    assert llmc(tmp_path / "llmc" / "train_000000.bin") == stream[777:]
    made = export(done.folder, "nanogpt", tmp_path / "nanogpt", val_tokens=777, eos=False)
    bare = flat(ids)
    assert np.fromfile(made.folder / "train.bin", np.uint16).tolist()[-500:] == bare[-500:]
    both = [np.fromfile(made.folder / f"{name}.bin", np.uint16).tolist() for name in ("val", "train")]
    assert flat(both) == bare and len(both[0]) == 777


def test_llmc_divides_documents_by_the_tokenizers_bos_where_it_has_one():
    """Each document has it already; the last one has lost its end."""
    block = DocumentRange(0, np.array([1, 5, 2, 1, 6, 7, 2, 1, 8], np.uint16), np.array([3, 4, 2]))
    assert leading(block, eos=2, bos=1).ids.tolist() == [1, 5, 1, 6, 7, 1, 8]
    assert leading(block, eos=2, bos=None).ids.tolist() == [2, 1, 5, 2, 1, 6, 7, 2, 1, 8]


def test_ids_of_32_bits_have_the_header_that_llmc_has_for_llama(tmp_path):
    files = Numbered(tmp_path, "train", np.dtype("<u4"), 5)
    files.write(np.arange(100_000, 100_008, dtype=np.uint32))
    files.close()
    header = np.fromfile(tmp_path / "train_000001.bin", np.int32, 256)
    assert header[:3].tolist() == [20240801, 7, 3]
    assert np.fromfile(tmp_path / "train_000001.bin", np.uint32, offset=1024).tolist() == [100_005, 100_006, 100_007]


def test_olmo_has_ids_without_a_header_and_a_table_of_documents(done, ids, tmp_path):
    made = export(done.folder, "olmo", tmp_path / "out", tokens_per_shard=1000)
    run_wrote = done.output / "olmo"
    names = sorted(path.name for path in run_wrote.iterdir())
    assert names == sorted(path.name for path in made.folder.iterdir())
    assert all((run_wrote / name).read_bytes() == (made.folder / name).read_bytes() for name in names)
    found = []
    for path in sorted(made.folder.glob("*.npy")):
        tokens = np.memmap(path, np.uint16, "r").tolist()
        with gzip.open(path.with_suffix(".csv.gz"), "rt") as lines:
            for number, (first, stop, _, _, loc) in enumerate(csv.reader(lines)):
                assert int(loc) == number
                found.append(tokens[int(first) : int(stop)])
    assert found == [[*document, EOS] for document in ids]
    assert len(names) > 6 and not verify_folder(made.folder).problems


def nanochat(folder, split, rank=0, world=1):
    """The texts of a rank: row groups of each file in turn, the last file for validation."""
    paths = sorted(path for path in folder.iterdir() if path.suffix == ".parquet")
    for path in paths[:-1] if split == "train" else paths[-1:]:
        file = pq.ParquetFile(path)
        for group in range(rank, file.num_row_groups, world):
            yield from file.read_row_group(group).column("text").to_pylist()


def test_nanochat_has_shuffled_text_and_its_last_file_for_validation(done, texts, tmp_path):
    made = export(done.folder, "nanochat", tmp_path / "out", val_fraction=0.2)
    names = sorted(path.name for path in made.folder.iterdir() if path.name != ".SHA256SUMS")
    assert names == ["shard_00000.parquet", "shard_00001.parquet"]
    train, val = list(nanochat(made.folder, "train")), list(nanochat(made.folder, "val"))
    assert sorted(train + val) == sorted(texts) and 0 < len(val) < len(train)
    order = [texts.index(text) for text in train]
    assert order != sorted(order)
    assert sorted(flat(nanochat(made.folder, "train", rank, 4) for rank in range(4))) == sorted(train)
    assert made.documents == len(texts) and not verify_folder(made.folder).problems


def test_nanochat_shuffles_over_all_files(tmp_path, monkeypatch):
    """Of a made text large enough for several files, each has documents from the whole of it."""
    monkeypatch.setattr("corpusmill.export.nanochat.WAITING_BYTES", 200_000)
    lines = [json.dumps({"text": f"{number} " + "word " * 1000}) for number in range(600)]
    (tmp_path / "a.jsonl").write_text("\n".join(lines) + "\n")
    recipe = f"name: big\nread: [jsonl: {tmp_path}/a.jsonl]\nsteps: [dedup/exact]\nwrite: [jsonl]\n"
    done = run(Recipe.parse(recipe), folder=tmp_path / "run", executor=Serial())
    made = export(done.folder, "nanochat", tmp_path / "out", mb_per_file=1, val_fraction=0.1)
    again = export(done.folder, "nanochat", tmp_path / "again", mb_per_file=1, val_fraction=0.1)
    paths = sorted(made.folder.glob("*.parquet"))
    numbers = [[int(text.split()[0]) for text in pq.read_table(path)["text"].to_pylist()] for path in paths]
    assert len(paths) == 4 and sorted(flat(numbers)) == list(range(600))
    assert all(min(part) < 60 and max(part) > 540 for part in numbers[:-1])
    assert [path.read_bytes() for path in paths] == [
        path.read_bytes() for path in sorted(again.folder.glob("*.parquet"))
    ]


@pytest.mark.parametrize(
    ("format", "settings", "error", "words"),
    [
        ("llmc", {"tokens_per_shard": 0}, RecipeError, "tokens_per_shard from 1 to 2,147,483,647"),
        ("llmc", {"val_tokens": 10**9}, InputError, "with val_tokens 1000000000 nothing is left for train_000000.bin"),
        ("llmc", {"val_fraction": 1e-9}, InputError, r"none of 50 documents goes to val_000000.bin"),
        ("llmc", {"eos": False}, RecipeError, 'llmc has no parameter "eos"; it takes: tokens_per_shard'),
        ("megatron", {"val_tokens": 5}, InputError, "megatron takes no val_tokens, which is for nanogpt, llmc"),
        ("nanochat", {"val_fraction": 0}, InputError, "the last file for validation"),
        ("nanochat", {"val_fraction": 1e-9}, InputError, "none of 50 documents is for validation"),
        ("nanochat", {"mb_per_file": 0}, RecipeError, "mb_per_file from 1 to 1000"),
        ("olmo", {"tokens_per_shard": 0}, RecipeError, "tokens_per_shard >= 1"),
    ],
)
def test_what_cannot_be_exported_is_said(done, tmp_path, format, settings, error, words):
    with pytest.raises(error, match=words):
        export(done.folder, format, tmp_path / "out", **settings)
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("format", ["llmc", "olmo"])
def test_content_that_contradicts_itself_is_reported(done, tmp_path, format):
    """Without checksums, too: by the header, and by the table of documents."""
    split: dict[str, Any] = {"val_fraction": 0} if format == "llmc" else {}
    folder = export(done.folder, format, tmp_path / "out", **split).folder
    (folder / ".SHA256SUMS").unlink()
    path = next(path for path in sorted(folder.iterdir()) if path.suffix in (".bin", ".npy"))
    path.write_bytes(path.read_bytes()[:-2])
    problems = verify_folder(folder).problems
    assert any(text.startswith(f"{path}: has") and "it was cut or changed" in text for text in problems)
