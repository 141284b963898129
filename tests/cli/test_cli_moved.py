"""Verbs of earlier versions: one line names the command that does the same now."""

import pytest

from corpusmill.cli.help import MOVED_VERBS


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
