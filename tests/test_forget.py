"""Documents taken out of a finished run: gone from all that it wrote and will write, and everything else as it was."""

import gzip
import json
import shutil
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest
import zstandard

import corpusmill
from corpusmill.errors import InputError, RefusedFolder, ResumeError
from corpusmill.execute.serial import Serial
from corpusmill.export import export
from corpusmill.loader import TokenLoader
from corpusmill.ops.forget import check, find, forget, steps_of
from corpusmill.ops.verify import verify
from corpusmill.ops.worker import work
from corpusmill.publish import push
from corpusmill.recipe.model import Recipe
from corpusmill.shards import open_shards
from corpusmill.store import forgotten
from corpusmill.store.forgotten import Forgotten
from corpusmill.store.restart import remove_all
from corpusmill.store.run_folder import RunFolder
from made_run import made_corpus, records

WRITE = "write: [shards, jsonl: {compression: zst, mb_per_file: 1}, parquet]"
URL = "http://made.org/10"  # of which there is a copy


def recipe():
    return Recipe.parse(made_corpus().read_text().replace("write: [shards]", WRITE))


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    return corpusmill.run(recipe(), folder=tmp_path_factory.mktemp("forget") / "run", executor=Serial()).folder


@pytest.fixture
def run(whole, tmp_path):
    return shutil.copytree(whole, tmp_path / "run")


def contents(run, below="output"):
    return {path.relative_to(run).as_posix(): path.read_bytes() for path in (run / below).rglob("*") if path.is_file()}


def urls_of(run):
    """What the output says, format by format."""
    (lines,) = run.glob("output/jsonl/*.zst")
    text = zstandard.ZstdDecompressor().stream_reader(lines.read_bytes(), read_across_frames=True).read()
    return [
        [json.loads(line)["url"] for line in text.splitlines()],
        pq.read_table(next(run.glob("output/parquet/*.parquet")))["url"].to_pylist(),
        pq.read_table(run / "output/shards/documents/00000.parquet")["url"].to_pylist(),
    ]


def is_sound(run):
    return not [problem for one in verify(RunFolder(str(run))) for problem in one.problems]


def test_it_is_gone_from_all_output_and_stays_gone_when_the_recipe_runs_again(run):
    before, files = urls_of(run), contents(run)
    assert all(URL in urls for urls in before)
    batches = list(TokenLoader(run, batch_size=2, epochs=1, drop_last=False))
    asked = find(run, urls=[URL])
    assert [(each.url, each.kept) for each in asked.documents if each.kept] == [(URL, True)]
    done = forget(run, asked)
    after = urls_of(run)
    assert after[0] == [url for url in before[0] if url != URL] == after[1]
    assert after[2] == [None if url == URL else url for url in before[2]]
    assert is_sound(run)
    (number,) = open_shards(run).forgotten
    now = list(TokenLoader(run, batch_size=2, epochs=1, drop_last=False))
    assert len(now) == len(batches) and number not in np.concatenate([batch["doc_ids"] for batch in now])
    for old, new in zip(batches, now):
        others = old["doc_ids"] != number
        assert all(np.array_equal(old[name][others], new[name][others]) for name in ("tokens", "doc_ids", "loss_mask"))
    changed = {name for name, content in contents(run).items() if files.get(name) != content}
    assert {f"output/{name}" for name in done.changed} == {name for name in changed if not name.endswith("SUMS")}
    assert URL not in {document.url for document in corpusmill.open(run).documents()}
    rewritten = contents(run)
    corpusmill.run(recipe(), folder=run, executor=Serial())
    assert contents(run) == rewritten
    changed_recipe = Recipe.parse(recipe().dump().replace("length: 64", "length: 32"))
    corpusmill.run(changed_recipe, folder=run, executor=Serial())
    assert urls_of(run) == after and is_sound(run)
    exported = export(run, "jsonl", run.parent / "lines", compression="gz")
    lines = b"".join(gzip.decompress(path.read_bytes()) for path in Path(exported.folder).glob("*.gz"))
    assert lines and URL.encode() not in lines


def test_a_start_from_nothing_leaves_it_out_too(run):
    forget(run, find(run, urls=[URL]))
    remove_all(RunFolder(str(run)))
    assert {path.name for path in run.iterdir()} == {"forgotten.json", "forget", ".corpusmill", ".lock"}
    corpusmill.run(recipe(), folder=run, executor=Serial())
    assert not any(URL in urls for urls in urls_of(run)) and is_sound(run)


def test_files_without_it_keep_their_bytes(run):
    dropped = next(document for document in corpusmill.open(run).dropped() if document.url)
    before = contents(run)
    done = forget(run, find(run, ids=[dropped.id]))
    assert contents(run) == before and done.changed == ()


def test_copies_are_those_of_the_deduplication(run):
    texts = [record["text"] for record in records()]
    same = {record["url"] for record in records() if record["text"] == texts[10]}
    assert len(same) == 2
    near = {record["url"] for record in records() if record["text"].startswith(texts[0])}
    assert len(near) == 2
    for cluster in (same, near):
        for url in cluster:  # whichever of them was kept
            asked = find(run, urls=[url], copies=True)
            assert {each.url for each in asked.documents} == cluster
            assert {each.url for each in asked.documents if each.copy} == cluster - {url}
            assert sum(each.kept for each in asked.documents) == 1


def test_domains_hold_what_is_below_them_and_nothing_that_only_looks_like_them():
    names = ["a.org", "www.a.org:80", "A.ORG.", "ba.org", "a.org.uk", "b.net/a.org", "[", None]
    import pyarrow as pa

    batch = pa.RecordBatch.from_pydict(
        {"id": list(map(str, range(8))), "url": [name and f"https://{name}/" for name in names]}
    )
    assert Forgotten(domains=frozenset({"a.org"})).among(batch).tolist() == [True] * 3 + [False] * 5


def test_a_passage_and_the_steps_that_served_it(run):
    passage = records()[10]["text"][20:80]
    asked = find(run, texts=[passage], workers=1)
    assert [each.url for each in asked.documents] == [URL]
    (number,) = TokenLoader(run).shards[0].numbers_of([asked.documents[0].id])[asked.documents[0].id]
    before = TokenLoader(run / "output/shards", batch_size=2, seed=3).served([number])
    assert steps_of(run, asked, batch_size=2, seed=3, epochs=1) == before
    forget(run, asked)
    assert steps_of(run, asked, batch_size=2, seed=3, epochs=1) == before


def test_the_manifest_is_signed_and_says_before_and_after(run):
    done = forget(run, find(run, urls=[URL]), key=b"secret")
    path = Path(done.path)
    assert check(path, b"secret") == []
    assert "its signature is not that" in check(path, b"other")[0]
    with pytest.raises(InputError, match="it is signed; give the key"):
        check(path)
    record = json.loads(path.read_text())
    entry = record["output"]["shards/00000.bin"]
    assert entry["before"] != entry["after"]
    (run / "output/shards/00000.bin").write_bytes(b"")
    assert "00000.bin: SHA-256 is" in check(path, b"secret")[0]
    path.write_text(path.read_text().replace('"kept": true', '"kept": false'))
    assert "its signature is not that" in check(path, b"secret")[0]


def test_what_was_killed_after_the_record_is_completed_by_the_same_call(run):
    asked = find(run, urls=[URL])
    forgotten.write(RunFolder(str(run)), asked.wanted)
    forget(run, find(run, urls=[URL]))
    assert not any(URL in urls for urls in urls_of(run)) and is_sound(run)


def test_purging_leaves_no_text_of_it_in_the_folder(run):
    remains = forget(run, find(run, urls=[URL], copies=True)).manifest["remains"]
    assert "stages" in remains
    forget(run, find(run, urls=[URL], copies=True), purge=True)
    assert not (run / "stages").exists() and is_sound(run)
    left = {path.name for path in run.iterdir()} - {".lock", ".corpusmill", "written.json"}
    assert left <= {"output", "run.json", "waterfall.json", "report.html", "forget", "forgotten.json"}
    assert "report.html" not in left or URL.encode() not in (run / "report.html").read_bytes()
    TokenLoader(run).at(0)
    corpusmill.run(recipe(), folder=run, executor=Serial())
    assert not any(URL in urls for urls in urls_of(run))


def test_a_damaged_record_stops_the_run_and_workers_are_refused(run):
    forget(run, find(run, urls=[URL]))
    with pytest.raises(RefusedFolder, match="has documents to forget"):
        work(recipe(), folder=str(run), processes=1)
    path = run / "forgotten.json"
    path.write_text(path.read_text().replace(URL, URL + "1"))
    with pytest.raises(ResumeError, match="is not as it was written"):
        corpusmill.run(recipe(), folder=run, executor=Serial())
    with pytest.raises(ResumeError):
        forgotten.read(RunFolder(str(run)))


def test_the_verb(corpusmill, run):
    before = contents(run)
    status, out, _ = corpusmill("forget", run, "--domain", "made.org", "--dry-run")
    assert status == 0 and "nothing is changed" in out and contents(run) == before
    listed = run.parent / "urls.txt"
    listed.write_text(f"{URL}\nhttp://made.org/none\n")
    status, out, _ = corpusmill("forget", run, "--urls", listed, "--steps", "--batch", 2)
    assert status == 0 and "not in this run: http://made.org/none" in out and "served in step" in out
    assert "rewritten or removed: " in out and "shards/00000.bin" in out and "may still hold their text: stages" in out
    status, out, _ = corpusmill("forget", run, "--check", run / "forget/0001.json")
    assert (status, out) == (0, "as the manifest says\n")
    status, out, _ = corpusmill("find", run, "the", "-n", 1000)
    assert status == 0 and sum(line.endswith(f"{URL}  (forgotten)") for line in out.splitlines()) > 0
    assert all(URL in line for line in out.splitlines() if line.endswith("(forgotten)"))


def test_what_cannot_be_is_refused(corpusmill, run):
    before = contents(run, ".")
    for words, said in (
        ((), "say what to forget"),
        (("--domain", "org"), '"org" is not a domain'),
        (("--domain", "nowhere.example"), "the run has no such document"),
        (("--ids", "none.txt"), "none.txt: cannot be read"),
        (("--domain", "made.org", "--key", "none.txt"), "none.txt: the key cannot be read"),
        (("--check", run / "run.json"), "not a manifest"),
    ):
        status, _, err = corpusmill("forget", run, *words)
        assert status == 2 and said in err
    assert contents(run, ".") == before


def test_output_that_does_not_name_its_documents_is_only_removed_when_asked(corpusmill, tmp_path):
    text = made_corpus().read_text().replace("write: [shards]", "write: [jsonl: {columns: [text], name: a}, shards]")
    run = tmp_path / "run"
    import corpusmill as library

    library.run(Recipe.parse(text.replace("name: a}", 'name: "a{:d}"}')), folder=run, executor=Serial())
    status, _, err = corpusmill("forget", run, "--domain", "made.org")
    assert status == 2 and "jsonl cannot be rewritten" in err
    assert corpusmill("forget", run, "--domain", "made.org", "--remove")[0] == 0
    assert not (run / "output/jsonl").exists() and is_sound(run)


def test_a_column_that_is_only_called_id_does_not_name_documents(corpusmill, tmp_path):
    write = "[parquet: {columns: {url: id, text: text}}, jsonl: {columns: {source: id, text: text}, compression: none}]"
    text = made_corpus().read_text().replace("write: [shards]", f"write: {write}")
    import corpusmill as library

    run = library.run(Recipe.parse(text), folder=tmp_path / "run", executor=Serial()).folder
    urls = tmp_path / "urls.txt"
    urls.write_text(URL)
    status, _, err = corpusmill("forget", run, "--urls", urls)
    assert status == 2 and "jsonl, parquet cannot be rewritten" in err
    assert corpusmill("forget", run, "--urls", urls, "--remove")[0] == 0
    assert not list((run / "output").glob("*/*")) and is_sound(run)
    library.run(Recipe.parse(text), folder=run, executor=Serial())
    assert not list((run / "output").glob("*/*"))


def test_the_folder_of_a_push_is_gone_and_made_again_without_it(run):
    def ids():
        return pq.read_table(next((run / "hub/data").glob("*.parquet")))["id"].to_pylist()

    push(run, "hf://datasets/me/made", dry_run=True)
    asked = find(run, urls=[URL])
    (doc_id,) = (document.id for document in asked.documents)
    assert doc_id in ids()
    (run / "hub/mine.txt").write_text("notes")
    with pytest.raises(RefusedFolder, match="no push has put there"):
        forget(run, asked)
    assert not (run / "forgotten.json").exists()
    (run / "hub/mine.txt").unlink()
    forget(run, asked)
    assert not list(run.glob("hub/**/*.parquet"))
    push(run, "hf://datasets/me/made", dry_run=True)
    assert doc_id not in ids()
