"""A step that drops all it sees is said before a run, in its first units, at its end, in the report and as JSON."""

import json
from random import Random

import pytest

from corpusmill import check, run
from corpusmill.engine.drive.drops_all import FEWEST, DropsAll, drops_all, drops_script
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


SAMPLES = {
    "Chinese or Japanese": "東京の北にある小さな町では、毎年の秋に川のほとりで市が立ち、農家の人びとが野菜や果物を並べる。"
    * 4,
    "Thai": "ทุกปีในฤดูใบไม้ร่วงชาวบ้านจะนำผักและผลไม้มาขายที่ตลาดริมแม่น้ำใกล้เมืองเล็กๆทางเหนือ" * 4,
    "Cyrillic": "Каждую осень у реки открывается рынок, и крестьяне продают там овощи и фрукты из своих садов. " * 8,
}


@pytest.mark.parametrize("script", SAMPLES)
def test_check_says_which_script_is_lost_to_rules_on_words(tmp_path, recipe, script):
    """Among documents that are kept; and what the warning proposes keeps them."""
    random = Random(3)
    texts = [prose(random) for _ in range(40)] + [f"{i} {SAMPLES[script]}" for i in range(20)]
    lines_of(tmp_path, "long.jsonl", texts)
    (warning,) = [
        text for text in check(recipe("  - filter/gopher_quality: {words: spacy}\n")).warnings if "script" in text
    ]
    assert warning.startswith(
        f"gopher_quality drops 20 of 20 documents in {script} script in a sample of the input, for"
    )
    assert "filter/fineweb2 has others for each language; or give it `words: by_script`" in warning
    rules = "words: by_script, min_mean_word_length: null, max_mean_word_length: null, min_stop_words: null"
    assert not [
        text for text in check(recipe(f"  - filter/gopher_quality: {{{rules}}}\n")).warnings if "script" in text
    ]


def test_few_documents_of_a_script_say_nothing_and_only_rules_on_words_are_meant(tmp_path, recipe):
    random, thai = Random(3), SAMPLES["Thai"]
    lines_of(tmp_path, "long.jsonl", [prose(random) for _ in range(40)] + [thai] * 7)
    assert not [text for text in check(recipe("  - filter/gopher_quality\n")).warnings if "script" in text]
    lines_of(tmp_path, "long.jsonl", [prose(random) for _ in range(40)] + [thai] * 20)
    steps = "  - filter/language: {languages: [en]}\n  - filter/gopher_quality\n"
    assert not [text for text in check(recipe(steps)).warnings if "script" in text]


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
    assert "name the sources that it is for in `only`" in one.in_words()


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
    assert "for r1 (40), r2 (30), r3 (20), 2 more. " in one.in_words()
    assert "`corpusmill peek runs/x --dropped a`" in one.in_words("runs/x")


@pytest.mark.parametrize("measured", ["all", "first", "none"])
def test_a_run_says_which_script_is_lost_to_rules_on_words(tmp_path, recipe, corpusmill, measured):
    """While its first units are done, when it is over, and in its report: as many, however much of the dropped
    documents is measured."""
    random = Random(3)
    texts = [prose(random) for _ in range(40)] + [f"{i} {SAMPLES['Thai']}" for i in range(20)]
    lines_of(tmp_path, "long.jsonl", texts)
    path = recipe("  - filter/gopher_quality: {words: spacy}\n")
    listener = Notes()
    done = run(path, executor=Serial(), listener=listener, overrides=[f"run.measure_dropped={measured}"])
    begins = "gopher_quality drops 20 of 20 documents in Thai script"
    (warned,) = [note for note in listener.notes if "Thai" in note]
    assert warned.startswith(f"warning: {begins} until now, for")
    assert begins in done.report.read_text()
    _, out, err = corpusmill("report", done.folder)
    assert begins in " ".join(f"{out} {err}".split())


def test_few_documents_of_a_script_among_many_say_nothing():
    """They are of the wrong language, or damaged."""
    scripts = {"a": {"Thai": {"documents": 9, "rules": {"min_words": 9}}}}
    assert drops_script(["a"], counted(x=(1000, 990)) | {"scripts": scripts}) == []
    (loss,) = drops_script(["a"], counted(x=(900, 890)) | {"scripts": scripts})
    assert (loss.documents, loss.dropped, loss.reasons) == (9, 9, {"min_words": 9})
