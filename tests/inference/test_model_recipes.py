"""The recipes that ask a model, on the demo's data and a server of our own: documents, report, card, and a classifier
that learns from the answers."""

import json
import re
from pathlib import Path

import pytest

from corpusmill.cli.app import app
from corpusmill.cli.common import guarded
from corpusmill.execute.serial import Serial
from corpusmill.models.quality import QualityModel
from corpusmill.ops.estimate import estimate
from corpusmill.ops.runs import run
from corpusmill.publish.eu_summary import eu_summary
from corpusmill.publish.published_run import PublishedRun
from corpusmill.publish.readme import dataset_card
from corpusmill.recipe import Recipe, shipped
from corpusmill.report.figures.models import model_uses, synthetic
from corpusmill.report.tables import RunTables
from made_model_server import ModelServer

pytest.importorskip("aiohttp")
BROKEN = ["run.error_budget=0.05"]  # some of the first records of the demo's file are broken on purpose


@pytest.fixture(scope="module")
def server():
    with ModelServer() as running:
        yield running


def command(*words: object) -> int:
    return guarded(lambda **options: app()(["train", "quality", *map(str, words)], **options))


@pytest.fixture
def given(server, monkeypatch):
    for name, value in {"INPUT": shipped.DEMO_FILES["jsonl"], "SERVER": server.url, "SAMPLE": "100%"}.items():
        monkeypatch.setenv(name, value)


def test_rewritten_documents_are_counted_in_report_card_and_summary(given, tmp_path):
    done = run(shipped.shipped("rewrite").path, overrides=BROKEN, folder=tmp_path / "run", executor=Serial())
    done.waterfall.check()
    tables = RunTables(done.folder)
    (use,) = model_uses(tables)
    originals = done.waterfall.rows[-1].sources["web"]["documents_out"]
    assert use.step == "rewrite" and use.documents >= 2 * originals > 0 and use.usd is None
    assert use.questions >= use.documents and use.prompt_tokens > use.answer_tokens > 0

    made = synthetic(tables)
    assert [entry.prompt for entry in made] == ["distil", "question_answer"]
    kept = done.waterfall.rows[-1].sources["rewritten"]["documents_out"]
    assert sum(entry.documents for entry in made) == kept > 0
    assert 0.1 < sum(entry.share for entry in made) < 0.5

    page = Path(done.report).read_text("utf-8")
    assert 'id="models"' in page and "Models have written" in page and "the original on the left" in page
    published = PublishedRun(tables)
    card = dataset_card(published, [], None)
    assert "## Language models" in card and "- synthetic" in card and "| rewritten |" in card
    assert f"{made[0].documents} documents" in eu_summary(published).partition("### 2.5")[2]


def test_a_classifier_learns_from_a_sample_of_answers(given, tmp_path, capsys):
    folder = tmp_path / "run"
    run(shipped.shipped("annotate-distil").path, overrides=BROKEN, folder=folder, executor=Serial())
    model = tmp_path / "teaches.quality"
    assert not command(folder, "--good", "model.score >= 2", "--out", model, "--json")
    card = json.loads(capsys.readouterr().out)
    assert card["data"]["good"]["condition"] == "model.score >= 2"
    assert card["data"]["bad"]["documents"] > 20 and card["held_out"]["auc"] > 0.7
    assert QualityModel.load(model)


@pytest.mark.parametrize(
    ("more", "words"),
    [
        ([], "give --good and --bad"),
        (["--good", "model.sore >= 2"], r'no column "model.sore"; did you mean "model.score"'),
        (["--good", "model.score >= 20"], "no document whose text is stored fulfils model.score >= 20"),
        (["--good", "model.score >= 2", "--good", "true"], "one condition"),
    ],
)
def test_a_wrong_condition_says_what_is_wrong(given, tmp_path_factory, capsys, more, words):
    folder = tmp_path_factory.getbasetemp() / "judged"
    run(shipped.shipped("annotate-distil").path, overrides=BROKEN, folder=folder, executor=Serial())
    assert command(folder, *more, "--out", folder.parent / "none.quality") == 2
    message = " ".join(capsys.readouterr().err.split())
    assert re.search(words, message), message


def test_an_estimate_asks_a_few_questions_which_the_run_does_not_ask_again(given, tmp_path):
    with ModelServer() as own:
        settings = [*BROKEN, f"steps.rewrite.server.url={own.url}", "steps.rewrite.server.prices=[1, 4]"]
        recipe = Recipe.load(shipped.shipped("rewrite").path, [*settings, f"run.folder={tmp_path / 'run'}"])
        cost = estimate(recipe)
        (model,) = cost.models
        first = own.told()["asked"]
        assert first - 16 <= model.asked <= 256 and model.asked < first and model.answered == 0
        done = run(recipe, executor=Serial())
        (use,) = model_uses(RunTables(done.folder))
        assert model.questions == pytest.approx(use.questions, rel=0.02)
        assert model.prompt_tokens == pytest.approx(use.prompt_tokens, rel=0.05)
        assert model.answer_tokens == pytest.approx(use.answer_tokens, rel=0.15)
        assert model.usd == pytest.approx(model.prompt_tokens / 1e6 + 4 * model.answer_tokens / 1e6)
        counts = own.told()
        assert counts["repeated"] == 0 and counts["asked"] == counts["different"]
        assert estimate(recipe).models[0].questions == 0
        assert own.told()["asked"] == counts["asked"]
