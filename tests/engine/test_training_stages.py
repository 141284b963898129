"""Stages of training in a recipe: what is written for each, what the loader makes of it, and what is refused."""

import json
from collections import Counter
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest
import yaml

import corpusmill
from corpusmill.engine.plan import inputs
from corpusmill.errors import CorpusmillError, RecipeError, ShardError
from corpusmill.execute.processes import Processes
from corpusmill.execute.serial import Serial
from corpusmill.loader.stages import StageLoader
from corpusmill.models.tokenizer import load
from corpusmill.ops.find import served
from corpusmill.ops.tracing import with_shards
from corpusmill.recipe.json_schema import recipe_schema
from corpusmill.recipe.model import Recipe
from corpusmill.recipe.stages import outline, plan_reads
from corpusmill.recipe.training_stage import TrainingStage
from corpusmill.report.figures.training import training
from corpusmill.report.tables import RunTables
from corpusmill.shards import open_shards
from corpusmill.steps.pack.best_fit import BestFit
from corpusmill.steps.tokenize.bpe import Bpe
from corpusmill.write.shards import Goldfish, ShardsWriter

WORDS = "river stone winter garden letter window market silver morning captain forest bridge candle harbour".split()
SOURCES = {"web": 240, "code": 80, "wiki": 60}
STAGES = """
stages:
  - {name: pretrain, tokens: 6k, batch: 8, mix: {web: 3, code: 1}}
  - {name: anneal, tokens: "2k", batch: 4, mix: {wiki: 1, code: 1}, where: {language.score: {min: 0.85}}}
  - {name: long, tokens: 2048, batch: 2, length: 256, tokenize: {tokenize/bpe: {tokenizer: gpt2, prefix: {share: 1}}}}
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("staged")
    for name, count in SOURCES.items():
        random = Random(name)
        lines = []
        for number in range(count):
            text = f"{name} {number} " + " ".join(random.choices(WORDS, k=random.randint(4, 60)))
            lines.append(json.dumps({"id": f"{name}-{number}", "text": text, "url": f"https://{name}.org/{number}"}))
        (folder / f"{name}.jsonl").write_text("\n".join(lines) + "\n", "utf-8")
    return folder


def recipe(folder: Path, stages: str = STAGES, steps: str = "", pack: str = "pack/best_fit: {length: 64}") -> str:
    sources = "".join(f"  - jsonl: {{paths: {folder}/{name}.jsonl, source: {name}}}\n" for name in SOURCES)
    return (
        f"name: staged\nread:\n{sources}steps:\n  - annotate/language\n{steps}"
        f"  - tokenize/bpe: {{tokenizer: gpt2}}\n  - {pack}\nwrite: [shards]\n{stages}"
    )


def carried_out(text: str, place: Path, **more: Any) -> Path:
    return Path(corpusmill.run(Recipe.parse(text), folder=str(place), **{"executor": Serial(), **more}).place)


@pytest.fixture(scope="module")
def done(folder: Path) -> Path:
    return carried_out(recipe(folder), folder / "run")


def texts_in(folder: Path) -> dict[str, str]:
    """The id of each document of a folder of shards, and its text."""
    shards = open_shards(folder)
    tokenizer = load("gpt2")
    tables = [pq.read_table(path) for path in sorted((folder / "documents").glob("*.parquet"))]
    ids = [id for table in tables for id in table["id"].to_pylist()]
    parts: dict[int, list[tuple[int, Any]]] = {}
    for number in range(len(shards.index.shards)):
        runs, tokens = shards.runs(number), shards.mapped(number)
        for start, stop, document, offset in zip(
            runs.start, [*runs.start[1:], len(tokens)], runs.document, runs.offset
        ):
            if document >= 0:
                parts.setdefault(int(document), []).append((int(offset), np.asarray(tokens[start:stop])))
    found = {}
    for document, some in parts.items():
        whole = np.concatenate([each for _, each in sorted(some, key=lambda part: part[0])])
        found[ids[document]] = tokenizer.decode(whole[whole != tokenizer.eos_id].tolist())
    return found


def kept(done: Path) -> dict[str, tuple[str, str, float]]:
    """id -> source, text and language score of all documents of a run."""
    (docs,) = done.glob("stages/pass-1-*/docs/*.parquet")
    (signals,) = done.glob("stages/pass-1-*/signals/*.parquet")
    table, scores = pq.read_table(docs), pq.read_table(signals)["language.score"].to_pylist()
    rows = zip(table["id"].to_pylist(), table["source"].to_pylist(), table["text"].to_pylist(), scores)
    return {id: (source, text, score) for id, source, text, score in rows}


def test_each_folder_has_the_documents_of_its_stage(done):
    everything = kept(done)
    output = done / "output"
    assert {path.name for path in output.iterdir()} == {
        "shards", "pretrain-web", "pretrain-code", "anneal-wiki", "anneal-code", "long",
    }  # fmt: skip
    for name, source in (("pretrain-web", "web"), ("pretrain-code", "code")):
        assert texts_in(output / name) == {id: text for id, (of, text, _) in everything.items() if of == source}
    for name, source in (("anneal-wiki", "wiki"), ("anneal-code", "code")):
        wanted = {id: text for id, (of, text, score) in everything.items() if of == source and score >= 0.85}
        assert texts_in(output / name) == wanted
        assert 0 < len(wanted) < SOURCES[source]
    prefixed = texts_in(output / "long")
    assert prefixed == {id: f"URL: {of}.org\n\n{text}" for id, (of, text, _) in everything.items()}
    assert open_shards(output / "long").index.sequence_length == 256


def test_the_loader_takes_the_run(done):
    loader = StageLoader(done, seed=3)
    assert [stage.name for stage in loader.stages] == ["pretrain", "anneal", "long"]
    assert loader.steps == (6000 // 512, 2000 // 256, 2048 // 512)
    batches = list(loader)
    assert [batch["tokens"].shape for batch in batches] == [(8, 64)] * 11 + [(4, 64)] * 7 + [(2, 256)] * 4
    sources = Counter(Path(piece.source).name for step in range(11) for piece in loader.trace(step))
    assert set(sources) == {"pretrain-web", "pretrain-code"}
    two = [StageLoader(done, seed=3, rank=rank, world=2) for rank in range(2)]
    for step in (0, 10, 11, 17, 18, 21):
        parts = [each.at(step)["tokens"] for each in two]
        assert np.concatenate(parts).tolist() == batches[step]["tokens"].tolist()
    prefix = loader.at(18)
    assert not prefix["loss_mask"][prefix["position_ids"] < 3].any()  # "URL: …" has no loss, in this stage alone
    assert loader.at(0)["loss_mask"].mean() > 0.9


def test_the_steps_of_a_document_are_those_that_read_it(done):
    loaders = [StageLoader(done, seed=3, rank=rank, world=2) for rank in range(2)]
    everything = kept(done)
    read: dict[str, set[tuple[int, int]]] = {id: set() for id in everything}
    for rank, loader in enumerate(loaders):
        for step in range(len(loader)):
            number, inside = loader.locate(step)
            for _, piece in with_shards(loader.loaders[number], inside):
                read[piece.about["id"]].add((step, rank))
    found = served(str(done), list(everything), seed=3, world=2)
    assert {id: {(one.step, one.rank) for one in batches} for id, batches in found.items()} == read
    assert max(len({step for step, _ in steps}) for steps in read.values()) > 1


def bytes_of(place: Path) -> dict[str, bytes]:
    files = {
        str(path.relative_to(place)): path.read_bytes() for path in (place / "output").rglob("*") if path.is_file()
    }
    return files | {"training.json": (place / "training.json").read_bytes()}


@pytest.mark.parametrize("workers", [0, 2])
def test_the_bytes_do_not_depend_on_units_or_workers(folder, done, tmp_path, monkeypatch, workers):
    monkeypatch.setattr(inputs, "unit_bytes", lambda found, unit_mb: 8_000)
    executor = Processes(workers, preload=("corpusmill.engine.preload",)) if workers else Serial()
    again = carried_out(recipe(folder), tmp_path / "again", executor=executor)
    assert len(list(again.glob("stages/long-ids-*/ids/*"))) > 5
    assert bytes_of(again) == bytes_of(done)


def test_what_else_is_written_is_as_without_stages(folder, done, tmp_path):
    plain = carried_out(recipe(folder, ""), tmp_path / "plain")
    assert not (plain / "training.json").exists()
    name = "output/shards/00000.bin"
    assert (plain / name).read_bytes() == (done / name).read_bytes()


def test_a_stage_that_is_added_later_repeats_nothing_else(folder, tmp_path):
    carried_out(recipe(folder, ""), tmp_path / "run")
    run = corpusmill.run(Recipe.parse(recipe(folder)), folder=str(tmp_path / "run"), executor=Serial())
    new = {name for name, counts in run.units.items() if counts.done_now}
    assert new == {name for name in run.units if name.startswith(("pretrain", "anneal", "long"))}
    again = carried_out(recipe(folder, ""), tmp_path / "run")
    assert not (again / "training.json").exists()
    assert [path.name for path in (again / "output").iterdir()] == ["shards"]


def test_a_mix_that_draws_again_does_so_in_every_stage(folder, tmp_path):
    stages = """
stages:
  - {name: first, tokens: 4k, batch: 4, mix: {wiki: 1}}
  - {name: best, tokens: 4k, batch: 4, where: {language.score: {min: 0.85}}}
  - {name: named, tokens: 4k, batch: 4, mix: {wiki: 1}, tokenize: {tokenize/bpe: {tokenizer: gpt2, prefix: {share: 1}}}}
"""
    mixed = "  - mix/sources: {weights: {wiki: 3, web: 1, code: 1}, budget: 12000}\n"
    done = carried_out(recipe(folder, stages, mixed), tmp_path / "run")
    drawn = Counter(
        id
        for path in sorted((done / "output" / "shards" / "documents").glob("*.parquet"))
        for id in pq.read_table(path)["id"].to_pylist()
    )
    assert max(drawn.values()) > 1
    everything = kept(done)
    for name, wanted in (
        ("first", lambda of, score: of == "wiki"),
        ("named", lambda of, score: of == "wiki"),
        ("best", lambda of, score: score >= 0.85),
    ):
        (folder_of,) = (path for path in (done / "output").iterdir() if path.name.startswith(name))
        found = Counter(
            id
            for path in sorted((folder_of / "documents").glob("*.parquet"))
            for id in pq.read_table(path)["id"].to_pylist()
        )
        assert found == {id: n for id, n in drawn.items() if wanted(everything[id][0], everything[id][2])}
        for id, text in texts_in(folder_of).items():
            assert text.endswith(everything[id][1])


def test_stages_that_read_the_same_share_folders(folder):
    stages = """
stages:
  - {name: a, tokens: 1k, batch: 1, mix: {web: 1, code: 1}}
  - {name: b, tokens: 1k, batch: 1, mix: {code: 5}}
  - {name: c, tokens: 1k, batch: 1}
  - {name: d, tokens: 1k, batch: 1, shards: {goldfish: {k: 8}}}
  - {name: e, tokens: 1k, batch: 1, shards: {goldfish: {k: 8}}}
"""
    made = Recipe.parse(recipe(folder, stages))
    folders, stages_of = plan_reads(made)
    assert [one.name for one in folders] == ["shards", "a-web", "a-code", "d"]
    assert [dict(one.folders) for one in stages_of] == [
        {"a-web": 1, "a-code": 1}, {"a-code": 5}, {"shards": 1}, {"d": 1}, {"d": 1},
    ]  # fmt: skip


def test_rows_of_a_stream_are_cut_to_each_length(folder, tmp_path):
    stages = "stages: [{name: short, tokens: 1k, batch: 2}, {name: long, tokens: 1k, batch: 1, length: 200}]"
    done = carried_out(recipe(folder, stages, pack="pack/concat: {length: 64}"), tmp_path / "run")
    assert [path.name for path in (done / "output").iterdir()] == ["shards"]
    loader = StageLoader(done)
    assert [one.length for one in loader.loaders] == [64, 200]


def test_a_recipe_with_stages_is_written_and_read_again(folder):
    made = Recipe.parse(recipe(folder))
    assert Recipe.parse(made.dump()) == made
    assert Recipe.parse(made.dump(resolved=True)) == made
    jsonschema = pytest.importorskip("jsonschema", reason="needs jsonschema, of the extra dev")
    jsonschema.validate(yaml.safe_load(recipe(folder)), recipe_schema())
    stages = (
        TrainingStage(name="pretrain", tokens=6000, batch=8, mix=(("web", 3), ("code", 1))),
        TrainingStage(
            name="long", tokens="2k", batch=2, pack=BestFit(length=256), shards=ShardsWriter(goldfish=Goldfish(k=3))
        ),
    )
    python = Recipe(read=made.read, steps=made.steps, write=made.write, stages=stages)
    assert Recipe.parse(python.dump()) == python
    assert python.fingerprint() != Recipe(read=made.read, steps=made.steps, write=made.write).fingerprint()
    named = {"name": "long", "tokens": "2k", "batch": 2, "tokenize": Bpe(tokenizer="gpt2"), "pack": "pack/best_fit"}
    (stage,) = Recipe(read=made.read, steps=made.steps, write=made.write, stages=[named]).stages
    assert (stage.tokenize, stage.pack) == (Bpe(tokenizer="gpt2"), BestFit())
    changed = Recipe.parse(recipe(folder), overrides=["stages.anneal.tokens=1M", "stages.long.batch=4"])
    assert [(stage.budget, stage.batch) for stage in changed.stages] == [(6000, 8), (1_000_000, 4), (2048, 4)]


@pytest.mark.parametrize(
    ("stage", "message"),
    [
        ("{name: a, tokens: 1k}", 'stage "a" needs a value for "batch"'),
        ("{name: a, tokens: many, batch: 1}", "tokens is a number from 1, as 2000000000, 2B or 1.5T; got 'many'"),
        ("{name: a/b, tokens: 1k, batch: 1}", "cannot be; use letters, digits"),
        ("{name: a, tokens: 1k, batch: 1, mix: {wep: 1}}", 'there is no source "wep"; did you mean "web"?'),
        ("{name: a, tokens: 1k, batch: 1, mix: {web: 0}}", "weights above 0"),
        ("{name: a, tokens: 1k, batch: 1, where: {language.score: {min: 2, max: 1}}}", "nothing is from 2.0 to 1.0"),
        ("{name: a, tokens: 1k, batch: 1, budged: 3}", 'has no parameter "budged"'),
        ("{name: a, tokens: 1k, batch: 1, pack: tokenize/bpe}", "pack of a stage is a step pack/…"),
        ("{name: a, tokens: 1k, batch: 1, length: 9, pack: pack/concat}", "give the length in pack"),
        ("pretrain", "a stage is a mapping"),
        (
            "{name: a, tokens: 1k, batch: 1, tokenize: {tokenize/bpe: {tokenizer: gpt2, prefix: {}}}, "
            "pack: pack/buckets}",
            "puts prefixes before documents, and pack/buckets may cut them",
        ),
    ],
)  # fmt: skip
def test_what_is_wrong_with_a_stage_is_said(folder, stage, message):
    text = recipe(folder, f"stages:\n  - {stage}\n")
    with pytest.raises(RecipeError) as error:
        Recipe.parse(text, "made.yaml")
    assert message in str(error.value)
    assert f"made.yaml:{text.splitlines().index('stages:') + 2}" in str(error.value)


def test_two_stages_of_a_name_and_stages_without_tokens_are_refused(folder):
    with pytest.raises(RecipeError, match="another stage is named"):
        Recipe.parse(recipe(folder, "stages: [{name: a, tokens: 1, batch: 1}, {name: a, tokens: 1, batch: 1}]"))
    plain = f"read: {{jsonl: {folder}/web.jsonl}}\nstages: {{name: a, tokens: 1, batch: 1}}"
    with pytest.raises(RecipeError, match="no step makes them; add tokenize/bpe"):
        Recipe.parse(plain)
    with pytest.raises(RecipeError, match="no step packs, and the stage has no length of rows"):
        Recipe.parse(plain + "\nsteps: [{tokenize/bpe: {tokenizer: gpt2}}]")


def test_what_only_a_run_can_know_is_refused_before_it_starts(folder, tmp_path):
    unknown = "stages: [{name: a, tokens: 1k, batch: 1, where: {language.sgore: {min: 0.5}}}]"
    with pytest.raises(CorpusmillError, match=r'no step makes the signal "language.sgore"; did you mean'):
        carried_out(recipe(folder, unknown), tmp_path / "a")
    other = "stages: [{name: a, tokens: 1k, batch: 1, tokenize: tokenize/bytes}]"
    with pytest.raises(CorpusmillError, match="another tokenizer than the recipe"):
        carried_out(recipe(folder, other), tmp_path / "b")
    taken = (
        "stages: [{name: tokens, tokens: 1k, batch: 1, mix: {web: 1}}, {name: pass-1, tokens: 1k, batch: 1, length: 9}]"
    )
    with pytest.raises(CorpusmillError, match=r'"pass-1" is what a part of the run is called'):
        carried_out(recipe(folder, taken), tmp_path / "c")


def test_plan_check_report_and_trace_say_the_stages(corpusmill, folder, done, tmp_path):
    path = tmp_path / "staged.yaml"
    path.write_text(recipe(folder), "utf-8")
    assert [(one.steps, one.first_step) for one in outline(Recipe.load(path))] == [(11, 0), (7, 11), (4, 18)]
    code, out, _ = corpusmill("check", path)
    assert code == 0
    assert "training pretrain: 11 steps from 0 on, of 8 rows of 64 tokens: web 75%, code 25%" in out
    code, out, _ = corpusmill("plan", path, "--sample", "100%", "--json")
    assert code == 0
    first = json.loads(out)["stages"][0]
    assert (first["steps"], first["sources"]["web"]["tokens"]) == (11, 4224)
    code, out, _ = corpusmill("plan", done, "--json")
    planned = json.loads(out)["stages"]
    assert [stage["steps"] for stage in planned] == [11, 7, 4]
    assert planned[2]["without_loss"] == ["prefix"]
    figures = training(RunTables(str(done)))
    assert [(one.when.stage, one.when.steps, one.when.first_step) for one in figures] == [
        ("pretrain", 11, 0), ("anneal", 7, 11), ("long", 4, 18),
    ]  # fmt: skip
    for one, stage in zip(figures, planned):
        found = {read.folder: round(read.epochs, 9) for read in one.reads}
        assert found == {Path(name).name: round(source["epochs"], 9) for name, source in stage["sources"].items()}
    assert "Training stages" in (done / "report.html").read_text("utf-8")
    code, out, _ = corpusmill("trace", done, "--step", 18, "--seed", 3, "--json")
    traced = json.loads(out)
    assert (code, traced["stage"], traced["step_in_stage"]) == (0, "long", 0)
    pieces = StageLoader(done, seed=3).trace(18)
    assert [entry["document"] for entry in traced["documents"]] == [piece.document for piece in pieces]
    assert traced["documents"][0]["text"].startswith("URL: ")
    code, _, err = corpusmill("trace", done, "--step", 18, "--seq-len", 64)
    assert code != 0
    assert "leave out --seq-len" in err


def test_a_run_without_stages_is_said_to_have_none(tmp_path):
    with pytest.raises(ShardError, match=r"this run has no training stages \(no training.json\)"):
        StageLoader(tmp_path)
