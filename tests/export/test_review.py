"""Samples for people to judge: fixed, of every reason, in the formats of Argilla and Label Studio."""

import json
from xml.etree import ElementTree

import pytest

from corpusmill.errors import InputError
from corpusmill.export import export
from corpusmill.export.review import REVIEW_WRITERS, reviewed
from corpusmill.ops.verify import verify_folder
from corpusmill.report.tables import RunTables
from made_run import SHORT, made_run


@pytest.fixture(scope="module")
def documents():
    return reviewed(RunTables(made_run()), 4)


def test_kept_documents_and_some_of_each_reason_are_drawn(documents):
    flow = RunTables(made_run()).files.waterfall()
    reasons = [document.get("reason") for document in documents]
    expected = {f"{row.step}.{rule}": min(4, count) for row in flow.rows for rule, count in row.reasons.items()}
    assert {reason: reasons.count(reason) for reason in expected} == expected
    assert reasons.count(None) == 4 and SHORT > 4
    assert [document["verdict"] for document in documents] == ["drop" if reason else "keep" for reason in reasons]
    assert [document["id"] for document in documents] == sorted(document["id"] for document in documents)


def test_a_dropped_one_says_why_with_what_was_measured(documents):
    short = next(document for document in documents if document.get("reason") == "gopher_quality.min_words")
    assert short["because"].startswith("gopher_quality.min_words: ") and short["because"].endswith("below 20")


@pytest.mark.parametrize("format", REVIEW_WRITERS)
def test_two_exports_are_the_same(tmp_path, format, corpusmill):
    one, two = (export(made_run(), format, tmp_path / name, sample=3) for name in ("one", "two"))
    assert one.documents == two.documents and one.documents > 3 and one.tokens is None
    files = sorted(path.relative_to(one.folder) for path in one.folder.rglob("*") if path.is_file())
    assert all((one.folder / name).read_bytes() == (two.folder / name).read_bytes() for name in files)
    assert verify_folder(one.folder).problems == ()
    status, out, _ = corpusmill("export", made_run(), format, tmp_path / "three", "-n", "3")
    assert status == 0 and out.startswith(f"{tmp_path}/three: {one.documents} documents in")


def test_argilla_gets_records_and_the_settings_of_their_data_set(tmp_path, documents):
    folder = export(made_run(), "argilla", tmp_path / "out", sample=4).folder
    records = json.loads((folder / "records.json").read_text("utf-8"))
    settings = json.loads((folder / ".argilla" / "settings.json").read_text("utf-8"))
    for record, document in zip(records, documents, strict=True):
        assert record["id"] == document["id"] and record["fields"]["text"] == document["text"]
        assert record["suggestions"]["verdict"]["value"] == document["verdict"]
        assert record["metadata"].get("reason") == document.get("reason")
        assert record["fields"].keys() <= {field["name"] for field in settings["fields"]}
        assert record["metadata"].keys() <= {name["name"] for name in settings["metadata"]}
    (choice,) = (one for one in settings["questions"] if one["name"] == "verdict")
    assert [option["value"] for option in choice["settings"]["options"]] == ["keep", "drop"]


def test_label_studio_gets_tasks_and_the_interface_that_names_their_parts(tmp_path, documents):
    folder = export(made_run(), "label_studio", tmp_path / "out", sample=4).folder
    tasks = json.loads((folder / "tasks.json").read_text("utf-8"))
    view = ElementTree.parse(folder / "labels.xml").getroot()
    assert view.find("Text").get("value") == "$text"
    choices = {choice.get("value") for choice in view.iter("Choice")}
    for task, document in zip(tasks, documents, strict=True):
        assert task["data"]["text"] == document["text"] and "verdict" not in task["data"]
        (result,) = task["predictions"][0]["result"]
        assert result["value"]["choices"] == [document["verdict"]] and document["verdict"] in choices
        assert (result["from_name"], result["to_name"]) == (
            view.find("Choices").get("name"),
            view.find("Text").get("name"),
        )


def test_a_review_needs_a_run(tmp_path):
    with pytest.raises(InputError, match="not a run folder"):
        export(tmp_path, "argilla", tmp_path / "out")
