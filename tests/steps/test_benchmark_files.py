"""Benchmarks are read in the shapes in which they are published, and a file that cannot be is named with its mapping."""

import json
import re
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

from conftest import docs
from corpusmill.cli.app import app
from corpusmill.errors import AssetError
from corpusmill.steps.decontaminate import _benchmarks
from corpusmill.steps.decontaminate._items import Fields, FieldsOfFiles, name_of, read_items
from corpusmill.steps.decontaminate.ngrams import Ngrams

ASKED = "How many horses can drink from the well before it is empty at noon?"
WELL = "The well of the village was dug in a dry summer, and forty horses drank from it every day until noon."
SHAPES: dict[str, dict[str, Any]] = {  # as the Hugging Face hub has them
    "squad": {
        "id": "5733be28", "title": "Well", "context": WELL, "question": ASKED,
        "answers": {"text": ["forty", "forty horses"], "answer_start": [57, 57]},
    },
    "drop": {
        "section_id": "nfl_1", "query_id": "f37e81fa", "passage": WELL, "question": ASKED,
        "answers_spans": {"spans": ["forty", "40"], "types": ["number", "number"]},
    },
    "drop_eleuther": {
        "section_id": "nfl_1", "query_id": "f37e81fa", "passage": WELL, "question": ASKED,
        "answer": {"number": "40", "date": {"day": "", "month": "", "year": ""}, "spans": [], "hit_id": "x"},
    },
    "nq_open": {"question": ASKED, "answer": ["forty", "forty horses"]},
    "natural_questions": {
        "id": "797803103760793766", "document": {"title": "Well", "html": "<p>"},
        "question": {"text": ASKED, "tokens": ["How", "many"]},
        "annotations": {
            "id": ["1", "2"], "yes_no_answer": [-1, -1],
            "short_answers": [{"start_token": [9], "text": ["forty"]}, {"start_token": [9], "text": ["forty horses"]}],
        },
    },
    "trivia_qa": {
        "question": ASKED, "question_id": "tc_33", "question_source": "http://www.example.org",
        "entity_pages": {"title": [], "wiki_context": []},
        "answer": {
            "aliases": ["Forty", "40 horses"], "normalized_aliases": ["forty"], "matched_wiki_entity_name": "",
            "normalized_value": "forty", "type": "Numerical", "value": "Forty",
        },
    },
}  # fmt: skip
MAPPINGS = {
    "squad": "{question: question, answer: answers.text, id: id}",
    "drop": "{question: question, answer: answers_spans.spans, id: query_id}",
    "drop_eleuther": "{question: question, answer: [answer.spans, answer.number], id: query_id}",
    "nq_open": "{question: question, answer: answer, id: null}",
    "natural_questions": "{question: question.text, answer: annotations.short_answers.text, id: id}",
    "trivia_qa": "{question: question, answer: answer.aliases, id: question_id}",
}
ANSWERS = {
    "squad": ["forty", "forty horses"],
    "drop": ["forty", "40"],
    "drop_eleuther": ["40"],
    "nq_open": ["forty", "forty horses"],
    "natural_questions": ["forty", "forty horses"],
    "trivia_qa": ["Forty", "40 horses"],
}


@pytest.fixture(autouse=True)
def own_cache(tmp_path, monkeypatch):
    (tmp_path / "cache").mkdir()
    monkeypatch.setattr(_benchmarks, "cache_folder", lambda: tmp_path / "cache")


def write(folder, name, record, kind):
    folder.mkdir(exist_ok=True)
    path = folder / f"{name}.{kind}"
    if kind == "parquet":
        pq.write_table(pa.Table.from_pylist([record]), path)
    else:
        path.write_text(json.dumps(record) + "\n", "utf-8")
    return path


def parsed(mapping):
    """The fields that a mapping in an error stands for."""
    pairs = re.findall(r"(\w+): (\[.*?\]|[^,}]+)", mapping)
    values = {name: None if value == "null" else value for name, value in pairs}
    answer = values["answer"]
    many = tuple(answer.strip("[]").split(", ")) if answer and answer.startswith("[") else answer
    return Fields(**{**values, "answer": many})


@pytest.mark.parametrize("kind", ["jsonl", "parquet"])
def test_every_file_that_cannot_be_read_is_named_with_the_mapping_that_reads_it(tmp_path, kind):
    paths = [write(tmp_path / "b", name, record, kind) for name, record in SHAPES.items()]
    with pytest.raises(AssetError) as raised:
        read_items(paths, FieldsOfFiles(Fields()))
    lines = str(raised.value).splitlines()
    assert len(lines) == len(SHAPES)
    named = []
    for (name, mapping), line in zip(MAPPINGS.items(), lines):
        assert f"{name}.{kind}" in line and f"Write fields: {{{name}: {mapping}}}" in line
        named.append((name, parsed(mapping)))
    items = read_items(paths, FieldsOfFiles(Fields(), tuple(named)))
    assert items["question"].to_pylist() == [ASKED] * len(SHAPES)
    assert items["answers"].to_pylist() == list(ANSWERS.values())
    assert items["benchmark"].to_pylist() == list(SHAPES)


def test_check_names_them_all_before_anything_runs_and_the_mappings_are_taken(tmp_path):
    for name, record in SHAPES.items():
        write(tmp_path / "b", name, record, "jsonl")
    (tmp_path / "in.jsonl").write_text(json.dumps({"text": f"{WELL} {ASKED}"}) + "\n")

    def checked(fields):
        recipe = tmp_path / "recipe.yaml"
        recipe.write_text(
            f"read: {{jsonl: {tmp_path}/in.jsonl}}\n"
            f"steps:\n  - decontaminate/ngrams:\n      benchmarks: {tmp_path}/b\n{fields}write: [jsonl]\n"
        )
        return CliRunner().invoke(app(), ["check", str(recipe)])

    refused = checked("")
    assert refused.exit_code != 0 and all(f"{name}.jsonl:1: " in str(refused.exception) for name in SHAPES)
    fields = "".join(f"        {name}: {mapping}\n" for name, mapping in MAPPINGS.items())
    taken = checked(f"      fields:\n{fields}")
    assert taken.exit_code == 0, taken.output


def test_any_of_several_answers_is_enough(tmp_path):
    path = write(tmp_path / "b", "trivia_qa", SHAPES["trivia_qa"], "parquet")
    fields = (("trivia*", Fields(answer="answer.aliases", id="question_id")),)
    step = Ngrams(benchmarks=str(path), fields=fields, require_answer=True)
    texts = [f"{ASKED} {answer}" for answer in ("40 horses", "forty", "fifty", "40 donkeys")]
    assert step.transform(docs(*texts))["overlap"].to_pylist() == [1.0, 1.0, 0.0, 0.0]


@pytest.mark.parametrize("suffix", ["jsonl", "parquet"])
def test_answers_in_lists_of_lists_are_answers(tmp_path, suffix):
    record = {"id": "1", "question": ASKED, "answer": [["forty"], [], ["forty horses", "40"]]}
    path = tmp_path / f"well.{suffix}"
    if suffix == "parquet":
        pq.write_table(pa.Table.from_pylist([record]), path)
    else:
        path.write_text(json.dumps(record))
    assert read_items([path], FieldsOfFiles(Fields()))["answers"].to_pylist() == [["forty", "forty horses", "40"]]


def test_choices_in_lists_of_lists_are_answers(tmp_path):
    path = tmp_path / "well.jsonl"
    path.write_text(json.dumps({"id": "1", "question": ASKED, "answer": [["B"], [0]], "choices": ["ten", "forty"]}))
    items = read_items([path], FieldsOfFiles(Fields(choices="choices")))
    assert items["answers"].to_pylist() == [["forty", "ten"]]


def test_an_item_without_an_answer_counts_by_itself(tmp_path):
    record = {"id": "1", "question": ASKED, "answers": {"text": [], "answer_start": []}}
    path = write(tmp_path / "b", "squad_v2", record, "jsonl")
    step = Ngrams(benchmarks=str(path), answer="answers.text", require_answer=True)
    assert step.transform(docs(ASKED))["overlap"].to_pylist() == [1.0]


def test_a_context_is_found_and_is_no_reason_to_drop(tmp_path):
    first: dict[str, Any] = dict(SHAPES["squad"])
    other = {**first, "id": "2", "question": "Why was the well of the village dug in that summer?"}
    folder = tmp_path / "b"
    folder.mkdir()
    (folder / "squad.jsonl").write_text("".join(json.dumps(row) + "\n" for row in (first, other)))
    step = Ngrams(benchmarks=str(folder), answer="answers.text", context="context", action="cut", margin=0)
    found = step.transform(docs(WELL, f"{WELL} {ASKED}"))
    assert found["overlap"].to_pylist() == [0.0, 1.0]
    hit = {"benchmark": "squad", "item": "5733be28", "overlap": 1.0, "ngrams": 14, "template": 0}
    assert found["material"].to_pylist() == [[hit], [hit]]
    assert found["text"].to_pylist() == [WELL, f"{WELL} ?"]


@pytest.mark.parametrize(("named", "overlap"), [(["nq_*"], 0.0), (["nq_open/1"], 0.0), (["nq_open/2"], 1.0)])
def test_what_is_named_as_corpus_material_is_found_and_kept(tmp_path, named, overlap):
    path = write(tmp_path / "b", "nq_open", SHAPES["nq_open"], "jsonl")
    found = Ngrams(benchmarks=str(path), id=None, corpus_material=tuple(named)).transform(docs(ASKED))
    assert found["overlap"].to_pylist() == [overlap]
    assert found["material"].is_valid().to_pylist() == [overlap == 0.0]


def test_a_file_that_is_no_parquet_is_reported(tmp_path):
    (tmp_path / "b.parquet").write_text("{}")
    with pytest.raises(AssetError, match=r"b\.parquet: cannot be read as Parquet"):
        read_items([tmp_path / "b.parquet"], FieldsOfFiles(Fields()))


@pytest.mark.parametrize(
    ("path", "name"),
    [
        ("b/arc_easy.jsonl.gz", "arc_easy"),
        ("b/arc-00000-of-00002.parquet", "arc"),
        ("b/squad/validation-00000-of-00001.parquet", "squad/validation"),
        ("b/nq/test.jsonl", "nq/test"),
    ],
)
def test_a_benchmark_has_the_name_of_its_file_or_of_its_folder(tmp_path, path, name):
    assert name_of(tmp_path / path) == name


def test_a_folder_is_read_with_the_folders_in_it(tmp_path):
    write(tmp_path / "b", "nq_open", SHAPES["nq_open"], "jsonl")
    write(tmp_path / "b" / "more", "test", SHAPES["nq_open"], "parquet")
    assert len(Ngrams(benchmarks=str(tmp_path / "b"), id=None).assets) == 2
