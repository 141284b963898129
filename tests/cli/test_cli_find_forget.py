"""`find` and `forget` in the terminal: passages, parts of a text, requests, manifests."""

import json
import shutil
from pathlib import Path

import pytest

from made_run import HOSTILE_URL, made_run


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """A copy of a run with an index of its texts."""
    from corpusmill.ops.find import TextIndex

    folder = shutil.copytree(made_run(), tmp_path_factory.mktemp("find") / "run")
    TextIndex(folder, workers=1)
    return folder


@pytest.fixture(scope="module")
def first(run):
    """The first kept document: id, url and text."""
    import corpusmill

    return next(iter(corpusmill.open(run).documents()))


def record_of(corpusmill, *words) -> dict:
    status, out, err = corpusmill(*words, "--json")
    assert status == 0, err
    return json.loads(out)


def test_a_passage_is_shown_in_its_text(corpusmill, run, first):
    passage = first.text[10:60]
    status, out, _ = corpusmill("find", run, passage)
    head, around, count = out.splitlines()
    assert status == 0 and head == f"{first.id}  {first.url}"
    assert around.startswith("    byte 10: ") and f"⟦{passage}⟧" in around
    assert count.startswith("1 occurrence, in 1 of 36 documents, ")


@pytest.mark.parametrize("limit", [0, 1, 3])
def test_all_are_counted_and_so_many_shown(corpusmill, run, limit):
    record = record_of(corpusmill, "find", run, "the", "-n", limit)
    assert record["documents"] == 36 and record["count"] > 36 and len(record["occurrences"]) == limit
    assert corpusmill("find", run, "the", "-n", limit)[1].count("    byte ") == limit


def test_counts_are_those_of_the_texts(corpusmill, run):
    import corpusmill as mill

    texts = [document.text for document in mill.open(run).documents()]
    for passage in ("river", "the", " the ", "e", "zebra"):
        record = record_of(corpusmill, "find", run, passage)
        starts = [sum(text.startswith(passage, at) for at in range(len(text))) for text in texts]
        assert (record["count"], record["documents"]) == (sum(starts), sum(map(bool, starts))), passage


def test_a_passage_that_is_nowhere_is_an_answer(corpusmill, run):
    status, out, _ = corpusmill("find", run, "no such words")
    assert status == 0 and out.startswith("0 occurrences, in 0 of 36 documents")


def test_the_parts_of_a_text_that_are_in_the_run(corpusmill, run, first, tmp_path):
    copied = " ".join(first.text.split()[5:25])
    (tmp_path / "answer.txt").write_text(f"It was said: {copied}, and so on without end.")
    record = record_of(corpusmill, "find", run, "--spans", tmp_path / "answer.txt")
    (span,) = record["spans"]
    assert copied in span["text"] and span["first"]["id"] == first.id and span["count"] == 1
    status, out, _ = corpusmill("find", run, "--spans", tmp_path / "answer.txt")
    assert status == 0 and out.splitlines()[-1].startswith("1 part of 8 words or more, ")
    assert f"    first in {first.id}  {first.url}" in out
    assert record_of(corpusmill, "find", run, "--spans", tmp_path / "answer.txt", "--words", "80")["spans"] == []


def test_an_empty_text_has_no_parts(corpusmill, run, tmp_path):
    (tmp_path / "empty.txt").write_text("")
    status, out, _ = corpusmill("find", run, "--spans", tmp_path / "empty.txt")
    assert status == 0 and out == "0 parts of 8 words or more, 0 % of the text\n"


def test_the_steps_that_read_a_document(corpusmill, run, first):
    passage = first.text[10:60]
    record = record_of(corpusmill, "find", run, passage, "--steps", "--batch", "2")
    steps = record["steps"][first.id]
    assert steps and all(entry["rank"] == 0 for entry in steps)
    out = corpusmill("find", run, passage, "--steps", "--batch", "2")[1]
    assert f"{first.id}  in step" in out and f"{steps[0]['step']} (rank 0, row {steps[0]['row']})" in out


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ((), "give a TEXT to find, or --spans"),
        (("x", "--canaries"), "give a TEXT to find, or --spans"),
        (("",), "the passage to find is empty"),
        (("--canaries",), "the run has planted nothing"),
        (("--spans", "none.txt"), "none.txt: cannot be read as text in UTF-8"),
    ],
)
def test_a_question_that_is_none_is_refused(corpusmill, run, words, message):
    status, out, err = corpusmill("find", run, *words)
    assert (status, out) == (2, "") and message in err


# ------------------------------------------------------------- forget


@pytest.fixture
def copy(tmp_path):
    return shutil.copytree(made_run(), tmp_path / "run")


def test_a_dry_run_names_the_documents_and_changes_nothing(corpusmill, copy):
    before = {path: path.stat().st_mtime_ns for path in copy.rglob("*") if path.is_file()}
    status, out, _ = corpusmill("forget", copy, "--domain", "made.org", "--dry-run")
    assert status == 0 and "51 documents: 30 in the output, the others dropped before" in out
    assert out.splitlines()[5] == "and 46 more" and out.splitlines()[-1] == "nothing is changed: this was only to see"
    record = record_of(corpusmill, "forget", copy, "--domain", "made.org", "--dry-run")
    assert len(record["documents"]) == 51 and sum(document["kept"] for document in record["documents"]) == 30
    assert record["dry_run"] and record["manifest"] is None and record["changed"] == []
    assert before == {path: path.stat().st_mtime_ns for path in copy.rglob("*") if path.is_file()}


def test_copies_are_forgotten_with_their_original(corpusmill, copy, tmp_path):
    (tmp_path / "urls.txt").write_text("http://made.org/10\n\n  http://made.org/none  \n")
    record = record_of(corpusmill, "forget", copy, "--urls", tmp_path / "urls.txt", "--copies", "--dry-run")
    assert [(document["url"], document["kept"], document["copy"]) for document in record["documents"]] == [
        ("http://made.org/10", True, False),
        ("http://made.org/42", False, True),
    ]
    assert record["missing"] == ["http://made.org/none"]


def test_what_is_forgotten_is_gone_and_the_manifest_says_so(corpusmill, copy, tmp_path):
    (tmp_path / "urls.txt").write_text("http://made.org/7\n")
    status, out, _ = corpusmill("forget", copy, "--urls", tmp_path / "urls.txt")
    manifest = Path(out.splitlines()[-1].removeprefix("manifest: "))
    assert status == 0 and "1 document: 1 in the output" in out and "may still hold their text: " in out
    assert corpusmill("forget", copy, "--check", manifest)[:2] == (0, "as the manifest says\n")
    assert corpusmill("verify", copy)[0] == 0
    record = json.loads(manifest.read_text())
    record["urls"] = ["http://made.org/8"]
    manifest.write_text(json.dumps(record))
    status, out, _ = corpusmill("forget", copy, "--check", manifest, "--json")
    (problem,) = json.loads(out)["problems"]
    assert status == 1 and "its signature is not that of its content with this key: it was changed" in problem


def test_a_manifest_is_signed_with_a_key_of_a_file_or_the_environment(corpusmill, copy, tmp_path, monkeypatch):
    (tmp_path / "key").write_text("a secret of many letters\n")
    (tmp_path / "ids").write_text("")
    (tmp_path / "urls.txt").write_text(HOSTILE_URL)
    command = ("forget", copy, "--urls", tmp_path / "urls.txt", "--key", tmp_path / "key")
    manifest = record_of(corpusmill, *command)["manifest"]
    status, _, err = corpusmill("forget", copy, "--check", manifest)
    assert status == 2 and "it is signed; give the key with --key FILE" in err
    assert corpusmill("forget", copy, "--check", manifest, "--key", tmp_path / "key")[0] == 0
    monkeypatch.setenv("CORPUSMILL_FORGET_KEY", "another secret of letters")
    assert corpusmill("forget", copy, "--check", manifest)[0] == 1
    monkeypatch.setenv("CORPUSMILL_FORGET_KEY", "a secret of many letters")
    assert corpusmill("forget", copy, "--check", manifest)[0] == 0


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ((), "say what to forget: --domain, --urls, --ids or --text"),
        (("--domain", "localhost"), '"localhost" is not a domain'),
        (("--domain", "a.org"), "the run has no such document, kept or dropped. Nothing is changed"),
        (("--urls", "none"), "none: cannot be read as text"),
        (("--text", "blank"), "blank: there is no text in it; every document would be meant"),
        (("--domain", "made.org", "--key", "blank"), "blank: the key is empty"),
        (("--domain", "made.org", "--key", "none"), "none: the key cannot be read"),
        (("--check", "blank"), "blank: not a manifest of `corpusmill forget`"),
    ],
)
def test_a_request_that_is_none_changes_nothing(corpusmill, copy, tmp_path, monkeypatch, words, message):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "blank").write_text(" \n")
    status, out, err = corpusmill("forget", copy, *words)
    assert (status, out) == (2, "") and message in err
    assert corpusmill("verify", copy)[0] == 0 and not (copy / "forgotten").exists()
