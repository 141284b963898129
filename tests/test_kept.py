"""What released versions have left is read, questioned, continued and served by this one; what a newer one has left is
refused, with words. docs/promises.md says what is promised.
"""

import json
import tarfile
from contextlib import chdir
from pathlib import Path

import pytest

import corpusmill
from corpusmill import assets, errors
from corpusmill.about import __version__
from corpusmill.engine.plan.earlier_runs import INDEX_FORMAT
from corpusmill.execute.serial import Serial
from corpusmill.inference.answer_log import FORMAT as ANSWERS_FORMAT
from corpusmill.inference.answer_log import LOG, MAGIC, AnswerLog
from corpusmill.models.model_file import read_model
from corpusmill.ops import forget
from corpusmill.ops.verify import verify
from corpusmill.recipe import Recipe
from corpusmill.report.page import write_page
from corpusmill.steps.captures import CapturedAnswer, Captures, collect
from corpusmill.store.run_folder import RunFolder
from inspected import Walk
from kept_runs import KEPT, LOADER, add, digest, observed, write_input

VERSIONS = sorted(path.name.removesuffix(".tar.xz") for path in KEPT.glob("*.tar.xz"))
AGAIN = """\
name: again
read: {jsonl: documents}
steps:
  - clean/normalize
  - filter/gopher_quality: {min_words: 20, min_stop_words: 1}
  - redact/pii
  - dedup/minhash: {against: %s}
write: []
run: {folder: again, error_budget: 5}
"""


@pytest.fixture(scope="module", params=VERSIONS)
def version(request):
    return request.param


@pytest.fixture
def kept(version, tmp_path, monkeypatch):
    """The folder with what a version has left."""
    with tarfile.open(KEPT / f"{version}.tar.xz") as archive:
        archive.extractall(tmp_path, filter="data")
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def seen(version):
    return json.loads((KEPT / f"{version}.json").read_text("utf-8"))


def run(recipe, **more):
    return corpusmill.run(recipe, executor=Serial(), progress=False, **more)


def test_this_version_and_those_before_are_kept():
    assert {"0.9.0", __version__} <= set(VERSIONS), "PYTHONPATH=src:tests python scripts/keep_run.py keeps this one"
    assert all((KEPT / f"{version}.json").is_file() for version in VERSIONS)


def test_the_same_is_seen_of_it(kept, seen):
    found = observed(kept)
    assert found.keys() >= seen.keys()
    for name, value in seen.items():
        assert found[name] == value, name
    write_page(RunFolder("run"))
    assert "near_copy" in Path("run/report.html").read_text("utf-8")


def test_the_inspector_answers_for_it(kept):
    pytest.importorskip("starlette", reason="the extra inspect is not installed")
    assert Walk("run").all()["stages"]


@pytest.mark.parametrize("against", ["run", "index"])
def test_a_new_run_is_compared_with_what_it_kept(kept, seen, against):
    done = run(Recipe.parse(AGAIN % against))
    assert done.waterfall.documents_out == 0
    forgotten = 1  # its key stays: a copy of it is dropped, too
    assert done.waterfall.rows[-1].reasons == {"against": len(seen["kept"]) + forgotten}


def test_input_is_added_and_what_is_forgotten_stays_away(kept, seen):
    done = add("run", "later/c.jsonl")
    forgotten = set(json.loads(Path("run/forgotten.json").read_text())["ids"])
    documents = {document.id: document.text for document in done.documents()}
    assert set(seen["kept"]) < documents.keys() and not documents.keys() & forgotten
    assert not any(entry.problems for entry in verify(RunFolder("run")))
    fresh = Path("fresh")
    write_input(fresh)
    for path in (fresh / "later").iterdir():
        path.rename(fresh / "documents" / path.name)
    with chdir(fresh):
        texts = [document.text for document in run("kept.yaml").documents() if document.id not in forgotten]
    assert sorted(texts) == sorted(documents.values())


def test_a_document_is_forgotten(kept, seen):
    before = digest(corpusmill.loader.TokenLoader("run/output/shards", **LOADER), 12)
    done = forget.forget("run", forget.find("run", ids=seen["kept"][:1]))
    assert forget.check(Path(done.path)) == []
    assert {document.id for document in corpusmill.open("run").documents()} == set(seen["kept"][1:])
    assert digest(corpusmill.loader.TokenLoader("run/output/shards", **LOADER), 12) != before


def test_a_model_is_not_asked_again(kept, seen, monkeypatch):
    monkeypatch.setenv("SERVER", "http://127.0.0.1:9/v1")  # where nobody answers
    done = run("asked.yaml", folder="elsewhere", overrides="steps.model.server.answers=asked/answers")
    scores = done.sql('select id, "model.score" from documents order by 1').to_pylist()
    assert scores == seen["scores"]


# ------------------------------------------------------------- of a newer version


def changed(path, **values):
    path.write_text(json.dumps(json.loads(path.read_text("utf-8")) | values), "utf-8")


@pytest.fixture
def newest(tmp_path, monkeypatch):
    with tarfile.open(KEPT / f"{VERSIONS[-1]}.tar.xz") as archive:
        archive.extractall(tmp_path, filter="data")
    monkeypatch.chdir(tmp_path)


FOUND = rf"has format 2; this is corpusmill {__version__}, which reads up to 1\. "
UNKNOWN = FOUND + "A newer version wrote it, or it is damaged: pip install --upgrade corpusmill"


def test_the_folder_of_a_newer_version_is_refused_and_not_touched(newest):
    record = json.loads(Path("run/run.json").read_text("utf-8"))
    changed(Path("run/run.json"), format=2, versions=record["versions"] | {"corpusmill": "7.1.0"})
    wrote = FOUND + r"Version 7\.1\.0 wrote it: pip install 'corpusmill>=7\.1\.0'"
    for ask in (corpusmill.open, corpusmill.audit, lambda run: add(run, "later/c.jsonl")):
        with pytest.raises(errors.ResumeError, match=rf"run/run\.json: {wrote}"):
            ask("run")
    changed(Path("run/.corpusmill"), version=2)
    before = sorted(path.stat().st_mtime_ns for path in Path("run").rglob("*"))
    for plan in (corpusmill.run, corpusmill.check):
        with pytest.raises(errors.CorpusmillError, match=rf"run/\.corpusmill: {UNKNOWN}"):
            plan("kept.yaml")
    assert sorted(path.stat().st_mtime_ns for path in Path("run").rglob("*")) == before


@pytest.mark.parametrize(
    ("file", "ask"),
    [
        ("run/output/shards/index.json", lambda: corpusmill.loader.open("run/output/shards")),
        ("run/output/shards/forgotten.json", lambda: corpusmill.loader.open("run/output/shards")),
        ("run/forgotten.json", lambda: list(corpusmill.open("run").documents())),
        ("run/forget/0001.json", lambda: forget.check(Path("run/forget/0001.json"))),
        ("index/index.json", lambda: corpusmill.check(Recipe.parse(AGAIN % "index"))),
    ],
)
def test_a_record_of_a_newer_format_is_named(newest, file, ask):
    changed(Path(file), format=json.loads(Path(file).read_text("utf-8")).get("format", INDEX_FORMAT), version=2)
    with pytest.raises(errors.CorpusmillError, match=f"{file}: {UNKNOWN}"):
        ask()


def test_answers_of_a_newer_format_are_refused_and_stay(newest):
    log = Path("asked/answers") / LOG
    content = MAGIC.replace(b"%d" % ANSWERS_FORMAT, b"2") + log.read_bytes()[len(MAGIC) :]
    log.write_bytes(content)
    with pytest.raises(errors.ResumeError, match=f"{LOG}: {UNKNOWN}"):
        AnswerLog(log.parent)
    assert log.read_bytes() == content


def test_keys_of_another_format_are_refused(newest):
    about = json.loads(Path("index/index.json").read_text("utf-8"))
    changed(Path("index/index.json"), keys_of=about["keys_of"] | {"format": 99})
    with pytest.raises(errors.RecipeError, match=r"keys of another version of corpusmill, .*\(format 99, here \d+\)"):
        corpusmill.check(Recipe.parse(AGAIN % "index"))


def test_a_table_of_captures_of_a_newer_format_is_refused(tmp_path):
    collect(iter([CapturedAnswer("https://a.org", "robots", None, 200, None, "")]), tmp_path / "hosts")
    content = (tmp_path / "hosts").read_bytes()
    (tmp_path / "hosts").write_bytes(content.replace(b"corpusmill captures 1", b"corpusmill captures 2"))
    with pytest.raises(errors.AssetError, match=f"hosts: {UNKNOWN}"):
        Captures(tmp_path / "hosts")


def test_a_model_of_another_format_is_refused():
    with pytest.raises(errors.AssetError, match=r"model of format \d+; this reads 99"):
        read_model(assets.locate("quality-en"), "quality", 99, {}, "Train it again.")
