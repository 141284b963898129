"""Runs on some documents: the first ones of each source, or a sample."""

import json
from pathlib import Path
from random import Random
from tempfile import mkdtemp
from typing import Any

import pyarrow.parquet as pq
import pytest

from corpusmill import run
from corpusmill.engine.plan import inputs
from corpusmill.errors import InputError, RecipeError
from corpusmill.execute.serial import Serial
from corpusmill.recipe.model import Recipe
from corpusmill.recipe.parts import RunSettings
from corpusmill.report.tables import RunTables

FILES, EACH = 6, 70  # of source a; b has one file
PLACE = ["id", "source", "file", "position"]


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two sources with blank lines, bad records and bad pages among the documents."""
    folder = tmp_path_factory.mktemp("limited")
    random = Random(3)

    def lines(name: str, count: int) -> str:
        good = [json.dumps({"text": f"{name} {i} " + "word " * random.randint(1, 30)}) for i in range(count)]
        return "\n".join(part for line in good for part in (line, *random.choice([[], [], [""], ["{bad"]]))) + "\n"

    for file in range(FILES):
        (folder / f"a-{file}.jsonl").write_text(lines(f"a{file}", EACH))
    (folder / "b.jsonl").write_text(lines("b", 40))
    (folder / "r.yaml").write_text(
        f"read:\n  - jsonl: {{paths: {folder}/a-*.jsonl, source: a}}\n"
        f"  - jsonl: {{paths: {folder}/b.jsonl, source: b}}\n"
        "steps: [dedup/exact]\nrun: {error_budget: 1.0}\n"
    )
    return folder


def taken(
    corpus: Path, *settings: str, workers: int = 1, folder: Path | None = None
) -> tuple[list[str], dict[str, dict[str, Any]]]:
    """The ids of the documents in order, and what was counted of what was read, of each source."""
    folder = folder or Path(mkdtemp(dir=corpus))
    executor = Serial() if workers == 1 else None
    done = run(corpus / "r.yaml", overrides=settings, folder=folder, executor=executor, workers=workers)
    files = sorted((folder / "stages").glob("pass-1-*/signals/*.parquet"))
    rows = [row for file in files for row in pq.read_table(file, columns=PLACE).to_pylist()]
    rows.sort(key=lambda row: (row["source"], row["file"], row["position"]))
    counted = {name: {k: v for k, v in each.items() if k != "bytes"} for name, each in done.waterfall.read.items()}
    return [row["id"] for row in rows], counted


@pytest.fixture(scope="module")
def whole(corpus: Path) -> list[str]:
    """The ids of all documents."""
    return taken(corpus, folder=corpus / "whole")[0]


@pytest.fixture(params=[(1, None), (1, 2000), (3, 500)], ids=["usual", "small units", "workers"])
def way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> int:
    """Ways of cutting the input into units, and a number of workers."""
    workers, unit = request.param
    if unit:
        monkeypatch.setattr(inputs, "SMALLEST", unit)
    return workers


def test_a_limit_takes_the_first_documents_of_each_source_however_the_input_is_cut(
    corpus: Path, whole: list[str], way: int
) -> None:
    some, counted = taken(corpus, "run.limit=100", workers=way)
    assert some == whole[:100] + whole[FILES * EACH :]
    assert [counted[name]["documents"] for name in "ab"] == [100, 40]
    lines = [line for file in sorted(corpus.glob("a-*.jsonl")) for line in file.read_text().splitlines()]
    last = [number for number, line in enumerate(lines) if line.startswith('{"text')][99]
    assert counted["a"]["records"] == last + 1  # dead letters and blank lines behind the limit do not count


def test_a_sample_is_the_same_however_the_input_is_cut(corpus: Path, whole: list[str], way: int) -> None:
    some, counted = taken(corpus, "run.sample=20%", workers=way)
    a = set(whole[: FILES * EACH])
    assert set(some) < set(whole) and 0.1 * len(whole) < len(some) < 0.3 * len(whole)
    less, _ = taken(corpus, "run.sample=0.1", workers=way)
    assert set(less) < set(some)
    assert counted["a"]["skipped"]["not_sampled"] + counted["a"]["documents"] == FILES * EACH
    both, _ = taken(corpus, "run.sample=20%", "run.limit=10", workers=way)
    of_a, of_b = ([one for one in some if (one in a) == is_a][:10] for is_a in (True, False))
    assert both == of_a + of_b


def test_another_seed_draws_another_sample(corpus: Path) -> None:
    assert taken(corpus, "run.sample=20%")[0] != taken(corpus, "run.sample=20%", "seed=1")[0]


def test_a_limited_run_says_so_and_has_a_folder_and_a_fingerprint_of_its_own(corpus: Path) -> None:
    text = (corpus / "r.yaml").read_text()
    whole, some = Recipe.parse(text), Recipe.parse(text, overrides=["run.limit=3", "run.sample=1%"])
    assert (whole.folder, some.folder) == ("runs/recipe", "runs/recipe-limit-3-sample-1pct")
    assert whole.fingerprint() != some.fingerprint() == Recipe.parse(some.dump()).fingerprint()
    assert Recipe.parse(text, overrides=["run.limit=3", "run.folder=s3://b/x/"]).folder == "s3://b/x-limit-3"
    said, folder = "the first 3 documents of each source", corpus / "three"
    taken(corpus, "run.limit=3", folder=folder)
    assert json.loads((folder / "run.json").read_text())["limited"] == said
    assert f"A limited run: {said}." in (folder / "report.html").read_text() and RunTables(folder).files.limited == said


def test_a_limited_run_does_not_replace_a_whole_one(corpus: Path, whole: list[str]) -> None:
    with pytest.raises(InputError, match=r"holds a run on all documents .* --folder .*-limit-5$"):
        run(corpus / "r.yaml", overrides=["run.limit=5"], folder=corpus / "whole", executor=Serial())


@pytest.mark.parametrize("sample", ["0", "0%", "101%", 1.5, "-1%", "lots", "nan"])
def test_a_sample_is_a_share(sample: str | float) -> None:
    with pytest.raises(RecipeError, match="above 0 and up to 1, as in 1%"):
        RunSettings(sample=sample)


def test_a_limit_is_a_number_of_documents() -> None:
    with pytest.raises(RecipeError, match="need limit >= 1, got 0"):
        RunSettings(limit=0)
    assert not RunSettings(sample="100%").limited
