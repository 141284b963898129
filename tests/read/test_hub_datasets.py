"""Data sets of the Hugging Face hub: which files are a split's, from the cache without a network, or from a hub."""

import doctest
import hashlib
import json
from collections import Counter
from contextlib import suppress
from pathlib import Path

import fsspec
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from reading import read_all

import corpusmill as package
from corpusmill import retry
from corpusmill.errors import InputError, RecipeError, StorageError
from corpusmill.read import _hub_datasets as datasets
from corpusmill.read import dataset_files
from corpusmill.read.jsonl import JsonlReader
from corpusmill.read.parquet import ParquetReader
from corpusmill.recipe.parts import RunSettings, Source
from made_crawl import serving as serving_faults
from made_hub import COMMIT, TOKEN, DatasetHandler, serving, write_cache

PARQUET = (".parquet",)
ORG = "hf://datasets/org/name"


@pytest.fixture
def cache(tmp_path, monkeypatch):
    for name in ("HF_HOME", "HUGGINGFACE_HUB_CACHE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HF_HUB_CACHE", str(tmp_path / "hub"))
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    return tmp_path / "hub"


def table(*texts: str) -> bytes:
    out = pa.BufferOutputStream()
    pq.write_table(pa.table({"text": list(texts)}), out)
    return out.getvalue().to_pybytes()


def put(cache: Path, *names: str, readme: str = "", revision: str = "main") -> None:
    files = {name: table(name) for name in names} | ({"README.md": readme.encode()} if readme else {})
    write_cache(cache, "org/name", files, "dataset", revision)


def chosen(url: str = ORG, subset: str = "", split: str = "", suffixes: tuple[str, ...] = PARQUET) -> list[str]:
    return [file.name.removeprefix("org/name/") for file in dataset_files(url, subset, split, suffixes)]


TWO = ("data/train-00000-of-00002.parquet", "data/train-00001-of-00002.parquet")
CARD = """---
license: odc-by
configs:
- config_name: default
  data_files:
  - split: train
    path: data/*/*
- config_name: sample-10BT
  data_files:
  - split: train
    path: sample/10BT/*
---
# A data set
"""


@pytest.mark.parametrize(
    ("names", "subset", "split", "wanted"),
    [
        ((*TWO, "data/test-00000-of-00001.parquet"), "", "", TWO),
        ((*TWO, "data/test-00000-of-00001.parquet"), "", "test", ("data/test-00000-of-00001.parquet",)),
        ((*TWO, "data/test-00000-of-00001.parquet"), "", "t*", ("data/test-00000-of-00001.parquet", *TWO)),
        (
            ("train.parquet", "valid.parquet", "test.parquet"),
            "",
            "train+validation",
            ("train.parquet", "valid.parquet"),
        ),
        (("one.parquet", "deep/er/two.parquet"), "", "", ("one.parquet",)),
        (
            ("fr/train/0000.parquet", "en/train/0000.parquet", "en/test/0000.parquet"),
            "en",
            "",
            ("en/train/0000.parquet",),
        ),
        (("default/train/0000.parquet", "x/train/0000.parquet"), "", "train", ("default/train/0000.parquet",)),
        (("only/train-0.parquet",), "", "", ("only/train-0.parquet",)),
        (("data/cooked-00000-of-00001.parquet",), "", "", ("data/cooked-00000-of-00001.parquet",)),
        ((*TWO, "data/_hidden.parquet", "notes.txt"), "", "", TWO),
    ],
)
def test_a_split_has_these_files(cache, names, subset, split, wanted):
    put(cache, *names)
    assert chosen(subset=subset, split=split) == list(wanted)


def test_the_head_of_the_card_says_which_files_a_subset_has(cache):
    put(cache, "data/CC-1/000.parquet", "sample/10BT/000.parquet", readme=CARD)
    assert chosen() == ["data/CC-1/000.parquet"]
    assert chosen(subset="sample-10BT", split="train") == ["sample/10BT/000.parquet"]


@pytest.mark.parametrize(
    "head",
    [
        "configs: 3",
        "configs: {a: b}",
        "configs: [1, null, {data_files: 3}, {data_files: null}]",
        "configs: [{config_name: default, data_files: {train: 3}}]",
        "configs: [{config_name: [1], data_files: [[1], {split: train, path: {a: b}}, 2020-01-01]}]",
        "when: 2020-99-99",
        "deep: " + "[" * 5000,
        "x: !!python/object:os.system",
    ],
)
def test_a_card_that_says_nothing_sensible_is_no_traceback(cache, head):
    put(cache, "a.parquet", readme=f"---\n{head}\n---\n")
    with suppress(InputError):
        assert chosen() in ([], ["a.parquet"])


def test_a_path_in_the_data_set_names_files_as_elsewhere(cache):
    put(cache, "data/CC-1/000.parquet", "data/CC-2/000.parquet", "b.parquet")
    assert chosen(f"{ORG}/data") == chosen(f"{ORG}/data/**/*.parquet") == chosen(f"{ORG}/data/*/*.parquet")
    assert chosen(f"{ORG}/data/CC-?/000.parquet") == ["data/CC-1/000.parquet", "data/CC-2/000.parquet"]
    assert chosen(f"{ORG}/*.parquet") == chosen(f"{ORG}/b.parquet") == ["b.parquet"]


def test_what_the_hub_has_converted_is_read_where_it_is_cached(cache):
    put(cache, "default/train/0000.parquet", revision="refs/convert/parquet")
    assert chosen() == chosen(f"{ORG}@refs/convert/parquet") == ["default/train/0000.parquet"]


@pytest.mark.parametrize(
    ("names", "subset", "split", "words"),
    [
        (TWO, "", "valid", 'there is no split "valid".* It has: train'),
        (TWO, "", "train[:10%]", "A split is read whole; slices are not known here"),
        (
            ("a/train-0.parquet", "b/train-0.parquet"),
            "",
            "",
            "it has 2 subsets; name one, as in subset: a. It has: a, b",
        ),
        (("a/train-0.parquet", "b/train-0.parquet"), "aa", "", 'there is no subset "aa"; did you mean "a"'),
        (("a.csv",), "", "", "it has no file that ends in .parquet. It has: a.csv"),
        (TWO[:1], "", "", "data/train-00001-of-00002.parquet is not in the cache"),
    ],
)
def test_what_is_not_there_is_answered_with_what_is(cache, names, subset, split, words):
    put(cache, *names)
    with pytest.raises(InputError, match=words):
        chosen(subset=subset, split=split)


def test_without_cache_and_network_the_message_says_what_to_fetch_and_where_to_put_it(cache):
    with pytest.raises(InputError) as error:
        chosen(f"{ORG}@v2/data/*.parquet")
    said = str(error.value)
    assert "hf download org/name --repo-type dataset --revision v2 --include 'data/*.parquet'" in said
    assert f"copy the folder datasets--org--name into {cache}" in said and "HF_HUB_OFFLINE is set" in said


def test_files_that_are_not_cached_are_read_from_the_hub_at_its_commit(cache, monkeypatch):
    pytest.importorskip("huggingface_hub")
    put(cache, TWO[0])
    monkeypatch.delenv("HF_HUB_OFFLINE")
    with serving({name: table(name) for name in TWO}) as (address, asked):
        monkeypatch.setenv("HF_ENDPOINT", address)
        files = dataset_files(ORG, "", "", PARQUET)
        questions = [path for path in asked if path.startswith("/api/datasets/")]
        commit = next((cache / "datasets--org--name" / "snapshots").iterdir()).name
        assert [q.lower() for q in questions] == [
            f"/api/datasets/org/name/revision/{commit}?blobs=true"
        ]  # the commit that is cached
        assert [file.path for file in files][1] == f"hf://datasets/org/name@{COMMIT}/{TWO[1]}"
        assert files[0].path.startswith(str(cache))
        put(cache, *TWO, revision="v1")
        assert len(dataset_files(f"{ORG}@v1", "", "", PARQUET)) == 2
        assert [path for path in asked if path.startswith("/api/datasets/")] == questions  # all is cached


@pytest.mark.parametrize(
    "paths", ["data/*.parquet", "hf://datasets/org/name/data", ("hf://datasets/org/name", "a.parquet")]
)
def test_a_split_is_of_whole_data_sets(paths):
    with pytest.raises(RecipeError, match="split is of whole data sets"):
        Source(ParquetReader(), paths, split="train")


@pytest.mark.parametrize(
    ("subset", "split", "names"),
    [
        ("", "", ["a/train-0.parquet"]),
        ("", "test", ["a/test-0.parquet"]),
        ("b", "train+test", ["other/x.parquet", "other/y.parquet"]),
    ],
)
def test_a_folder_that_is_laid_out_as_a_data_set_has_subsets_and_splits(tmp_path, subset, split, names):
    card = """---
configs:
- {config_name: a, default: true, data_files: [{split: train, path: a/train-*}, {split: test, path: a/test-*}]}
- config_name: b
  data_files: {train: other/x.parquet, test: [other/y.parquet]}
---
"""
    folder = tmp_path / "boats"
    for name in ("a/train-0.parquet", "a/test-0.parquet", "other/x.parquet", "other/y.parquet", "left.parquet"):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(b"")
    (folder / "README.md").write_text(card)
    found = dataset_files(str(folder), subset, split, PARQUET)
    assert [file.name for file in found] == [f"boats/{name}" for name in names]
    with pytest.raises(InputError, match='there is no subset "c"'):
        dataset_files(str(folder), "c", "", PARQUET)


RECIPE = """
name: hub
read:
  - parquet: {paths: "hf://datasets/org/name", split: test, source: tests}
  - parquet: {paths: "hf://datasets/org/name"}
write: {jsonl: {compression: none}}
run: {executor: serial, folder: FOLDER}
"""


def test_a_run_reads_splits_without_a_network_and_records_the_commit(cache, tmp_path):
    put(cache, *TWO, "data/test-00000-of-00001.parquet")
    path = tmp_path / "hub.yaml"
    path.write_text(RECIPE.replace("FOLDER", str(tmp_path / "run")))
    run = package.run(path)
    lines = [
        json.loads(line)
        for file in (tmp_path / "run" / "output").rglob("*.jsonl")
        for line in file.read_text().splitlines()
    ]
    assert sorted(line["text"] for line in lines) == sorted([*TWO, "data/test-00000-of-00001.parquet"])
    record = json.loads(next((tmp_path / "run").rglob("run.json")).read_text())
    commit = next((cache / "datasets--org--name" / "snapshots").iterdir()).name
    assert all(commit in file["path"] for files in record["inputs"].values() for file in files)
    assert "split: test" in record["recipe"] and run.waterfall is not None


# ------------------------------------------------------------------ from a hub on this machine


COMMITS = DatasetHandler.revisions
ROWS = 40


@pytest.fixture(scope="module")
def repository(tmp_path_factory):
    """Two revisions of a data set: two files of Parquet with 8 MB of text each, and one of JSON lines."""
    folder = tmp_path_factory.mktemp("repository")
    for revision, commit in COMMITS.items():
        (folder / commit / "data").mkdir(parents=True)
        texts = [f"{revision} {number} {hashlib.sha256(b'%d' % number).hexdigest() * 6400}" for number in range(ROWS)]
        for name, part in (("a", texts[::2]), ("b", texts[1::2])):
            (folder / commit / f"data/{name}.parquet").write_bytes(table(*part))
        lines = "".join(json.dumps({"text": text[:9999]}) + "\n" for text in texts)
        (folder / commit / "lines.jsonl").write_text(lines)
    return folder


@pytest.fixture
def hub(repository, cache, monkeypatch):
    pytest.importorskip("huggingface_hub")
    monkeypatch.delenv("HF_HUB_OFFLINE")
    monkeypatch.delenv("HF_TOKEN", raising=False)
    monkeypatch.setattr(retry, "FIRST_WAIT", 0.001)
    with serving_faults(repository, DatasetHandler) as server:
        monkeypatch.setenv("HF_ENDPOINT", server.url.rstrip("/"))
        monkeypatch.setitem(fsspec.config.conf, "hf", {"endpoint": server.url.rstrip("/")})
        yield server


def texts(url, reader):
    files = dataset_files(url, "", "", reader.suffixes)
    rows, dead, _ = read_all(reader, *files, target=100_000)
    assert dead == []
    return [" ".join(row["text"].split()[:2]) for row in rows], {row["file"].partition("@")[2][:40] for row in rows}


@pytest.mark.parametrize(
    ("at", "revision"), [("", "main"), ("@main", "main"), ("@v1", "v1"), (f"@{COMMITS['v1']}", "v1")]
)
@pytest.mark.parametrize("fault", [None, "503", "cut"])
def test_a_reader_takes_the_files_of_a_revision_from_the_hub(hub, at, revision, fault):
    seen = iter(range(1 << 60))
    hub.fault = lambda number, path: fault if next(seen) == 1 else None
    found, commits = texts(f"{ORG}{at}/data/*.parquet", ParquetReader())
    assert found == [f"{revision} {number}" for number in (*range(0, ROWS, 2), *range(1, ROWS, 2))]
    assert commits == {COMMITS[revision]}
    assert texts(f"{ORG}{at}/lines.jsonl", JsonlReader())[0] == [f"{revision} {number}" for number in range(ROWS)]
    assert not fault or hub.faults[fault] == 1


def test_what_the_hub_has_not_or_does_not_give_is_said_with_what_to_do(hub, monkeypatch):
    reader = ParquetReader()
    with pytest.raises(InputError, match=r'name@v1: nothing matches data/c.parquet; did you mean "data/.\.parquet"'):
        texts(f"{ORG}@v1/data/c.parquet", reader)
    with pytest.raises(InputError, match=rf"^{ORG}@v9: the repository has no such revision"):
        texts(f"{ORG}@v9/data", reader)
    needs = "needs a token of an account that may read it: set HF_TOKEN, or hf auth login"
    with pytest.raises(
        InputError, match=f"^hf://datasets/org/other: the hub has no such repository, or it is private.*{needs}"
    ):
        texts("hf://datasets/org/other/data", reader)
    monkeypatch.setattr(DatasetHandler, "private", True)
    with pytest.raises(InputError, match=f"^{ORG}: the hub has no such repository, or it is private.*{needs}"):
        texts(f"{ORG}/data", reader)
    monkeypatch.setenv("HF_TOKEN", "hf_another")
    with pytest.raises(InputError, match=rf"^{ORG}: the hub gave no access \(127.*401.*{needs}"):
        texts(f"{ORG}/data", reader)
    monkeypatch.setenv("HF_TOKEN", TOKEN)
    assert len(texts(f"{ORG}/data", reader)[0]) == ROWS


def bytes_of(hub, name):
    """How many bytes of a file were asked for."""
    ranges = [part.removeprefix("bytes=").split("-") for _, path, part in hub.requests if part and path.endswith(name)]
    return sum(int(stop) - int(start) + 1 for start, stop in ranges)


def test_a_run_that_lost_its_access_goes_on_and_keeps_to_its_revision(hub, repository, tmp_path):
    def run(paths, folder):
        settings = RunSettings(unit_mb=4, executor="serial")
        recipe = package.Recipe(read={"parquet": paths}, write="jsonl", run=settings)
        package.run(recipe, folder=tmp_path / folder, progress=False)
        return [row["text"] for row in package.open(tmp_path / folder).to_arrow().to_pylist()]

    asked: Counter[str] = Counter()
    looks = 7  # requests for the second file before a unit reads it

    def fault(number, path):
        asked[path] += 1
        return "403" if path.endswith("b.parquet") and asked[path] > looks else None

    hub.fault = fault
    with pytest.raises(StorageError, match=r"b\.parquet: no access to .*set HF_TOKEN"):
        run(f"{ORG}@v1/data", "run")
    before = bytes_of(hub, "a.parquet")
    hub.reset()
    assert run(f"{ORG}@v1/data", "run") == run(str(repository / COMMITS["v1"] / "data"), "here")
    assert bytes_of(hub, "a.parquet") < before  # what is committed is not read again


def test_the_examples_in_the_docstrings_hold():
    assert doctest.testmod(datasets).failed == 0
