"""Exit status 2: the command or its input is wrong, and nothing ran; of every verb."""

import shlex

import pytest

from corpusmill.cli.app import VERB_MODULES
from made_run import made_run

NO_RUN = {
    "ablate": "X",
    "add": "X d.jsonl", "audit": "X", "check": "X", "diff": "X RUN", "explain": "X abc", "export": "X jsonl new",
    "find": "X river", "forget": "X --domain a.example", "index": "X new", "inspect": "X --no-browser", "new": "X",
    "peek": "X", "plan": "X --params 7B", "push": "X --card", "recipe": "X", "remove": "X d.jsonl", "report": "X",
    "rights": "X --out t.captures", "run": "X", "sql": "X", "stats": "X", "steps": "X", "trace": "X --row 0",
    "train": "tokenizer X --vocab-size 300 --out t.json", "verify": "X", "watch": "X --once",
    "what-if": "X --set gopher_quality.min_words=3", "work": "X",
}  # fmt: skip
WITHOUT_INPUT = {"demo", "warm"}
WRONG = (
    "audit RUN --bound nosuch=1", "audit RUN --prompt nosuch/p.txt", "explain RUN nosuch", "export RUN nosuch new",
    "export RUN megatron RUN", "find RUN ''", "forget RUN --check nosuch", "index RUN new --dedup nosuch",
    "peek RUN --dropped nosuch", "peek RUN --id nosuch", "run nosuch.yaml --limit 0", "sql RUN selec", "stats",
    "trace RUN --row 0 --seq-len -1", "trace RUN --row 999999", "trace RUN --shard 0 --token 99999999",
    "trace RUN --shard 9 --token 0", "trace RUN --step 0 --rank 9", "verify RUN --tokenizer nosuch", "what-if RUN",
    "what-if RUN --set a.b=3",
)  # fmt: skip


def test_every_verb_is_here():
    assert NO_RUN.keys() | WITHOUT_INPUT == set(VERB_MODULES)


@pytest.mark.parametrize("there", [False, True], ids=["nothing", "empty folder"])
@pytest.mark.parametrize("verb", NO_RUN)
def test_input_that_is_not_there_is_2(corpusmill, tmp_path, monkeypatch, verb, there):
    monkeypatch.chdir(tmp_path)
    if there:
        (tmp_path / "X").mkdir()
    words = [{"RUN": str(made_run())}.get(word, word) for word in NO_RUN[verb].split()]
    status, out, err = corpusmill(verb, *words)
    assert (status, out) == (2, "") and err.startswith(("error: ", "Usage: ")), err
    assert [path.name for path in tmp_path.iterdir()] == ["X"] * there


@pytest.mark.parametrize("line", WRONG)
def test_a_wrong_question_is_2(corpusmill, tmp_path, monkeypatch, line):
    monkeypatch.chdir(tmp_path)
    words = [{"RUN": str(made_run())}.get(word, word) for word in shlex.split(line)]
    status, out, err = corpusmill(*words)
    assert (status, out) == (2, "") and "error: " in err, err
    assert not list(tmp_path.iterdir())
