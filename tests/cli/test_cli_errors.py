"""How mistakes are answered: exit codes, one `error:` a line, JSON."""

import json
import sys

import pytest

from corpusmill.cli.common import guarded
from corpusmill.errors import BudgetError, MissingExtraError
from corpusmill.store.locks import only_driver
from corpusmill.store.run_folder import RunFolder
from made_run import made_corpus, made_run

WRONG = "read: {jsonl: x.jsonl}\nsteps:\n  - filter/gofer\n  - dedup/exakt\nrun: {worker: 3}\n"


def test_every_error_of_a_recipe_has_its_line_and_its_prefix(corpusmill, tmp_path):
    (tmp_path / "r.yaml").write_text(WRONG)
    status, out, err = corpusmill("check", tmp_path / "r.yaml")
    lines = [line for line in err.splitlines() if line]
    assert (status, out, len(lines)) == (2, "", 4)  # x.jsonl is not there, either
    assert all(line.startswith(f"error: {tmp_path}/r.yaml:") for line in lines)


@pytest.mark.parametrize(
    "words, said",
    [
        (("pek",), "error: No such command 'pek'."),
        (("run",), "error: Missing argument 'RECIPE'."),
        (("peek", "x", "--dropt"), "error: No such option: --dropt"),
        (("what-if", "x", "c4.min_words=3"), "error: c4.min_words=3 is a setting. Write: --set c4.min_words=3"),
        (("check", "x", "run.workers=3"), "error: run.workers=3 is a setting. Write: --set run.workers=3"),
        (("stats", "x", "run.workers=3"), "error: Got unexpected extra argument"),
    ],
)
def test_a_wrong_command_is_answered_in_the_same_form(corpusmill, words, said):
    status, out, err = corpusmill(*words)
    first, last = err.splitlines()
    assert (
        (status, out) == (2, "") and first.startswith(said) and last.startswith("See: corpusmill") and "--help" in last
    )


@pytest.mark.parametrize("words", [("peek", "x", "--dropped"), ("find", "x", "y", "-n"), ("peek", "x", "--dropt")])
def test_after_a_wrong_option_the_help_of_its_verb_is_named(corpusmill, words):
    status, out, err = corpusmill(*words)
    assert (status, out, err.splitlines()[-1]) == (2, "", f"See: corpusmill {words[0]} --help")


def test_with_json_an_error_is_one_object_on_stdout(corpusmill, tmp_path):
    (tmp_path / "r.yaml").write_text(WRONG)
    status, out, err = corpusmill("check", tmp_path / "r.yaml", "--json")
    error = json.loads(out)["error"]
    assert (status, error["code"], error["kind"]) == (2, 2, "RecipeError")
    assert [f"error: {problem}" for problem in error["problems"]] == err.splitlines()
    assert json.loads(corpusmill("peek", made_run(), "--dropt", "--json")[1])["error"]["kind"] == "UsageError"


def ended(monkeypatch, capsys, error: BaseException, *words: str):
    def app(**_):
        raise error

    monkeypatch.setattr(sys, "argv", ["corpusmill", *words])
    status = guarded(app)
    return status, *capsys.readouterr()


def test_a_missing_extra_is_a_wrong_command_and_bad_records_are_an_incomplete_run(monkeypatch, capsys):
    status, out, err = ended(monkeypatch, capsys, MissingExtraError("s3", "s3", libraries=["obstore"]), "run", "r.yaml")
    assert (status, out) == (2, "") and err.startswith("error: s3 needs obstore. Install: pip install 'corpusmill[s3]'")
    assert ended(monkeypatch, capsys, BudgetError("too many"), "run", "r.yaml")[0] == 1


def test_after_ctrl_c_the_advice_continues_the_run(monkeypatch, capsys):
    said = ended(monkeypatch, capsys, KeyboardInterrupt(), "run", "r.yaml")
    assert said == (130, "", "\ninterrupted. What is committed is safe: run the same command again to continue.\n")
    _, out, err = ended(monkeypatch, capsys, KeyboardInterrupt(), "run", "r.yaml", "--restart", "--json")
    assert "run the same command again without --restart to continue" in err and json.loads(out)["error"]["code"] == 130
    assert ended(monkeypatch, capsys, KeyboardInterrupt(), "peek", "runs/x")[2] == "\ninterrupted.\n"


def test_an_unknown_tokenizer_and_a_folder_at_work_are_refused_with_two(corpusmill, tmp_path):
    status, _, err = corpusmill("run", made_corpus(), "--set", "bpe.tokenizer=nope", "--folder", tmp_path / "run")
    assert status == 2 and "nope" in err
    busy = RunFolder(str(tmp_path / "busy"))
    busy.make()
    with only_driver(busy):
        status, _, err = corpusmill("run", made_corpus(), "--folder", tmp_path / "busy")
    assert status == 2 and "is at work in this folder" in err


def test_a_step_is_known_by_its_short_name(corpusmill):
    assert corpusmill("steps", "gopher_quality")[1] == corpusmill("steps", "filter/gopher_quality")[1]
    status, out, _ = corpusmill("steps", "exact")
    assert status == 0 and out.startswith("dedup/exact\n")
    status, out, _ = corpusmill("steps", "url")
    assert status == 0 and "dedup/url\n" in out and "filter/url\n" in out


def test_a_setting_needs_no_steps_before_the_name_of_a_step(corpusmill):
    status, _, err = corpusmill("check", made_corpus(), "--set", "gopher_quality.min_words=lots")
    assert status == 2 and "filter/gopher_quality: min_words must be a whole number" in err
    status, _, err = corpusmill("check", made_corpus(), "--set", "gofer_quality.min_words=3")
    assert status == 2 and 'did you mean "gopher_quality"' in err


def test_each_run_nearby_is_named_once(corpusmill, tmp_path, monkeypatch):
    (tmp_path / "runs" / "mine").mkdir(parents=True)
    (tmp_path / "runs" / "mine" / "run.json").write_text("{}")
    monkeypatch.chdir(tmp_path)
    status, _, err = corpusmill("peek", "runs")
    assert status == 2 and err.count("runs/mine") == 1


def test_a_limit_and_a_sample_are_settings_of_the_run(corpusmill, tmp_path):
    command = ("run", made_corpus(), "--folder", tmp_path / "run", "--limit", "10", "--set", "run.error_budget=1.0")
    status, out, _ = corpusmill(*command)
    assert status == 0 and "16 documents in" in out
    assert "warning: a limited run: the first 10 documents of each source" in out
    status, out, _ = corpusmill(*command)
    assert status == 0 and out.splitlines()[0] == f"nothing to do: the run is complete ({tmp_path}/run)"
    assert "16 documents in" in out and " s.\n" not in out and "min_words" not in out and "report.html" in out
    status, _, err = corpusmill("run", made_corpus(), "--sample", "2")
    assert status == 2 and "sample is a share above 0 and up to 1" in err
    status, _, err = corpusmill("run", made_corpus(), "--folder", made_run(), "--sample", "1%")
    assert status == 2 and "holds a run on all documents" in err
