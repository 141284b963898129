"""Verbs that look at a finished run: each answer in words, as JSON, and refused."""

import json
import shutil
from itertools import pairwise

import pytest

from corpusmill.export import TAKERS
from made_run import HOSTILE_URL, made_corpus, made_run, unfinish, write_corpus


@pytest.fixture(scope="module")
def other(tmp_path_factory):
    """The folder of a run of the same documents with a lower threshold."""
    import corpusmill
    from corpusmill.execute.serial import Serial

    recipe = write_corpus(tmp_path_factory.mktemp("other"))
    changes = {"steps.gopher_quality.min_words": 9}
    return corpusmill.run(recipe, overrides=changes, folder=recipe.parent / "run", executor=Serial()).folder


def record_of(corpusmill, *words) -> dict:
    status, out, err = corpusmill(*words, "--json")
    assert status == 0, err
    return json.loads(out)


# ------------------------------------------------------------- stats and report


def test_statistics_have_a_table_for_each_thing(corpusmill):
    status, out, _ = corpusmill("stats", made_run())
    assert status == 0
    assert any(
        line.split() == ["step", "documents", "in", "out", "of", "the", "step", "of", "the", "input"]
        for line in out.splitlines()
    )
    assert "36 documents" in out and " vocabulary tokens in use (" in out and "plus 36 BOS and EOS tokens" in out
    assert "tokens per document" in out and "time and memory by stage" in out


def test_statistics_as_json_agree_with_the_report(corpusmill):
    stats, report = record_of(corpusmill, "stats", made_run()), record_of(corpusmill, "report", made_run())
    for name in ("funnel", "texts", "stages"):
        assert stats[name] == report[name], name
    assert stats["packed"]["tokens"] and 0 < stats["packed"]["utilisation"] <= 1
    assert stats["tokens"] and report["steps"][-1]["documents_out"] == 36
    assert report["report"] == str(made_run() / "report.html")


def test_a_run_without_tokens_says_what_they_need(corpusmill, tmp_path):
    (tmp_path / "d.jsonl").write_text('{"text": "one two"}\n')
    (tmp_path / "r.yaml").write_text(
        f"read: {{jsonl: {tmp_path}/d.jsonl}}\nwrite: [jsonl]\nrun: {{executor: serial}}\n"
    )
    assert corpusmill("run", tmp_path / "r.yaml", "--folder", tmp_path / "run")[0] == 0
    status, out, _ = corpusmill("stats", tmp_path / "run")
    assert status == 0 and "There are no token statistics: they need tokenize/bpe" in out
    assert record_of(corpusmill, "stats", tmp_path / "run")["tokens"] is None


def test_report_counts_each_document_once(corpusmill):
    steps = record_of(corpusmill, "report", made_run())["steps"]
    for step, following in pairwise(steps):
        assert step["documents_out"] == following["documents_in"]
        assert step["documents_in"] - step["documents_out"] == sum(step["reasons"].values())


# ------------------------------------------------------------- recipe


def test_the_recipe_of_a_run_gives_the_same_fingerprint(corpusmill, tmp_path):
    from corpusmill.recipe import Recipe

    status, out, _ = corpusmill("recipe", made_run())
    assert status == 0
    (tmp_path / "again.yaml").write_text(out)
    record = record_of(corpusmill, "recipe", made_run())
    assert record["resolved"] == out
    assert Recipe.load(tmp_path / "again.yaml").fingerprint() == record["fingerprint"]
    assert record["written"]["text"] == made_corpus().read_text()


def test_the_recipe_as_it_was_written_has_its_settings_as_comments(corpusmill, tmp_path):
    recipe = write_corpus(tmp_path)
    command = ("run", recipe, "--folder", tmp_path / "run", "--set", "gopher_quality.min_words=30", "--limit", "20")
    assert corpusmill(*command)[0] == 0
    out = corpusmill("recipe", tmp_path / "run", "--written")[1]
    comments, text = out[: out.index("\n", out.rindex("# --set")) + 1], recipe.read_text()
    assert "# --set gopher_quality.min_words=30\n" in comments and "# --set run.limit=20\n" in comments
    assert out == comments + text


# ------------------------------------------------------------- diff, what-if, explain


def test_two_runs_differ_in_a_setting_and_in_documents(corpusmill, other):
    status, out, _ = corpusmill("diff", made_run(), other, "-n", "1")
    assert status == 0 and out.splitlines()[0] == f"{made_run()} → {other}"
    assert "gopher_quality.min_words: 20 → 9" in out
    assert "documents kept  36 → 43 (+7)" in out and "7 differ" in out
    record = record_of(corpusmill, "diff", made_run(), other)
    assert record["documents"] == [36, 43] and record["lost"] == 0 and record["gained"] > 0


def test_what_was_predicted_is_what_the_other_run_has(corpusmill, other):
    answer = record_of(corpusmill, "what-if", made_run(), "--set", "gopher_quality.min_words=9")
    flow = {step["step"]: step["documents_out"] for step in record_of(corpusmill, "report", other)["steps"]}
    for step in answer["after"]:
        if step["step"] not in answer["open_steps"]:
            assert step["documents_out"] == flow[step["step"]]


def test_the_same_thresholds_change_nothing(corpusmill):
    status, out, _ = corpusmill("what-if", made_run(), "--set", "gopher_quality.min_words=20")
    assert status == 0 and "no changes: these are the thresholds of the run" in out and "newly" not in out


def test_no_examples_are_shown_if_none_are_asked_for(corpusmill):
    out = corpusmill("what-if", made_run(), "--set", "gopher_quality.min_words=9", "--examples", "0")[1]
    assert "newly kept: 7 documents" in out and "content_words" not in out


@pytest.mark.parametrize("name", ["http://made.org/0", HOSTILE_URL])
def test_a_document_is_found_by_url_id_and_place(corpusmill, name):
    (history,) = record_of(corpusmill, "explain", made_run(), name)["documents"]
    by_id = record_of(corpusmill, "explain", made_run(), history["id"])["documents"]
    place = f"{history['file']}:{history['position']}"
    assert by_id == [history] == record_of(corpusmill, "explain", made_run(), place)["documents"]


# ------------------------------------------------------------- verify, export


def test_verify_says_how_much_there_is(corpusmill):
    record = record_of(corpusmill, "verify", made_run())
    (folder,) = record["folders"]
    assert record["problems"] == [] and folder["format"] == "shards" and folder["tokens"] == record["tokens"]
    assert "canaries" not in record
    status, out, _ = corpusmill("verify", made_run())
    assert status == 0 and f"{record['tokens']:,} tokens" in out and "(shards), everything verified" in out


@pytest.mark.parametrize("format", ["jsonl", "parquet", "nanogpt", "llmc", "megatron"])
def test_an_export_is_verified_like_a_run(corpusmill, tmp_path, format):
    split = ("--val-fraction", "0.2") if format in TAKERS["val_fraction"] else ()
    exported = record_of(corpusmill, "export", made_run(), format, tmp_path / "out", *split)
    assert exported["format"] == format and exported["folder"] == str(tmp_path / "out")
    record = record_of(corpusmill, "verify", tmp_path / "out")
    (folder,) = record["folders"]
    assert (record["problems"], folder["format"], folder["files"]) == ([], format, exported["files"])
    largest = max(
        (path for path in (tmp_path / "out").iterdir() if path.name[0] != "."), key=lambda p: p.stat().st_size
    )
    largest.write_bytes(largest.read_bytes()[:-1])
    status, out, _ = corpusmill("verify", tmp_path / "out")
    assert status == 1 and largest.name in out and "problem" in out


def test_an_export_says_what_it_has_written(corpusmill, tmp_path):
    status, out, err = corpusmill("export", made_run(), "jsonl", tmp_path / "out", "--single-file")
    assert (status, err) == (0, "") and out.startswith(f"{tmp_path}/out: 36 documents in 1 file, ")


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("jsnl", "new"), 'there is no format "jsnl" to export; did you mean "jsonl"?'),
        (("nanogpt", "new", "--val-fraction", "1"), "val_fraction is a share from 0 to less than 1"),
        (("megatron", "new", "--val-tokens", "5"), "--val-tokens is for nanogpt, llmc, and not for megatron"),
        (("jsonl", "."), "there is something already"),
    ],
)
def test_an_export_that_cannot_be_is_refused(corpusmill, tmp_path, monkeypatch, words, message):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mine").write_text("mine")
    status, out, err = corpusmill("export", made_run(), *words)
    assert (status, out) == (2, "") and message in err
    assert [path.name for path in tmp_path.iterdir()] == ["mine"]


# ------------------------------------------------------------- peek, sql


@pytest.mark.parametrize("count", [1, 3, 36, 40])
def test_peek_shows_so_many_documents(corpusmill, count):
    documents = record_of(corpusmill, "peek", made_run(), "-n", count)["documents"]
    assert len(documents) == min(count, 36) and len({document["id"] for document in documents}) == len(documents)


def test_repeated_lines_need_a_step_that_counts_them(corpusmill):
    status, out, err = corpusmill("peek", made_run(), "--repeated")
    assert (status, out) == (2, "") and "`dedup/line: {mark: true}` in its recipe does" in err


def test_counts_of_sql_are_those_of_the_report(corpusmill):
    query = "select dropped_by, count(*) as n from documents where dropped_by is not null group by 1 order by 1"
    rows = record_of(corpusmill, "sql", made_run(), query)["rows"]
    steps = record_of(corpusmill, "report", made_run())["steps"]
    dropped = {step["step"]: sum(step["reasons"].values()) for step in steps if sum(step["reasons"].values())}
    assert dict(rows) == dropped


def test_nothing_of_a_run_can_be_changed_by_sql(corpusmill):
    for query in ("drop table documents", "delete from documents", "select 1; select 2", ""):
        status, _, err = corpusmill("sql", made_run(), query)
        assert status == 2 and err.startswith("error: "), query


# ------------------------------------------------------------- all of them


QUESTIONS = [
    ("stats",), ("report",), ("recipe",), ("verify",), ("explain", "x"), ("peek",), ("sql",), ("audit",), ("find", "x"),
    ("trace", "--step", "0"), ("add", "--list"), ("push", "--card"), ("forget", "--domain", "a.org"),
]  # fmt: skip


@pytest.mark.parametrize("question", QUESTIONS, ids=" ".join)
def test_where_there_is_no_run_it_is_one_line_and_one_object(corpusmill, tmp_path, question):
    verb, *rest = question
    status, out, err = corpusmill(verb, tmp_path / "none", *rest, "--json")
    assert status in (1, 2) and len(err.splitlines()) <= 2 and err.startswith("error: ")
    error = json.loads(out)["error"]
    assert error["code"] == status and str(tmp_path / "none") in error["message"]


@pytest.mark.parametrize(
    "question", [("stats",), ("audit",), ("find", "x"), ("push", "--card"), ("forget", "--domain", "a.org")]
)
def test_a_run_that_is_not_finished_says_which_stage_is_missing(corpusmill, tmp_path, question):
    folder = shutil.copytree(made_run(), tmp_path / "run")
    unfinish(folder, "shards")
    verb, *rest = question
    status, out, err = corpusmill(verb, folder, *rest)
    assert (status, out) == (1, "") and "shards has 0 of 1 units" in err
