"""What a run will take is estimated from a sample: as it is if the sample is everything, and nearly so if it is a part."""

import json
from pathlib import Path

import numpy as np
import pytest

import corpusmill
from corpusmill import Recipe, Source
from corpusmill.engine.plan.inputs import measured
from corpusmill.execute.serial import Serial
from corpusmill.ops.estimate import estimate, sample
from corpusmill.read.jsonl import JsonlReader
from corpusmill.recipe import RunSettings
from corpusmill.report.figures.mix import mixes
from corpusmill.report.numbers import size
from corpusmill.report.tables import RunTables
from corpusmill.steps.dedup.exact import Exact
from corpusmill.steps.filter.basic import Basic
from corpusmill.steps.mix.sources import Sources
from corpusmill.steps.pack.concat import Concat
from corpusmill.steps.tokenize.bpe import Bpe
from corpusmill.storage import expand
from corpusmill.write.shards import ShardsWriter

WORDS = "river stone winter garden letter window market silver morning captain forest bridge candle harbour".split()


def corpus(folder, name, documents, seed):
    """Texts of 5 to 200 words; every tenth is a copy of the one before, every fifth is too short."""
    random = np.random.default_rng(seed)
    texts: list[str] = []
    for i in range(documents):
        words = random.choice(WORDS, 3 if i % 5 == 4 else int(random.integers(60, 200)))
        texts.append(texts[-1] if i % 10 == 9 else f"{i} " + " ".join(words))
    path = folder / f"{name}.jsonl"
    path.write_text("".join(json.dumps({"text": text}) + "\n" for text in texts), "utf-8")
    return path


def recipe(folder, *steps, **sources):
    read = [Source(JsonlReader(), str(path), name) for name, path in sources.items()]
    steps = (Basic(min_words=20), Exact(), *steps, Bpe(), Concat(length=128))
    return Recipe(
        read=read, steps=steps, write=[ShardsWriter()], run=RunSettings(folder=str(folder / "run"), unit_mb=1)
    )


def test_of_a_sample_that_is_everything_it_says_what_a_run_gives(tmp_path):
    made = recipe(tmp_path, web=corpus(tmp_path, "web", 300, 1), wiki=corpus(tmp_path, "wiki", 60, 2))
    found = estimate(made, 1.0)
    assert list(tmp_path.glob("*run*")) == [], "nothing is left of the sample"
    done = corpusmill.run(made, executor=Serial())
    assert found.bytes == found.sample_bytes == sum(path.stat().st_size for path in tmp_path.glob("*.jsonl"))
    flows = done.waterfall.rows[-1].sources
    for source in found.sources:
        flow = flows[source.source]
        assert source.documents == flow["documents_out"]
        assert source.tokens == flow["tokens_out"] + flow["documents_out"]
    assert sum(source.tokens for source in found.sources) == done.waterfall.packed["tokens"]
    tables = RunTables(done.folder)
    written = {stage: results.bytes for stage, results in tables.files.stages.items()}
    assert {cost.stage for cost in found.stages} == set(written)
    assert sum(cost.bytes for cost in found.stages) == pytest.approx(sum(written.values()), rel=0.05)
    on_disk = sum(path.stat().st_size for path in Path(done.folder).rglob("*") if path.stat().st_nlink == 1)
    assert found.disk == pytest.approx(on_disk, rel=0.5), "a report is much of a small run"
    assert found.seconds > 0 and found.memory > 10_000_000


def test_a_part_says_nearly_the_same(tmp_path):
    made = recipe(tmp_path, web=corpus(tmp_path, "web", 4000, 3))
    part, whole = estimate(made, 0.25, least_bytes=0), estimate(made, 1.0)
    assert part.bytes == whole.bytes and part.sample_bytes == pytest.approx(0.25 * whole.bytes, rel=0.1)
    assert part.sources[0].tokens == pytest.approx(whole.sources[0].tokens, rel=0.05)
    assert part.disk == pytest.approx(whole.disk, rel=0.1)
    assert estimate(made, 0.25, least_bytes=10**9).sample_bytes == whole.bytes


def test_a_sample_comes_from_all_over_the_files(tmp_path):
    path = corpus(tmp_path, "web", 4000, 4)
    pieces = sample(JsonlReader(), measured(tuple(expand((str(path),), ()))), 0.25)
    assert len(pieces) > 1 and len({str(piece) for piece in pieces}) == len(pieces)
    starts = [piece.start for piece in pieces]
    assert starts == sorted(starts) and starts[-1] > 0.75 * path.stat().st_size and starts[0] < starts[-1] / 2


def test_another_start_is_another_sample_and_no_piece_is_taken_twice(tmp_path):
    source = measured(tuple(expand((str(corpus(tmp_path, "web", 4000, 4)),), ())))
    for share in (0.05, 0.25, 0.7, 1.0):
        found = [sample(JsonlReader(), source, share, start) for start in (0.0, 0.5, 0.999)]
        assert all(len({piece.start for piece in pieces}) == len(pieces) == len(found[0]) for pieces in found)
        assert (found[0] == found[1]) == (share == 1.0)


def test_files_that_are_alike_are_not_sampled_at_the_same_places(tmp_path):
    files = [corpus(tmp_path, f"web-{i}", 1500, 9) for i in range(4)]
    pieces = sample(JsonlReader(), measured(tuple(expand(tuple(map(str, files)), ()))), 0.25)
    places = [{piece.start for piece in pieces if piece.file.path == str(path)} for path in files]
    assert all(places) and places[0] != places[1]


def test_what_a_unit_leaves_whatever_it_holds_is_not_scaled_with_the_bytes(tmp_path):
    """A table of the tokens of each unit has a number for each word of the tokenizer."""
    made = recipe(tmp_path, web=corpus(tmp_path, "web", 4000, 3))
    part, whole = estimate(made, 0.25, least_bytes=0), estimate(made, 1.0)
    tables = [next(stage for stage in found.stages if stage.stage == "tokens") for found in (part, whole)]
    assert tables[0].units == tables[1].units and tables[0].bytes == pytest.approx(tables[1].bytes, rel=0.1)


def test_a_mix_is_tried_in_proportion_and_tells_what_comes_to_it(tmp_path):
    """With a budget that the sample alone could never give, and that all of it gives only with repeats."""
    files = {"web": corpus(tmp_path, "web", 3000, 5), "wiki": corpus(tmp_path, "wiki", 600, 6)}
    mix = Sources(weights={"web": 0.5, "wiki": 0.5}, budget=250_000)
    made = recipe(tmp_path, mix, **files)
    found = estimate(made, 0.3, least_bytes=0)
    done = corpusmill.run(made, executor=Serial())
    for source, drawn in zip(found.sources, mixes(RunTables(done.folder))[0].sources):
        assert source.share == drawn.share == 0.5
        assert source.tokens == pytest.approx(drawn.there, rel=0.1)


def test_the_command_plans_with_what_a_recipe_will_give(corpusmill, tmp_path):
    made = recipe(
        tmp_path,
        Sources(weights={"web": 3, "wiki": 1}),
        web=corpus(tmp_path, "web", 200, 7),
        wiki=corpus(tmp_path, "wiki", 200, 8),
    )
    (tmp_path / "mixed.yaml").write_text(made.dump(), "utf-8")
    status, out, _ = corpusmill("plan", tmp_path / "mixed.yaml", "--workers", 4, "--json")
    run = json.loads(out)["run"]
    rounds = sum(stage["seconds"] / max(stage["units"], 1) * -(-stage["units"] // 4) for stage in run["stages"])
    assert status == 0 and run["workers"] == 4 and run["price"]["core"] > 0
    assert run["hours"] == pytest.approx((run["around"] + rounds) / 3600)
    status, out, _ = corpusmill("plan", tmp_path / "mixed.yaml", "--tokens", "100k", "--json")
    sources = json.loads(out)["sources"]
    assert {name: source["wanted"] for name, source in sources.items()} == {"web": 75_000, "wiki": 25_000}
    assert [source["there"] for source in sources.values()] == [source["tokens"] for source in run["sources"]]
    assert run["documents"]["low"] <= run["documents"]["value"] <= run["documents"]["high"]
    assert [shuffle["step"] for shuffle in run["shuffles"]] == ["exact"] and run["requests"]["put"] > 10
    status, _, err = corpusmill("plan", tmp_path / "mixed.yaml", "--prices", tmp_path / "none.csv")
    assert status == 2 and "none.csv: cannot be read as a table of prices" in err
    status, out, _ = corpusmill("plan", tmp_path / "mixed.yaml")
    assert "(100.0 %; 96.0 MB are sampled at least, as less says little):" in out
    disk = next(line.split()[1] for line in out.splitlines() if line.startswith("  disk "))
    assert float(disk) == pytest.approx(float(size(run["disk"]).split()[0]), rel=0.01), "times in the records differ"
    status, _, err = corpusmill("plan", tmp_path / "mixed.yaml", "--sample", 0)
    assert status == 2 and "--sample is a share above 0 and up to 1, as in 1% or 0.01; got 0" in err
