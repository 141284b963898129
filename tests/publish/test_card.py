"""The data card of a run: README.md, croissant.json, and the draft of the EU's summary."""

import csv
import json
from pathlib import Path

import pytest
import yaml

import corpusmill
from corpusmill.errors import ResumeError
from corpusmill.execute.serial import Serial
from corpusmill.publish import eu_summary
from corpusmill.publish.published_run import PublishedRun
from corpusmill.recipe.model import Recipe
from corpusmill.report.figures.domains import domains
from corpusmill.report.figures.licences import licences
from corpusmill.report.tables import RunTables
from made_run import prose

RECIPE = """
name: sites
read:
  - jsonl: {{paths: {folder}/pages.jsonl, source: pages}}
steps:
  - filter/gopher_quality: {{min_words: 20, min_stop_words: 1}}
  - tokenize/bpe
write: [jsonl, shards]
run: {{executor: serial}}
"""


def pages():
    """20 domains with 1, 2 … 20 pages each, the longest for the largest; every third page is too short."""
    from random import Random

    random = Random(3)
    return [
        {
            "text": prose(random, 8 if page % 3 == 2 else 40),
            "url": f"https://www{page}.site-{site:02d}.co.uk/{page}",
            "date": f"2024-{1 + site % 12:02d}-0{1 + page % 9}",
        }
        for site in range(1, 21)
        for page in range(site)
    ]


@pytest.fixture(scope="module")
def done(tmp_path_factory):
    folder = tmp_path_factory.mktemp("card")
    (folder / "pages.jsonl").write_text("".join(json.dumps(page) + "\n" for page in pages()))
    return corpusmill.run(Recipe.parse(RECIPE.format(folder=folder)), folder=folder / "run", executor=Serial())


def test_domains_are_counted_by_registered_domain(done):
    expected: dict[str, list[int]] = {}
    for page in pages():
        name = page["url"].split("/")[2].split(".", 1)[1]
        own = expected.setdefault(name, [0, 0, 0])
        own[0] += 1
        if len(page["text"].split()) >= 20:
            own[1] += 1
            own[2] += len(page["text"].encode())
    found = domains(RunTables(done))
    assert {one.name: [one.documents, one.kept, one.bytes] for one in found.domains} == expected
    assert [one.bytes for one in found.domains] == sorted((own[2] for own in expected.values()), reverse=True)
    assert found.documents == len(pages()) and found.without == 0
    assert found.kept == done.waterfall.documents_out


def test_the_card_is_what_the_run_recorded(done):
    files = corpusmill.card(done, license="odc-by")
    assert set(files) == {"README.md", "croissant.json"}
    _, head, text = (Path(done.folder) / "README.md").read_text().split("---\n", 2)
    metadata = yaml.safe_load(head)
    assert metadata["license"] == "odc-by" and metadata["configs"][0]["config_name"] == "jsonl"
    (pattern,) = [one["path"] for one in metadata["configs"][0]["data_files"]]
    assert list(Path(done.folder).glob(pattern)) == list((done.output / "jsonl").glob("*.zst"))
    assert "| site-20.co.uk | 20 | 14 | 70.0 % |" in text
    for row in done.waterfall.rows:
        assert f"| {row.step} | {row.documents_in:,} | {row.documents_out:,} |" in text
    for check in corpusmill.audit(done).checks:
        assert check.question in text
    assert "min_words: 20" in text


def test_croissant_names_files_and_columns_as_they_are(done):
    corpusmill.card(done)
    record = json.loads((Path(done.folder) / "croissant.json").read_text())
    assert record["@type"] == "sc:Dataset" and record["name"] == "sites"
    (files,) = record["distribution"]
    assert list(Path(done.folder).glob(files["includes"])) == list((done.output / "jsonl").glob("*.zst"))
    (rows,) = record["recordSet"]
    assert {field["name"]: field["dataType"] for field in rows["field"]} == {
        "date": "sc:Text",
        "id": "sc:Text",
        "metadata": "sc:Text",
        "source": "sc:Text",
        "text": "sc:Text",
        "token_count": "sc:Integer",
        "url": "sc:Text",
    }
    assert record["rai:dataCollectionTimeframe"] == ["2024-01-01", "2024-12-08"]


def test_the_summary_for_the_eu_lists_the_tenth_of_domains_with_most_text(done):
    corpusmill.card(done, eu_summary=True)
    with (Path(done.folder) / eu_summary.DOMAINS_FILE).open() as file:
        rows = list(csv.DictReader(file))
    found = domains(RunTables(done))
    assert [row["domain"] for row in rows] == [one.name for one in found.domains[:2]]  # a tenth of 20
    assert float(rows[0]["share_of_bytes"]) == pytest.approx(found.domains[0].bytes / found.bytes, abs=1e-6)
    text = (Path(done.folder) / "eu-summary.md").read_text()
    for section in ("1.1", "1.2", "1.3", "2.1", "2.2", "2.3", "2.4", "2.5", "2.6", "3.1", "3.2", "3.3"):
        assert f"### {section} " in text
    assert "less than 1 billion tokens" in text and eu_summary.ASK_PERSON in text and "no legal advice" in text


def test_a_column_named_for_licences_is_counted(done, monkeypatch):
    tables = RunTables(done)
    shown = [
        (column.rpartition(".")[2], kind) for number in range(1) for column, kind in tables.columns(number).items()
    ]
    assert licences(tables) == [] and "licence" not in dict(shown)
    monkeypatch.setattr("corpusmill.report.figures.licences.LICENCE_COLUMNS", ("source",))
    (figure,) = licences(tables)
    assert [(one.name, one.documents) for one in figure.licences] == [("pages", done.waterfall.documents_out)]


def test_a_card_that_somebody_edited_is_left_alone(done):
    corpusmill.card(done)
    place = Path(done.folder) / "README.md"
    place.write_text("# By hand\n")
    said: list[str] = []
    files = corpusmill.card(done, progress=said.append)
    assert place.read_text() == "# By hand\n" and "README.md" not in files
    assert said == [f"{place} was edited, and is left as it is"]
    place.unlink()


def test_the_command_names_the_files(done, corpusmill):
    status, out, _ = corpusmill("push", done.folder, "--card", "--eu-summary")
    assert status == 0 and [line.split("/")[-1] for line in out.splitlines()] == [
        "README.md",
        "croissant.json",
        "eu-summary.md",
        "eu-summary-domains.csv",
    ]
    status, out, _ = corpusmill("push", done.folder, "--card", "--json")
    assert list(json.loads(out)["files"]) == ["README.md", "croissant.json"]


@pytest.mark.parametrize(
    "words, message",
    [
        ((), "push needs either a TARGET"),
        (("hf://datasets/me/made", "--card"), "push needs either a TARGET"),
        (("hf://datasets/me/made", "--eu-summary"), "--eu-summary is written with --card"),
    ],
)
def test_the_command_wants_a_target_or_the_card(done, corpusmill, words, message):
    status, out, err = corpusmill("push", done.folder, *words)
    assert (status, out) == (2, "") and message in err


def test_a_run_that_is_not_finished_has_no_card(done, tmp_path):
    import shutil

    shutil.copytree(Path(done.folder), tmp_path / "run")
    (tmp_path / "run" / "waterfall.json").unlink()
    with pytest.raises(ResumeError, match="not finished"):
        corpusmill.card(tmp_path / "run")


def test_known_is_read_once(done):
    known = PublishedRun(RunTables(done))
    assert known.domains is known.domains and known.documents == done.waterfall.documents_out
