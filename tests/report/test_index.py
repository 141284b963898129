"""An index holds what a run kept, and nothing else of it."""

import json
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest

from corpusmill.errors import InputError, ResumeError
from corpusmill.report.index import export
from corpusmill.steps.dedup.exact import Exact
from corpusmill.steps.dedup.minhash import Minhash
from corpusmill.steps.filter.keep_where import KeepWhere
from corpusmill.steps.keys import keyed, keys_and_rows
from corpusmill.storage import checksum
from corpusmill.store import forgotten
from corpusmill.store.arrays import map_arrays
from corpusmill.store.forgotten import Forgotten
from corpusmill.store.run_folder import RunFolder
from dedup_runs import NAMES, dedup
from made_run import unfinish

TEXTS = {name: f"{name} " * 4 for name in ("ash", "birch", "cedar", "elm", "fir")}
DOCUMENTS = {**TEXTS, "birch again": TEXTS["birch"], "last": "the last"}
NOT_CEDAR = KeepWhere(condition="url <> 'cedar'")


@pytest.fixture
def run(tmp_path):
    """In three units, its keys in several slices."""
    steps = Exact(keep="longest"), Minhash(ngram=1, bands=4, rows=2, keep="longest"), NOT_CEDAR
    return dedup(tmp_path, DOCUMENTS, *steps, cuts=[2, 5], unit=200, partition_bytes=200)


def keys_of(folder, files):
    """(name, key, riders) of every record, band by band; name -> what is by document."""
    records: list[Any] = []
    documents: dict[str, Any] = {}
    for keys, docs in files:
        arrays = map_arrays(folder / keys)
        names = [NAMES[given] for given in pq.read_table(folder / docs, columns=["id"])["id"].to_pylist()]
        keys_of_records, rows = keys_and_rows(arrays, arrays.__getitem__)
        assert arrays["offsets"][-1] == len(keys_of_records) == len(rows)
        partition = np.repeat(np.arange(len(arrays["offsets"]) - 1), np.diff(arrays["offsets"]))
        payload = [name for name in bytes(arrays["payload"]).decode().split(",") if name]
        for at, row in enumerate(rows):
            records.append(
                (int(partition[at]), names[row], int(keys_of_records[at]), *(int(arrays[name][at]) for name in payload))
            )
        for name in set(arrays) - {"partitions", "payload", "offsets", *keyed(arrays), *payload}:
            assert len(arrays[name]) == len(names)
            documents |= {(given, name): arrays[name][row].tolist() for row, given in enumerate(names)}
    return sorted(records), documents


@pytest.mark.parametrize("step", ["exact", "minhash"])
def test_it_has_the_keys_of_the_kept_documents_alone(run, tmp_path, step):
    made = export(run.folder, tmp_path / "index", step)
    index = json.loads((made.folder / "index.json").read_text())
    kept = [name for name in DOCUMENTS if name not in ("cedar", "birch again")]
    assert made.documents == index["documents"] == len(kept) and made.step == step
    files = [(file["keys"], file["docs"]) for file in index["files"]]
    assert len(files) > 1
    records, documents = keys_of(made.folder, files)
    results = RunFolder(str(run.folder)).results()["pass-1"]
    paths = (results[name].paths.to_pylist() for name in (f"keys-{step}", "docs"))
    whole = keys_of(run.folder, list(zip(*paths)))
    assert records == [record for record in whole[0] if record[1] in kept]
    assert documents == {at: value for at, value in whole[1].items() if at[0] in kept}
    assert {name for name, _ in documents} == set(kept)  # `rank`, and the sketch


def test_forgotten_documents_are_not_in_it(run, tmp_path):
    forgotten.write(RunFolder(str(run.folder)), Forgotten(urls=frozenset({"fir"})))
    made = export(run.folder, tmp_path / "index", "minhash")
    urls = [url for path in sorted(made.folder.glob("docs/*")) for url in pq.read_table(path)["url"].to_pylist()]
    assert made.documents == len(urls) and "fir" not in urls and {"ash", "elm"} <= set(urls)
    files = [(file["keys"], file["docs"]) for file in json.loads((made.folder / "index.json").read_text())["files"]]
    assert "fir" not in {name for _, name, *_ in keys_of(made.folder, files)[0]}


@pytest.mark.parametrize(("step", "columns"), [("exact", ["id", "url"]), ("minhash", ["id", "url", "text"])])
def test_its_documents_have_what_comparing_reads(run, tmp_path, step, columns):
    made = export(run.folder, tmp_path / "index", step)
    index = json.loads((made.folder / "index.json").read_text())
    rows = []
    for file in index["files"]:
        assert checksum(made.folder / file["keys"]) == file["keys_checksum"]
        assert checksum(made.folder / file["docs"]) == file["docs_checksum"]
        table = pq.read_table(made.folder / file["docs"])
        assert table.column_names == columns and len(table) == file["rows"]
        rows += table.to_pylist()
    assert [row["url"] for row in rows] == ["ash", "birch", "elm", "fir", "last"]
    assert step == "exact" or [row["text"] for row in rows] == [DOCUMENTS[row["url"]] for row in rows]
    assert made.bytes == sum(path.stat().st_size for path in made.folder.rglob("*") if path.is_file())


def test_which_step_is_said_where_there_are_several(run, tmp_path):
    with pytest.raises(InputError, match=r"choose it with --dedup. .* has: exact, minhash"):
        export(run.folder, tmp_path / "index")
    with pytest.raises(InputError, match=r'there is no dedup step "minhsh" .*; did you mean "minhash"'):
        export(run.folder, tmp_path / "index", "minhsh")
    with pytest.raises(InputError, match='there is no dedup step "keep_where"'):
        export(run.folder, tmp_path / "index", "keep_where")
    assert not (tmp_path / "index").exists()


def test_a_folder_that_holds_something_is_left_alone(run, tmp_path):
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "mine.txt").write_text("mine")
    for taken in (tmp_path / "full", tmp_path / "full" / "mine.txt"):
        with pytest.raises(InputError, match="is not empty: give the index a new folder"):
            export(run.folder, taken, "exact")
    assert [path.name for path in (tmp_path / "full").iterdir()] == ["mine.txt"]


def test_a_run_that_is_not_finished_has_no_index(run, tmp_path):
    unfinish(run.folder, "pass-2")
    with pytest.raises(ResumeError, match="not finished"):
        export(run.folder, tmp_path / "index", "exact")
    assert not (tmp_path / "index").exists()
