"""What a language model makes of documents: new ones, behind the old or in their place."""

import json

import duckdb
import pytest

import corpusmill
from conftest import docs
from corpusmill.errors import RecipeError
from corpusmill.execute.serial import Serial
from corpusmill.inference.kept_answers import answers_in
from corpusmill.inference.pieces import pieces
from corpusmill.inference.server import Server
from corpusmill.ops import forget
from corpusmill.recipe import Recipe
from corpusmill.steps import Rewrite
from made_model_server import ModelServer

pytest.importorskip("aiohttp")
TEXTS = [
    "In 1969 Anna Berg left Oslo on a boat, and the harbour was quiet before the first boats came in at 5.",
    "The old mill stands by the river, and its wheel has not turned since the water of the valley was led away.",
    "Nobody knows who built the bridge, but the stones are from the quarry of Nes, as masons of the town have found.",
]
RECIPE = """\
name: rewritten
read:
  - jsonl: {{paths: {folder}/in.jsonl, source: web}}
  - jsonl: {{paths: {folder}/other.jsonl, source: other}}
steps:
  - dedup/exact
  - generate/rewrite:
      server: {{url: "{url}", model: tiny}}
      prompts: [distil, "Say it shortly.\\n<document>\\n{{text}}\\n</document>"]
      min_ratio: 0.5
      {more}
  - filter/basic: {{rules: [min_words], min_words: 5, only: [rewritten]}}
write:
  - jsonl: {{compression: none}}
run: {{folder: {folder}/run}}
"""


@pytest.fixture(scope="module")
def server():
    with ModelServer() as running:
        yield running


def make(step, *texts, folder):
    with answers_in(str(folder)):
        return step.make(docs(*texts))


def step(server, **settings) -> Rewrite:
    return Rewrite(server=Server(url=server.url, model="m"), **{"prompts": ("distil",)} | settings)


def test_each_document_is_followed_by_what_is_made_of_it(server, tmp_path):
    made = make(step(server, prompts=("distil", "faq")), *TEXTS, folder=tmp_path)
    ids = made.docs["id"].to_pylist()
    assert made.signals["made_from"].to_pylist() == [x for at in (0, 3, 6) for x in (None, ids[at], ids[at])]
    assert made.docs["source"].to_pylist() == ["made", "rewritten", "rewritten"] * 3 and len(set(ids)) == 9
    about = json.loads(made.docs["metadata"][1].as_py())
    assert about == {"made": {"from": ids[0], "source": "made", "by": "m", "prompt": "distil"}}
    assert made.signals["numbers_kept"].to_pylist()[1] == 0.5  # 1969, and not the 5 at the end
    assert made.signals["names_kept"].to_pylist()[1] == 1.0
    assert 0.7 < made.signals["ratio"].to_pylist()[1] < 1


def test_a_batch_makes_no_difference(server, tmp_path):
    whole = make(step(server), *TEXTS, folder=tmp_path)
    with answers_in(str(tmp_path)):
        parts = [step(server).make(docs(*TEXTS).slice(row, 1)) for row in range(3)]
    assert [row for part in parts for row in part.docs.to_pylist()] == whole.docs.to_pylist()
    for name, column in whole.signals.items():
        assert [value for part in parts for value in part.signals[name].to_pylist()] == column.to_pylist()


def test_a_long_document_is_made_of_its_pieces(server, tmp_path):
    text = "\n\n".join(TEXTS)
    before = server.told()["asked"]
    made = make(step(server, max_chars=130), text, folder=tmp_path)
    assert server.told()["asked"] - before == 3
    assert made.docs["text"][1].as_py().count("In short: ") == 3


def test_rules_drop_what_is_made(server, tmp_path):
    chosen = step(server, min_numbers_kept=0.9)
    made = make(chosen, *TEXTS, folder=tmp_path)
    assert chosen.reasons(made.docs, made.signals).to_pylist() == [None, "min_numbers_kept", None, None, None, None]
    chosen = step(server, instead=True, min_numbers_kept=0.9)
    made = make(chosen, *TEXTS, folder=tmp_path)
    expected = [None, "min_numbers_kept", "rewritten", None, "rewritten", None]
    assert chosen.reasons(made.docs, made.signals).to_pylist() == expected


def test_what_cannot_be_made_has_failed(server, tmp_path):
    made = make(step(server), "REFUSED", TEXTS[0], folder=tmp_path)
    assert len(made.docs) == 3
    [(document, reason)] = made.failed
    assert document["source"] == "rewritten" and reason == "m refuses it: HTTP 400: too long"


@pytest.mark.parametrize("more", ["instead: false", "instead: true", "only: [web]"])
def test_a_run_counts_keeps_and_forgets_what_is_made(server, tmp_path, more):
    (tmp_path / "in.jsonl").write_text(
        "".join(json.dumps({"text": text}) + "\n" for text in [*TEXTS, TEXTS[0], "REFUSED"])
    )
    (tmp_path / "other.jsonl").write_text(json.dumps({"text": TEXTS[0] + " And more of it."}) + "\n")
    recipe = RECIPE.format(folder=tmp_path, url=server.url, more=more).replace("run: {", "run: {error_budget: 100, ")
    run = corpusmill.run(Recipe.parse(recipe), executor=Serial())
    row = next(row for row in run.waterfall.rows if row.step == "rewrite")
    others = more != "only: [web]"
    assert (row.made, row.failed) == (2 * (4 + others), 2)
    read = f"read_json('{tmp_path}/run/output/jsonl/*.jsonl')"
    kept = dict(duckdb.sql(f"select source, count(*) from {read} group by 1").fetchall())
    assert kept["rewritten"] == 2 * (3 + others)
    assert kept.get("web", 0) == (1 if "true" in more else 4)  # the refused one stays
    made_from, name = duckdb.sql(
        f"select metadata.made.from, id from {read} where source = 'rewritten' limit 1"
    ).fetchall()[0]
    asked = forget.find(tmp_path / "run", ids=[made_from])
    assert name in {document.id for document in asked.documents} and len(asked.documents) == 3
    forget.forget(tmp_path / "run", asked)
    assert (
        duckdb.sql(f"select count(*) from {read} where source = 'rewritten'").fetchall()[0][0] == kept["rewritten"] - 2
    )


def test_pieces_are_all_of_a_text():
    text = "\n\n".join(f"{number} {sentence}" for number, sentence in enumerate(TEXTS * 30))
    for most in (100, 130, 999, 5000, 10**6):
        parts = pieces(text, most)
        assert max(map(len, parts)) <= most
        assert "".join("".join(parts).split()) == "".join(text.split())
    assert pieces("x" * 250, 100) == ["x" * 100, "x" * 100, "x" * 50]


@pytest.mark.parametrize(
    "settings, words",
    [
        ({"prompts": ()}, "prompts names one or several"),
        ({"prompts": ("a\nb",)}, "has no {text}"),
        ({"source": "canary"}, "source names"),
        ({"max_chars": 5}, "max_chars >= 100"),
    ],
)
def test_a_wrong_rewrite_says_what_is_wrong(server, settings, words):
    with pytest.raises(RecipeError, match=words):
        step(server, **settings)


def test_a_source_that_is_there_is_another(server, tmp_path):
    with pytest.raises(RecipeError, match=r'makes documents of the source "web", which is another\'s'):
        Recipe.parse(RECIPE.format(folder=tmp_path, url="http://h/v1", more="source: web"))
