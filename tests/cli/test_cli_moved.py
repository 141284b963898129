"""Verbs of earlier versions: one line names the command that does the same now."""

import json
from typing import Any

import pytest
from typer.main import get_command

from corpusmill.cli.app import VERB_MODULES, app
from corpusmill.cli.help import ABSENT_OPTIONS, MOVED_VERBS, SHELL_SYNONYMS, SYNONYMS
from corpusmill.recipe.renamed import OPTIONS
from made_run import made_corpus


@pytest.mark.parametrize("verb", MOVED_VERBS)
def test_a_verb_that_was_merged_names_the_new_command(corpusmill, verb):
    status, out, err = corpusmill(verb, "runs/demo")
    assert (status, out) == (2, "")
    assert err == f"error: the verb `{verb}` is gone. Use: corpusmill {MOVED_VERBS[verb]}\n"


@pytest.mark.parametrize("verb", MOVED_VERBS)
def test_the_help_has_the_new_command_alone(corpusmill, verb):
    _, out, _ = corpusmill("-h")
    assert f"\n  {verb} " not in out
    words = MOVED_VERBS[verb].split()
    verbs = [word for word in words if word.islower() and word[0] != "-"]
    status, out, _ = corpusmill(*verbs, "-h")
    assert status == 0 and words[-1] in out


def test_a_verb_of_train_may_have_the_name(corpusmill):
    status, _, err = corpusmill("train", "card")
    assert status == 2 and "No such command" in err


@pytest.mark.parametrize("word", [*SYNONYMS, *SHELL_SYNONYMS])
def test_a_word_of_other_programs_is_answered_with_the_verb_that_does_it(corpusmill, word):
    status, out, err = corpusmill(word, "runs/demo")
    assert (status, out) == (2, "") and err.startswith(f"error: there is no verb `{word}`. "), err
    assert word not in VERB_MODULES
    if word in SYNONYMS:
        verb = SYNONYMS[word].split()[0]
        assert verb[0] == "-" or verb in VERB_MODULES
        assert f"Use: corpusmill {SYNONYMS[word]}\n" in err


def test_no_answer_to_a_word_removes_anything(corpusmill):
    for word in ("resume", "rm", "clean", "restart"):
        assert "remove'" not in corpusmill(word)[2] and "corpusmill remove R" not in corpusmill(word)[2]


@pytest.mark.parametrize("entry", OPTIONS, ids=lambda entry: entry.old)
def test_an_option_answers_to_its_old_name(corpusmill, entry):
    verb, old = entry.old.split()
    help = corpusmill(verb, "-h")[1]
    assert f"{entry.new} " in help and f"{old} " not in help
    for words in ([old, "0"], [f"{old}=0"]):
        _, _, err = corpusmill(verb, "nosuch", *words)
        assert err.startswith(
            f"warning: {old} is called {entry.new} since {entry.since}, and will be removed in {entry.removed_in}\n"
        )
        assert "No such option" not in err


@pytest.mark.parametrize(
    "words", ["push RUN --card", "train quality --good a --bad b --out c", "train lm --text a --out c"]
)
def test_licence_may_be_spelled_either_way_and_help_shows_one(corpusmill, words):
    verb = [word for word in words.partition(" --")[0].split() if word != "RUN"]
    assert "--licence" not in corpusmill(*verb, "-h")[1]
    for option in ("--license", "--licence"):
        assert "No such option" not in corpusmill(*words.split(), option, "CC0-1.0")[2]


@pytest.mark.parametrize("option", ABSENT_OPTIONS)
def test_options_that_run_has_in_other_programs_are_answered(corpusmill, option):
    status, _, err = corpusmill("run", "r.yaml", option)
    assert status == 2 and f"run has no {option}: {ABSENT_OPTIONS[option]}" in err


def test_where_output_goes_is_o_of_every_verb_that_has_an_option_for_it():
    group: Any = get_command(app())
    verbs = {**group.commands, **{f"train {name}": verb for name, verb in group.commands["train"].commands.items()}}
    for name, verb in verbs.items():
        for option in verb.params:
            if option.name in ("out", "folder") and option.param_type_name == "option":
                assert option.opts == ["-o", f"--{option.name}"], name


@pytest.mark.parametrize("option", ["-o", "--out", "--out=", "--folder"])
def test_a_run_folder_is_an_output_too(corpusmill, tmp_path, option):
    place = [f"{option}{tmp_path / 'run'}"] if option.endswith("=") else [option, tmp_path / "run"]
    _, out, _ = corpusmill("check", made_corpus(), *place, "--json")
    assert json.loads(out)["folder"] == str(tmp_path / "run")


def test_check_takes_the_options_of_run():
    group: Any = get_command(app())
    commands = group.commands
    options = {verb: {name for each in commands[verb].params for name in each.opts} for verb in ("check", "run")}
    assert options["check"] == options["run"]
