"""What run.json says of a run: enough to know when, where and how, and to do the same again."""

import json
import shutil
from datetime import datetime
from pathlib import Path

import pytest

import corpusmill
from corpusmill.cli.report import report
from corpusmill.engine.drive.listener import Silent
from corpusmill.execute.serial import Serial
from corpusmill.recipe import Recipe
from corpusmill.report.figures.amounts import amounts
from corpusmill.report.figures.calls import calls
from corpusmill.report.page import write_page
from corpusmill.report.tables import RunTables
from made_run import made_corpus, made_run

NEW = ("written", "calls", "assets", "solved")  # what early versions did not record


def record_of(folder: Path) -> dict:
    return json.loads((folder / "run.json").read_text("utf-8"))


def test_a_run_says_when_where_and_how_it_was_done():
    record = record_of(made_run())
    (call,) = record["calls"]
    began, ended = (datetime.fromisoformat(call[name]) for name in ("started", "ended"))
    assert began <= ended and began.utcoffset().total_seconds() == 0
    assert call["outcome"] == "finished" and 0 < call["seconds"] < 3600
    assert call["workers"] == 1 and call["executor"] == "serial" and call["peak_memory"] != 0
    assert call["machine"]["host"] and call["machine"]["cpus"] >= call["machine"]["cpus_usable"] >= 1
    assert call["machine"]["cpu"] and call["machine"]["system"] and call["machine"]["memory"] > 1 << 28
    assert call["fingerprint"] == record["fingerprint"] and call["command"] == record["command"]
    assert call["stages"]["pass-1"] == {"units": 2, "done": 2, "workers": 1} | call["stages"]["pass-1"]
    assert {"corpusmill", "python", "pyarrow", "numpy", "numba", "tokenizers"} <= record["versions"].keys()
    assert record["assets"]["gpt2"]["sha256"].startswith("38873a73")
    assert record["solved"] == {"minhash": {"bands": 16, "rows": 7}}


def test_the_recipe_is_recorded_as_written_and_as_resolved():
    record, recipe = record_of(made_run()), Recipe.load(made_corpus())
    assert record["written"] == {"text": made_corpus().read_text(), "file": str(made_corpus()), "overrides": []}
    again = Recipe.parse(record["recipe"])
    assert again == recipe and again.fingerprint() == record["fingerprint"]
    for line in (
        "# gpt2: sha256 38873a73",
        "# minhash: bands 16",
        "tokenizer: gpt2",
        "max_words: 100000",
        "unit_mb: 128",
    ):
        assert line in record["recipe"]


class Stopped(Silent):
    """Ctrl-C after the first unit."""

    def commit(self, *_):
        raise KeyboardInterrupt


def test_a_run_that_is_resumed_keeps_the_record_of_earlier_calls(tmp_path):
    with pytest.raises(KeyboardInterrupt):
        corpusmill.run(made_corpus(), folder=tmp_path / "run", executor=Serial(), listener=Stopped())
    (first,) = record_of(tmp_path / "run")["calls"]
    assert first["outcome"] == "interrupted" and first["ended"] and list(first["stages"]) == ["pass-1"]
    changed = ["run.error_budget=6"]
    corpusmill.run(made_corpus(), overrides=changed, folder=tmp_path / "run", executor=Serial())
    record = record_of(tmp_path / "run")
    assert record["calls"][0] == first and [call["outcome"] for call in record["calls"]] == ["interrupted", "finished"]
    assert first["fingerprint"] == record["fingerprint"] and record["written"]["overrides"] == changed
    page = (tmp_path / "run" / "report.html").read_text("utf-8")
    assert " in 2 calls · 1 worker on " in page and f"<code>--set {changed[0]} </code>" in page

    # What was done of another first pass is no part of this one.
    other = ["steps.gopher_quality.min_words=60"]
    corpusmill.run(made_corpus(), overrides=other, folder=tmp_path / "run", executor=Serial())
    found = calls(RunTables(tmp_path / "run"))
    assert len(record_of(tmp_path / "run")["calls"]) == 3
    assert first not in found.calls and found.last["fingerprint"] != first["fingerprint"]


def test_a_call_that_fails_says_so(tmp_path):
    with pytest.raises(corpusmill.errors.BudgetError):
        corpusmill.run(made_corpus(), overrides=["run.error_budget=0"], folder=tmp_path / "run", executor=Serial())
    assert [call["outcome"] for call in record_of(tmp_path / "run")["calls"]] == ["failed"]


def test_a_run_by_an_early_version_is_looked_at_as_before(tmp_path, capsys):
    folder = shutil.copytree(made_run(), tmp_path / "run")
    record = record_of(folder)
    early = {name: value for name, value in record.items() if name not in NEW}
    (folder / "run.json").write_text(json.dumps(early | {"recipe": Recipe.load(made_corpus()).dump()}))
    page = Path(write_page(folder)).read_text("utf-8")
    assert '<p id="run"' not in page and "Machine and software" not in page and "early version of corpusmill" in page
    report(str(folder))
    assert "elapsed" in capsys.readouterr().out
    assert RunTables(folder).files.recipe == Recipe.load(made_corpus())
    # Its next call begins the list of calls.
    corpusmill.run(made_corpus(), folder=folder, executor=Serial())
    assert len(record_of(folder)["calls"]) == 1


def test_secrets_and_the_host_are_left_out(tmp_path, monkeypatch):
    monkeypatch.setenv("DATA_TOKEN", "opensesame")
    monkeypatch.setenv("CORPUSMILL_HOST", "")
    (tmp_path / "opensesame.jsonl").write_text('{"text": "the river"}\n')
    recipe = tmp_path / "r.yaml"
    recipe.write_text(f'read: [jsonl: "{tmp_path}/${{DATA_TOKEN}}.jsonl"]\nsteps: [filter/gopher_quality]\n')
    monkeypatch.setattr("sys.argv", ["corpusmill", "run", str(recipe), "--set", "name=opensesame"])
    done = corpusmill.run(recipe, folder=tmp_path / "run", executor=Serial())
    record = record_of(done.folder)
    assert "opensesame" not in (done.folder / "run.json").read_text()
    again = Recipe.parse(record["recipe"])
    assert again.read[0].paths == (f"{tmp_path}/opensesame.jsonl",) and again.fingerprint() == record["fingerprint"]
    assert record["calls"][0]["machine"]["host"] is None and record["command"][-1] == "name=${DATA_TOKEN}"
    assert "1 worker</p>" in done.report.read_text() or "1 worker<code" in done.report.read_text()


def test_a_call_that_was_killed_has_no_end_and_is_counted(tmp_path):
    folder = shutil.copytree(made_run(), tmp_path / "run")
    record = record_of(folder)
    killed = {name: value for name, value in record["calls"][0].items() if name not in ("stages", "peak_memory")}
    killed |= {"id": "0", "ended": None, "seconds": None, "outcome": None}
    (folder / "run.json").write_text(json.dumps(record | {"calls": [killed, *record["calls"]]}))
    page = Path(write_page(folder)).read_text("utf-8")
    assert ", without 1 that recorded no end." in page and ">no end recorded<" in page


def test_the_recipe_of_a_run_is_printed(corpusmill):
    status, out, _ = corpusmill("recipe", made_run())
    assert status == 0 and out == record_of(made_run())["recipe"]
    assert corpusmill("recipe", made_run(), "--written")[1] == made_corpus().read_text()
    said = json.loads(corpusmill("recipe", made_run(), "--json")[1])
    assert said["resolved"] == out and said["written"]["file"] == str(made_corpus())


def test_bytes_of_files_and_of_texts_are_told_apart():
    tables = RunTables(made_run())
    found, flow = amounts(tables), tables.files.waterfall()
    files = {name: (made_corpus().parent / f"{name}.jsonl").stat().st_size for name in ("web", "extra")}
    assert found.whole.input_bytes == sum(files.values()) and found.whole.files == 2
    assert {name: one.input_bytes for name, one in found.sources.items()} == files
    assert found.whole.text_bytes == flow.rows[0].bytes_in == sum(one.text_bytes for one in found.sources.values())
    assert found.whole.kept_bytes == flow.rows[-1].bytes_out < found.whole.text_bytes < found.whole.input_bytes
    assert found.whole.kept_tokens == flow.rows[-1].tokens_out
