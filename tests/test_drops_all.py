"""A step that drops all it sees is said before a run, in its first units, at its end, in the report and as JSON."""

import json
from random import Random

import pytest

from corpusmill import check, run
from corpusmill.engine.drive.drops_all import FEWEST, DropsAll, drops_all, in_words
from corpusmill.execute.serial import Serial
from made_run import prose


def lines_of(folder, name, texts):
    path = folder / name
    path.write_text("".join(json.dumps({"text": text}) + "\n" for text in texts))
    return path


@pytest.fixture
def recipe(tmp_path):
    """Two sources; the second step drops all of both, the first all of one of them."""
    random = Random(11)
    lines_of(tmp_path, "long.jsonl", [prose(random) for _ in range(40)])
    lines_of(tmp_path, "short.jsonl", ["A line of few words." for _ in range(FEWEST)])

    def write(steps):
        path = tmp_path / "recipe.yaml"
        sources = "".join(
            f"  - jsonl: {{paths: {tmp_path}/{name}.jsonl, source: {name}}}\n" for name in ("long", "short")
        )
        path.write_text(
            f"read:\n{sources}steps:\n{steps}write: [jsonl]\nrun: {{folder: {tmp_path}/run, executor: serial}}\n"
        )
        return path

    return write


class Notes:
    """Listens to what a run says."""

    def __init__(self):
        self.notes = []

    def __getattr__(self, name):
        return lambda *_, **__: None

    def note(self, text):
        self.notes.append(text)


ALL = "  - filter/keep_where: {condition: bytes > 100000}\n"
ONE = "  - filter/keep_where: {condition: bytes > 100}\n"


def test_check_says_it_before_anything_has_run(recipe, corpusmill):
    checked = check(recipe(ALL))
    (one,) = checked.drops_all
    assert (one.step, one.source) == ("keep_where", None) and one.documents == checked.tried == 60
    assert checked.warnings[0].startswith(
        "keep_where drops every document: all 60 that reach it in a sample of the input"
    )
    _, out, err = corpusmill("check", recipe(ALL))
    assert "warning: keep_where drops every document" in " ".join(f"{out} {err}".split())
    _, out, _ = corpusmill("check", recipe(ALL), "--json")
    assert [found["step"] for found in json.loads(out)["drops_all"]] == ["keep_where"]


def test_check_names_the_one_source_that_is_lost(recipe):
    (one,) = check(recipe(ONE)).drops_all
    assert (one.step, one.source, one.documents) == ("keep_where", "short", FEWEST)
    assert "name the sources that it is for in `only`" in in_words(one)


def test_a_run_says_it_when_its_first_units_are_done_and_in_its_report(recipe, corpusmill):
    listener = Notes()
    done = run(recipe(ALL), executor=Serial(), listener=listener)
    warned = [note for note in listener.notes if "drops every document" in note]
    assert len(warned) == 1 and warned[0].startswith("warning: keep_where")  # once, however many units there are
    page = done.report.read_text()
    assert "drops every document" in page and "<code>corpusmill peek RUN --dropped keep_where</code>" in page
    _, out, _ = corpusmill("report", done.folder, "--json")
    assert json.loads(out)["drops_all"][0]["documents"] == 60
    _, out, err = corpusmill("report", done.folder)
    assert "keep_where drops every document: all 60" in " ".join(f"{out} {err}".split())


def test_the_command_says_it_in_words_and_as_json(recipe, corpusmill):
    status, out, _ = corpusmill("run", recipe(ALL), "--json", "--progress", "off")
    assert status == 0 and json.loads(out)["drops_all"][0]["step"] == "keep_where"
    _, out, err = corpusmill("run", recipe(ALL), "--progress", "off")
    assert "keep_where drops every document: all 60" in " ".join(f"{out} {err}".split())


def counted(**sources):
    return {
        "steps": {"a": {name: {"documents_in": i, "documents_out": o} for name, (i, o) in sources.items()}},
        "reasons": {"a": {name: {"few": i - o} for name, (i, o) in sources.items() if i > o}},
    }


@pytest.mark.parametrize(
    ("facts", "draws", "expected"),
    [
        (counted(x=(FEWEST, 0)), (), [DropsAll("a", None, FEWEST, {"few": FEWEST})]),
        (counted(x=(FEWEST - 1, 0)), (), []),  # too few to say anything
        (counted(x=(FEWEST, 1)), (), []),
        (counted(x=(12, 0), y=(12, 0)), (), [DropsAll("a", None, 24, {"few": 24})]),
        (counted(x=(FEWEST, 0), y=(12, 3)), (), [DropsAll("a", "x", FEWEST, {"few": FEWEST})]),
        (counted(x=(FEWEST, 0), y=(12, 3)), ("a",), []),  # a mix leaves sources out on purpose
        (counted(x=(FEWEST, 0), y=(0, 0)), (), [DropsAll("a", None, FEWEST, {"few": FEWEST})]),
        ({"steps": {"a": {"x": {"documents_in": 99, "documents_out": 0, "passed_through": 99}}}}, (), []),
        ({}, (), []),
    ],
)
def test_what_counts_as_dropping_all(facts, draws, expected):
    assert drops_all(["a"], facts, draws) == expected


def test_few_reasons_are_named_and_the_others_counted():
    one = DropsAll("a", None, 100, {"r1": 40, "r2": 30, "r3": 20, "r4": 6, "r5": 4})
    assert "for r1 (40), r2 (30), r3 (20), 2 more. " in in_words(one)
    assert "`corpusmill peek runs/x --dropped a`" in in_words(one, "runs/x")
