"""What all verbs share: how a command ends, what is said on stderr, JSON."""

import json
import sys
from pathlib import Path

import pytest
import typer

from corpusmill.cli import common
from corpusmill.errors import AssetError, BudgetError, InputError, RecipeError, RefusedFolder, ResumeError, StorageError
from corpusmill.execute import termination


@pytest.fixture
def end(monkeypatch, capsys):
    """end(what, *words): status, stdout and stderr of a command whose app returns a value or raises an error."""

    def run(what, *words):
        def app(**_):
            if isinstance(what, BaseException):
                raise what
            return what() if callable(what) else what

        monkeypatch.setattr(sys, "argv", ["corpusmill", *words])
        monkeypatch.setattr(sys, "path", list(sys.path))
        status = common.guarded(app)
        return status, *capsys.readouterr()

    return run


@pytest.mark.parametrize(
    ("error", "status"),
    [
        (InputError("a"), 2),
        (RecipeError("a"), 2),
        (AssetError("a"), 2),
        (RefusedFolder("a"), 2),
        (BudgetError("a"), 1),
        (StorageError("a"), 1),
        (ResumeError("a"), 1),
    ],
)
def test_what_did_not_begin_ends_with_two_and_what_did_not_end_with_one(end, error, status):
    assert end(error, "run", "r.yaml") == (status, "", "error: a\n")


@pytest.mark.parametrize(("value", "status"), [(None, 0), (0, 0), (3, 3), (typer.Exit(1), 1), (typer.Exit(), 0)])
def test_a_command_may_say_itself_how_it_ends(end, value, status):
    assert end(value, "stats", "x") == (status, "", "")


def test_every_line_of_an_error_has_its_prefix_and_empty_ones_are_left_out(end):
    _, _, err = end(InputError("one\n\n  two\n"), "check", "r.yaml")
    assert err == "error: one\nerror:   two\n"


@pytest.mark.parametrize("error", [KeyboardInterrupt(), typer.Abort(), 130])
def test_an_interrupt_is_one_whatever_typer_makes_of_it(end, error):
    status, out, err = end(error, "stats", "runs/x")
    assert (status, out, err) == (130, "", "\ninterrupted.\n")


@pytest.mark.parametrize(
    ("words", "status", "advice"),
    [
        (("run", "r.yaml"), 143, "run the same command again to continue"),
        (("run", "r.yaml", "--restart"), 143, "run the same command again without --restart to continue"),
        (("work", "r.yaml"), 75, "run the same command again to take part again"),
        (("stats", "runs/x"), 143, "terminated."),
    ],
)
def test_a_signal_ends_a_run_with_advice_and_a_worker_with_its_own_status(end, words, status, advice):
    code, out, err = end(termination.Terminated(143), *words)
    assert (code, out) == (status, "") and err.startswith("\nterminated.") and advice in err


def test_words_after_two_dashes_are_no_options(end):
    assert end(InputError("a"), "find", "runs/x", "--", "--json")[1] == ""
    assert json.loads(end(InputError("a"), "find", "runs/x", "--json", "--", "x")[1])["error"]["message"] == "a"


def test_there_is_one_object_on_stdout_also_if_an_error_follows_the_result(end):
    def app():
        common.print_json({"verdict": "damaged"})
        raise BudgetError("too many")

    status, out, err = end(app, "run", "--json")
    assert status == 1 and json.loads(out) == {"verdict": "damaged"} and "too many" in err
    assert "error" in json.loads(end(BudgetError("too many"), "run", "--json")[1]), "the next command begins again"


def test_json_is_for_people_too(capsys):
    common.print_json({"path": Path("a/b"), "text": "Ωμέγα", "list": [1, None]})
    out = capsys.readouterr().out
    assert "Ωμέγα" in out and json.loads(out) == {"path": "a/b", "text": "Ωμέγα", "list": [1, None]}


def test_what_is_said_is_no_result(capsys):
    common.say("words")
    assert capsys.readouterr() == ("", "words\n")


def test_a_fault_of_the_program_is_not_hidden(end):
    with pytest.raises(ZeroDivisionError):
        end(ZeroDivisionError("a"), "run")


def test_a_crash_shows_no_secret_of_a_url(capsys):
    url = "https://a.org/x?X-Amz-Signature=5ec2e7&page=1"
    try:
        raise OSError(f"cannot open {url}")
    except OSError as error:
        common.show_crash(type(error), error, error.__traceback__)
    err = capsys.readouterr().err
    assert "OSError: cannot open https://a.org/x" in err and "5ec2e7" not in err


def test_code_beside_the_recipe_can_be_imported(end):
    seen = []
    end(lambda: seen.append(sys.path[0]), "run", "r.yaml")
    assert seen == [""]


@pytest.mark.parametrize(
    ("rows", "lines"),
    [
        ([["a", "1"], ["bb", "22"]], ["a    1", "bb  22"]),
        ([["文", "1"], ["bb", "2"]], ["文  1", "bb  2"]),
        ([["only"]], ["only"]),
        ([["a", ""], ["b", "1"]], ["a", "b  1"]),
    ],
)
def test_cells_in_columns(rows, lines):
    assert common.aligned(rows) == lines


@pytest.mark.parametrize("flag", ["--version", "-h", "--help"])
def test_nothing_runs_for_a_question_about_the_program(corpusmill, flag):
    status, out, err = corpusmill(flag)
    assert (status, err) == (0, "") and out.strip()


def test_an_empty_command_line_is_answered_with_the_help(corpusmill):
    status, out, err = corpusmill()
    assert (status, err) == (0, "") and out.startswith("Usage: corpusmill VERB")


def test_train_without_a_verb_lists_its_verbs(corpusmill):
    status, out, err = corpusmill("train")
    assert (status, err) == (0, "")
    assert all(f"  {verb}" in out for verb in ("quality", "lm", "tokenizer"))
