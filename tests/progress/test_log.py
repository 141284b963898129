"""The log of a run, in its folder: what was printed, with the time, of every call, and without secrets."""

import re

import corpusmill
from corpusmill.engine.drive.listener import Silent
from corpusmill.errors import BudgetError
from corpusmill.progress.log import RunLog
from corpusmill.recipe.parts import RunSettings
from corpusmill.store.run_folder import LOG, RunFolder

TIME = r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ "


def test_each_call_appends_what_it_did_and_why_it_failed(tmp_path):
    (tmp_path / "a.jsonl").write_text('{"text": "one"}\n' * 30 + "{\n" * 2)
    for budget in (0.0, 0.5):
        recipe = corpusmill.Recipe(
            read={"jsonl": str(tmp_path / "a.jsonl")},
            write="jsonl",
            run=RunSettings(error_budget=budget, executor="serial"),
        )
        try:
            corpusmill.run(recipe, folder=tmp_path / "run", progress=False)
        except BudgetError:
            assert budget == 0.0
    lines = (tmp_path / "run" / LOG).read_text().splitlines()
    assert all(re.match(TIME, line) for line in lines)
    said = [re.sub(TIME, "", line) for line in lines]
    calls = [at for at, line in enumerate(said) if line.startswith("corpusmill ")]
    assert len(calls) == 2
    assert re.match(r"BudgetError: 2 of 32 records could not be processed", said[calls[1] - 1])
    assert "pass-1" in " ".join(said[calls[1] :]) and re.match(r"30 documents in, 30 out, in .* s", said[-1])


def test_what_cannot_be_written_ends_no_run_and_secrets_are_masked(tmp_path):
    with RunLog(Silent()) as log:
        log.note("https://me:secret-word@host/a?X-Amz-Signature=12ab")
        log.begin(RunFolder(str(tmp_path / "gone")))
        log.note("goes on")
        (tmp_path / "there").mkdir()
        log.begin(RunFolder(str(tmp_path / "there")))
        log.note("https://me:secret-word@host/a?X-Amz-Signature=12ab")
    text = (tmp_path / "there" / LOG).read_text()
    assert "secret-word" not in text and "12ab" not in text and "host/a" in text
