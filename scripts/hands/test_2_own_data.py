"""Data and code of one's own, right and wrong."""

import json
import re
import signal
from pathlib import Path
from random import Random

import pytest

OWN = """
from dataclasses import dataclass
import pyarrow as pa

@dataclass(frozen=True)
class Everything:
    least: int = 1
    def reasons(self, docs, signals):
        return pa.array(["least"] * len(docs))

@dataclass(frozen=True)
class Listed:
    least: int = 1
    def reasons(self, docs, signals):
        return ["least"] * len(docs)

@dataclass(frozen=True)
class Wrong:
    least: int = 1
    def reasons(self, docs, signals):
        return 7

def is_good(document):
    return len(document.text) > 40
"""


@pytest.fixture
def forum(desk: Path) -> Path:
    """400 posts as JSON lines; their text is in `message`."""
    path = desk / "forum.jsonl"
    posts = [
        {"message": f"Post number {i}: " + "we talked about the weather again. " * (i % 7 + 1)} for i in range(400)
    ]
    path.write_text("".join(json.dumps(post) + "\n" for post in posts), "utf-8")
    return path


def recipe(desk: Path, name: str, text: str) -> str:
    (desk / name).write_text(text, "utf-8")
    return name


@pytest.mark.parametrize("step", ["own:Everything", "own:Listed"])
def test_a_filter_of_ones_own_drops(corpusmill, desk, forum, step):
    (desk / "own.py").write_text(OWN, "utf-8")
    name = recipe(
        desk, "own.yaml", f"read: {{jsonl: {{paths: forum.jsonl, text: message}}}}\nsteps: ['{step}']\nwrite: jsonl\n"
    )
    done = json.loads(corpusmill("run", name, "--json", "--folder", f"runs/{step[4:]}").stdout)
    assert done["documents_in"] == 400 and done["documents_out"] == 0


def test_a_filter_that_answers_nonsense_names_the_step(corpusmill, desk, forum):
    (desk / "own.py").write_text(OWN, "utf-8")
    name = recipe(
        desk, "wrong.yaml", "read: {jsonl: {paths: forum.jsonl, text: message}}\nsteps: ['own:Wrong']\nwrite: jsonl\n"
    )
    done = corpusmill("run", name, "--folder", "runs/wrong", status=None)
    assert done.returncode in (1, 2)
    assert "own:Wrong" in done.stderr or "wrong" in done.stderr.lower()


def test_a_plain_function_is_a_step(corpusmill, desk, forum):
    (desk / "own.py").write_text(OWN, "utf-8")
    name = recipe(
        desk,
        "function.yaml",
        "read: {jsonl: {paths: forum.jsonl, text: message}}\nsteps:\n- filter/function: own:is_good\nwrite: jsonl\n",
    )
    shown = corpusmill("run", name, "--folder", "runs/function").stdout
    assert "function" in shown and "of the time of the workers" in shown


@pytest.mark.parametrize(
    ("read", "said"),
    [
        ("jsonl: {paths: forum.jsonl, text: mesage}", "message"),
        ("jsonl: {paths: forum.jsonl}", "message"),
        ("jsonl: {paths: 'none/*.jsonl'}", "none"),
        ("parquet: {paths: forum.jsonl}", "forum.jsonl"),
        ("parquet: 'hf://datasets/HuggingFaceFW/fineweb/sample/10BT/*.parquet'", "hf"),
    ],
)
def test_check_tells_before_anything_runs(corpusmill, desk, forum, read, said):
    name = recipe(desk, "wrong.yaml", f"read: {{{read}}}\nsteps: [filter/basic]\nwrite: jsonl\n")
    done = corpusmill("check", name, status=2)
    assert said in done.stderr
    assert corpusmill("run", name, status=2).stderr.count("error:") >= 1


def test_all_errors_come_in_one_round(corpusmill, desk, forum):
    name = recipe(
        desk,
        "wrong.yaml",
        "read: {jsonl: {paths: forum.jsonl, text: mesage}}\n"
        "steps:\n- filter/langauge\n- filter/basic: {min_wrds: 3}\nwrit: jsonl\n",
    )
    said = corpusmill("check", name, status=2).stderr
    for word in ("langauge", "min_wrds", "writ"):
        assert word in said, said


@pytest.mark.parametrize("folder", ["forum.jsonl/sub", "/proc/runs/x"])
def test_a_folder_that_cannot_be_is_told(corpusmill, desk, forum, folder):
    name = recipe(
        desk,
        "folder.yaml",
        f"read: {{jsonl: {{paths: forum.jsonl, text: message}}}}\nwrite: jsonl\nrun: {{folder: {folder}}}\n",
    )
    corpusmill("check", name, status=2)
    corpusmill("run", name, status=2)


def test_csv_with_semicolons(corpusmill, desk):
    rows = "".join(f'{i};"Der Text mit der Nummer {i}; und ein Semikolon.";de\n' for i in range(50))
    (desk / "odd.csv").write_text("Nr.;Der Text;Sprache\n" + rows, "utf-8")
    wrong = recipe(desk, "csv.yaml", "read: {csv: odd.csv}\nwrite: jsonl\n")
    assert "Der Text" in corpusmill("check", wrong, status=2).stderr
    right = recipe(desk, "csv.yaml", "read: {csv: {paths: odd.csv, text: Der Text}}\nwrite: jsonl\n")
    assert json.loads(corpusmill("run", right, "--json").stdout)["documents_out"] == 50


def test_settings_are_taken_as_everywhere(corpusmill, desk):
    corpusmill("new", "demo")
    for setting in ("steps.gopher_quality.min_words=3", "gopher_quality.min_words=3"):
        corpusmill("check", "demo.yaml", "--set", setting)
        corpusmill("what-if", "runs/demo", "--set", setting)
    assert "min_words" in corpusmill("steps", "gopher_quality").stdout


def test_a_limit_and_a_sample(corpusmill, desk, forum):
    name = recipe(desk, "few.yaml", "read: {jsonl: {paths: forum.jsonl, text: message}}\nwrite: jsonl\n")
    assert json.loads(corpusmill("run", name, "--limit", 10, "--json").stdout)["documents_out"] == 10
    sampled = json.loads(corpusmill("run", name, "--sample", "20%", "--json").stdout)["documents_out"]
    assert 40 <= sampled <= 120
    assert json.loads(corpusmill("run", name, "--json").stdout)["documents_out"] == 400


@pytest.fixture
def large(desk: Path) -> Path:
    path = desk / "large.jsonl"
    if not path.exists():
        write_large(path)
    return path


def write_large(path: Path) -> None:
    """One file of 100 MB: a unit of it takes seconds."""
    words = (
        "the river of a town and that old bridge to be seen with boats have come from far away in autumn rain".split()
    )
    with path.open("w", encoding="utf-8") as file:
        for i in range(100_000):
            text = " ".join(Random(i % 90_000).choices(words, k=200))  # a tenth of them twice
            file.write(json.dumps({"text": f"{text}. Written by walker{i % 7}@example.org."}) + "\n")


LARGE = """read: {jsonl: large.jsonl}
steps: [clean/normalize, filter/language, filter/gopher_quality, redact/pii, dedup/minhash]
write: jsonl
"""


def test_progress_moves_inside_a_unit(terminal, desk, large):
    name = recipe(desk, "large.yaml", LARGE)
    with terminal("run", name, "--folder", "runs/large", "--workers", 2) as shown:
        shown.wait(lambda: re.search(r"[1-9][\d,.]*k? (docs|documents)/s", shown.screen()) is not None)
        assert re.search(r"MB/s", shown.screen())
        shown.press("\x03")
        assert shown.end() == 130, shown.everything()
        assert "again to continue" in shown.everything()


def test_progress_as_json_lines(corpusmill, desk, large):
    name = recipe(desk, "large.yaml", LARGE)
    done = corpusmill("run", name, "--folder", "runs/large", "--progress", "json")
    lines = [json.loads(line) for line in done.stderr.splitlines() if line.startswith("{")]
    assert len(lines) > 3
    assert signal.SIGINT  # POSIX: this script is not for Windows


def test_the_record_of_a_run(desk):
    record = json.loads((desk / "runs/large/run.json").read_text("utf-8"))
    text = json.dumps(record)
    for word in ("python", "host", "command", "started"):
        assert word in text, word
    page = (desk / "runs/large/report.html").read_text("utf-8")
    assert re.search(r"20\d\d-\d\d-\d\d", page) and "MB/s" in page
