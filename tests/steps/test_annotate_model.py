"""What a language model says of documents, as signals."""

import json

import pytest

from conftest import docs
from corpusmill.engine.work.batch import Batch
from corpusmill.errors import RecipeError
from corpusmill.inference.kept_answers import answers_in
from corpusmill.inference.schema import Field, fields_of, parsed, schema_of
from corpusmill.inference.server import Server
from corpusmill.steps import Model
from made_model_server import ModelServer

pytest.importorskip("aiohttp")
FIELDS = (("score", Field(type="integer", min=0, max=5)), ("topic", Field(choices=("science", "sport"))))


@pytest.fixture(scope="module")
def server():
    with ModelServer() as running:
        yield running


def step(server, **settings) -> Model:
    values = {"prompt": "Rate this: {text}", "fields": FIELDS} | settings
    return Model(server=Server(url=server.url, model="m"), **values)


def signals(step, *texts, folder) -> Batch:
    batch = Batch(docs(*texts))
    with answers_in(str(folder)):
        batch.apply(0, "model", step)
    return batch


def test_fields_are_signals_of_their_types(server, tmp_path):
    batch = signals(step(server), "the cat sat on a mat", "internationalization considerations", "", folder=tmp_path)
    assert batch.signals["model.score"].to_pylist() == [0, 5, None]
    assert set(batch.signals["model.topic"].to_pylist()) <= {"science", "sport", None}
    assert batch.signals["model.answer_tokens"].null_count == 1


def test_an_answer_that_does_not_fit_is_asked_for_once_more(server, tmp_path):
    before = server.told()["asked"]
    batch = signals(step(server), "INVALID words", "INVALID ALWAYS", "fine words", folder=tmp_path)
    assert [failed.reason for failed in batch.failed] == [
        'the answer does not fit, asked twice: "score" must be at most 5, got 99; "topic" is missing.'
    ]
    assert len(batch.docs) == 2 and batch.signals["model.score"].null_count == 0
    assert server.told()["asked"] - before == 5  # one each, and two again


def test_a_refused_document_is_a_dead_letter_and_asked_about_once(server, tmp_path):
    before = server.told()["asked"]
    batch = signals(step(server), "REFUSED", "fine", folder=tmp_path)
    assert [failed.reason for failed in batch.failed] == ["m refuses it: HTTP 400: too long"]
    assert server.told()["asked"] - before == 2


def test_a_sample_is_drawn_by_ids(server, tmp_path):
    texts = [f"document {number}" for number in range(400)]
    batch = signals(step(server, sample="25%"), *texts, folder=tmp_path)
    asked = 400 - batch.signals["model.score"].null_count
    assert 70 < asked < 130


def test_prompt_and_schema_are_read_from_files(server, tmp_path):
    (tmp_path / "prompt.txt").write_text("Rate it.\n{text}")
    (tmp_path / "schema.json").write_text(json.dumps(schema_of(FIELDS)))
    made = step(server, prompt=str(tmp_path / "prompt.txt"), fields=(), schema=str(tmp_path / "schema.json"))
    assert made.answer_fields == FIELDS and len(made.assets) == 2
    assert made.identity()["prompt"] == "Rate it.\n{text}"


def test_where_a_model_is_asked_makes_no_other_work(server):
    here, there = (
        step(server),
        Model(server=Server(url="http://h/v1", model="m", in_flight=3), prompt="Rate this: {text}", fields=FIELDS),
    )
    assert here.identity() == there.identity()
    assert here.identity() != step(server, max_chars=10).identity()


@pytest.mark.parametrize(
    "text, values",
    [
        ('{"score": 3, "topic": "sport"}', {"score": 3, "topic": "sport"}),
        ('```json\n{"score": 3.0, "topic": "sport", "more": 1}\n```', {"score": 3.0, "topic": "sport"}),
        ("three", 'The answer must be one JSON object, got "three".'),
        (
            '{"score": true, "topic": "chess"}',
            '"score" must be an integer, got true; "topic" must be one of science, sport, got "chess".',
        ),
        ('{"score": -1}', '"score" must be at least 0, got -1; "topic" is missing.'),
    ],
)
def test_an_answer_is_checked(text, values):
    assert parsed(text, FIELDS) == values


def test_a_schema_that_cannot_be_checked_is_refused():
    with pytest.raises(RecipeError, match=r'name: "pattern" is not checked here'):
        fields_of({"properties": {"name": {"type": "string", "pattern": "a+"}}}, "s.json")
    with pytest.raises(RecipeError, match=r'tags: the type "array" is not checked here'):
        fields_of({"properties": {"tags": {"type": "array"}}}, "s.json")


@pytest.mark.parametrize(
    "settings, words",
    [
        ({"prompt": "Rate this:\n"}, "has no {text}"),
        ({"fields": ()}, "say what the answer holds"),
        ({"sample": 2}, "share above 0"),
    ],
)
def test_a_wrong_step_says_what_is_wrong(server, settings, words):
    with pytest.raises(RecipeError, match=words):
        step(server, **settings)
