"""What is kept back for validation: by what documents hold, in every output, and the same however a run is carried out."""

import json
import random
import shutil
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest
import xxhash
import yaml
import zstandard

import corpusmill
from corpusmill.errors import InputError, RecipeError, ShardError
from corpusmill.execute.serial import Serial
from corpusmill.export import export
from corpusmill.loader import RowSource, TokenLoader
from corpusmill.ops.verify import verify
from corpusmill.recipe.model import Recipe
from corpusmill.recipe.split import Split
from corpusmill.report.figures.split import split_sides, warnings
from corpusmill.report.tables import RunTables
from corpusmill.shards import open_shards
from corpusmill.shards.documents import documents
from corpusmill.store.run_folder import RunFolder
from corpusmill.text.splitmix64 import chance, mix64
from corpusmill.write.megatron import read_index
from made_run import unfinish

RECIPE = """
name: split
read:
  - jsonl: {{paths: "{folder}/*.jsonl", source: web}}
steps:
  - dedup/minhash: {{mark: true}}
  - tokenize/bpe: {{tokenizer: gpt2}}
  - pack/concat: {{length: 32}}
split: {{validation: 0.3, by: {by}}}
write:
  - jsonl: {{signals: ["minhash.cluster_id"]}}
  - parquet
  - tokenized
  - megatron
  - shards: {{tokens_per_shard: 2048}}
  - parquet_tokens
run: {{executor: serial}}
"""
WORDS = ["".join(random.Random(number).choices("abcdefghijklmno", k=5)) for number in range(400)]


def texts(seed, count):
    random_ = random.Random(seed)
    return [" ".join(random_.choices(WORDS, k=40)) for _ in range(count)]


def write(folder, name, lines):
    folder.mkdir(exist_ok=True)
    rows = (
        {"text": text, "url": f"https://www.site{n % 11}.co.uk/{n}" if n % 3 else None} for n, text in enumerate(lines)
    )
    (folder / name).write_text("".join(json.dumps(row) + "\n" for row in rows))


def corpus(folder):
    """200 documents, 40 of them once more, and 40 once more with a word behind them."""
    own = texts(1, 200)
    write(folder, "a.jsonl", [*own, *own[:40], *(f"{text} more" for text in own[20:60])])
    return folder


def carry_out(folder, place, by="document", text=RECIPE, **settings):
    recipe = Recipe.parse(text.format(folder=folder, by=by))
    return corpusmill.run(recipe, folder=place, executor=Serial(), **settings)


def lines(folder):
    files = sorted(folder.glob("*.jsonl.zst"))
    return [json.loads(line) for file in files for line in zstandard.open(file, "rt").read().splitlines()]


def sides(done):
    """(text, url) -> the side of a document."""
    found: dict[tuple[str, str | None], str] = {}
    for side, name in (("train", "jsonl"), ("validation", "jsonl-validation")):
        for line in lines(done.output / name):
            assert found.setdefault((line["text"], line["url"]), side) == side
    return found


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return corpus(tmp_path_factory.mktemp("split") / "docs")


@pytest.fixture(scope="module")
def done(folder):
    return carry_out(folder, folder.parent / "run")


@pytest.fixture(scope="module", params=["document", "domain", "cluster"])
def each(request, folder, done):
    if request.param == "document":
        return request.param, done
    return request.param, carry_out(folder, folder.parent / request.param, request.param)


def test_a_hash_of_the_text_decides(done):
    for (text, _), side in sides(done).items():
        key = np.array([xxhash.xxh64_intdigest(text.encode())], np.uint64) ^ mix64(np.array([0], np.uint64))
        assert (chance(key)[0] < 0.3) == (side == "validation")


def test_copies_are_on_one_side(each):
    """However documents are divided: equal texts, those of a domain, those of a near-duplicate cluster."""
    by, done = each
    rows = [(name, row) for name in ("jsonl", "jsonl-validation") for row in lines(done.output / name)]
    keys = {
        "document": lambda row: row["text"],
        "domain": lambda row: row["url"].split("/")[2] if row["url"] else row["source"],
        "cluster": lambda row: row["signals"]["minhash.cluster_id"] or row["id"],
    }
    places: dict[str, set[str]] = {}
    for name, row in rows:
        places.setdefault(keys[by](row), set()).add(name)
    assert len(rows) == 280 and {len(names) for names in places.values()} == {1}
    assert {name for name, _ in rows} == {"jsonl", "jsonl-validation"}
    if by == "cluster":
        assert len(places) == 200  # copies and near copies are of one cluster


def test_no_document_changes_sides_when_others_are_added(each, folder, tmp_path):
    by, done = each
    more = shutil.copytree(folder, tmp_path / "docs")
    write(more, "b.jsonl", [*texts(2, 100), *texts(1, 30)])
    if by != "cluster":  # whose ids are places: what is in the middle of a file moves those behind
        write(more, "0.jsonl", texts(3, 50))
        rows = (folder / "a.jsonl").read_text().splitlines(keepends=True)
        (more / "a.jsonl").write_text("".join([*rows[100:], json.dumps({"text": "another one"}) + "\n", *rows[:100]]))
    before, after = sides(done), sides(carry_out(more, tmp_path / "run", by))
    assert len(after) > len(before)
    assert {place: side for place, side in after.items() if place in before} == before


def test_a_larger_share_keeps_what_a_smaller_one_has(done, folder, tmp_path):
    text = RECIPE.replace("0.3", "0.5")
    larger = sides(carry_out(folder, tmp_path / "run", text=text))
    assert all(larger[place] == "validation" for place, side in sides(done).items() if side == "validation")
    assert sum(side == "validation" for side in larger.values()) > 100


def test_the_seed_draws_others(done, folder, tmp_path):
    other = sides(carry_out(folder, tmp_path / "run", text=f"seed: 7{RECIPE}"))
    assert 20 < sum(other[place] != side for place, side in sides(done).items()) < 180


def output(folder):
    files = sorted(path for path in (folder / "output").rglob("*") if path.is_file())
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in files}


def test_every_writer_writes_both_sides(done):
    """The same documents in each, none twice and none left out."""
    for side in ("", "-validation"):
        ids = [line["id"] for line in lines(done.output / f"jsonl{side}")]
        assert pq.read_table(done.output / f"parquet{side}")["id"].to_pylist() == ids
        tokens = pq.read_table(done.output / f"tokenized{side}")
        assert tokens["id"].to_pylist() == ids
        lengths = tokens["token_count"].to_pylist()
        megatron = [read_index(file).lengths for file in sorted((done.output / f"megatron{side}").glob("*.idx"))]
        assert np.concatenate(megatron).tolist() == lengths
        shards = open_shards(done.output / f"shards{side}")
        assert [length for block in documents(shards) for length in block.lengths.tolist()] == lengths
        assert [shards.provenance(number)["id"] for number in range(len(ids))] == ids
        rows = pq.read_table(done.output / f"parquet_tokens{side}")
        assert len(rows) == -(-sum(lengths) // 32)
    assert not any(problem for folder in verify(RunFolder(done.place)) for problem in folder.problems)


@pytest.mark.parametrize("stage", ["split", "split-validation", "jsonl-validation", "shards", "shards-validation"])
def test_a_run_that_was_killed_goes_on_to_the_same_bytes(done, folder, tmp_path, stage):
    killed = shutil.copytree(done.folder, tmp_path / "run", symlinks=True)
    unfinish(killed, stage)
    again = carry_out(folder, killed)
    assert again.units[stage].done_now == 1 and output(killed) == output(done.folder)


def test_workers_and_the_size_of_units_change_no_byte(tmp_path):
    docs = tmp_path / "docs"
    for number in range(2):
        write(docs, f"{number}.jsonl", texts(number, 21_000))
    text = RECIPE.replace("  - tokenized\n  - megatron\n", "").replace("2048", "400000")
    one = corpusmill.run(Recipe.parse(text.format(folder=docs, by="document")), folder=tmp_path / "one", workers=1)
    text = text.replace("executor: serial", "workers: 2, unit_mb: 5")
    two = corpusmill.run(Recipe.parse(text.format(folder=docs, by="document")), folder=tmp_path / "two")
    assert one.units["split"].units < two.units["split"].units
    assert output(one.folder).keys() == output(two.folder).keys()
    for name in ("jsonl", "jsonl-validation"):
        assert lines(one.output / name) == lines(two.output / name)
    for name in ("shards", "shards-validation"):
        shards = [open_shards(made.output / name) for made in (one, two)]
        assert len({tuple(opened.tokens(0, len(opened)).tolist()) for opened in shards}) == 1


def test_the_loader_reads_either(done):
    train, validation = (TokenLoader(done.place, batch_size=4, split=side) for side in ("train", "validation"))
    assert validation.shards[0].folder.name == "shards-validation" and train.shards[0].folder.name == "shards"
    beside = TokenLoader(done.output / "shards", batch_size=4, split="validation")
    assert (beside.at(0)["tokens"] == validation.at(0)["tokens"]).all()
    assert len(RowSource(done.place, split="validation")) == len(validation.rows[0])
    with pytest.raises(ShardError, match=r'split is one of train, validation; got .*; did you mean "validation"'):
        TokenLoader(done.place, split="valid")


def test_the_loader_says_how_a_run_gets_a_split(two_sources):
    with pytest.raises(ShardError, match=r"no shards-validation beside it. Add `split: \{validation: 0.01\}` to the"):
        TokenLoader(two_sources, split="validation")


def test_exports_with_a_validation_of_their_own_take_the_split(done, tmp_path):
    made = export(done.folder, "nanogpt", tmp_path / "nanogpt")
    for name, side in (("train", ""), ("val", "-validation")):
        ids = np.fromfile(made.folder / f"{name}.bin", np.uint16).tolist()
        assert ids == [token for block in documents(open_shards(done.output / f"shards{side}")) for token in block.ids]
    made = export(done.folder, "llmc", tmp_path / "llmc")
    assert (
        np.fromfile(made.folder / "val_000000.bin", np.int32)[2]
        == np.fromfile(tmp_path / "nanogpt" / "val.bin", np.uint16).size
    )
    made = export(done.folder, "nanochat", tmp_path / "nanochat")
    *train, last = sorted(made.folder.glob("*.parquet"))
    wanted = {side: sorted(line["text"] for line in lines(done.output / name)) for side, name in SIDES.items()}
    assert sorted(pq.read_table(last)["text"].to_pylist()) == wanted["validation"]
    assert sorted(text for file in train for text in pq.read_table(file)["text"].to_pylist()) == wanted["train"]
    for format, setting in (("nanogpt", {"val_fraction": 0.1}), ("llmc", {"val_tokens": 5})):
        with pytest.raises(InputError, match="its recipe has a split, which says what is for validation; leave out"):
            export(done.folder, format, tmp_path / "refused", **setting)


SIDES = {"train": "jsonl", "validation": "jsonl-validation"}


@pytest.mark.parametrize("format", ["parquet", "megatron", "parquet_tokens", "tokenized"])
def test_other_exports_have_a_folder_for_each(done, tmp_path, format):
    settings: dict[str, Any] = {"tokens_per_shard": 100_000_000} if format == "parquet_tokens" else {}
    made = export(done.folder, format, tmp_path / "out", **settings)
    for side, name in (("train", format), ("validation", f"{format}-validation")):
        files = [path for path in (done.output / name).iterdir() if not path.name.startswith(".")]
        assert {path.name for path in (made.folder / side).iterdir()} == {path.name for path in files}
        assert all((made.folder / side / path.name).read_bytes() == path.read_bytes() for path in files)


def test_canaries_are_for_training(folder, tmp_path):
    text = RECIPE.replace("0.3", "0.9") + 'canary: {{text: "planted 7f1b", copies: 20}}\n'
    made = carry_out(folder, tmp_path / "run", text=text)
    assert sum(line["source"] == "canary" for line in lines(made.output / "jsonl")) == 20
    assert not any(line["source"] == "canary" for line in lines(made.output / "jsonl-validation"))


def test_a_mix_draws_documents_for_validation_once(folder, tmp_path):
    text = RECIPE.replace("  - tokenize/", "  - mix/sources: {{weights: {{web: 1}}, budget: 40000}}\n  - tokenize/")
    made = carry_out(folder, tmp_path / "run", text=text)
    train, validation = (
        pq.read_table(made.output / name)["copies"].to_pylist() for name in ("parquet", "parquet-validation")
    )
    assert set(train) & {2, 3} and set(validation) == {1}
    ids = [open_shards(made.output / name) for name in ("shards", "shards-validation")]
    assert [sum(len(block.lengths) for block in documents(shards)) for shards in ids] == [sum(train), sum(validation)]


def test_stages_of_training_read_what_is_for_training(folder, tmp_path):
    text = (
        RECIPE
        + """
stages:
  - {{name: first, tokens: 2000, batch: 2}}
  - {{name: whole, tokens: 2000, batch: 2, pack: {{pack/concat: {{length: 64, split_at: paragraph}}}}}}
  - {{name: some, tokens: 2000, batch: 2, mix: {{web: 1}}}}
"""
    )
    made = carry_out(folder, tmp_path / "run", text=text)
    wanted = {line["id"] for line in lines(made.output / "jsonl")}
    names = sorted(path.name for path in made.output.iterdir() if (path / "index.json").exists())
    assert {"whole", "shards", "some-web"} <= set(names)
    for name in set(names) - {"shards-validation"}:
        shards = open_shards(made.output / name)
        count = sum(len(block.lengths) for block in documents(shards))
        assert {shards.provenance(number)["id"] for number in range(count)} == wanted


def test_report_and_json_say_how_much_is_for_validation(done, corpusmill):
    train, validation = split_sides(RunTables(done.folder))
    assert (train.count, validation.count) == tuple(len(lines(done.output / name)) for name in SIDES.values())
    assert train.bytes == sum(len(line["text"]) for line in lines(done.output / "jsonl"))
    assert validation.tokens == sum(pq.read_table(done.output / "tokenized-validation")["token_count"].to_pylist())
    assert "Validation split" in done.report.read_text("utf-8")
    status, out, _ = corpusmill("stats", done.folder, "--json")
    assert status == 0 and [side["name"] for side in json.loads(out)["split"]] == ["train", "validation"]


def test_the_card_names_both_splits(done):
    corpusmill.card(done.folder)
    text = (done.folder / "README.md").read_text("utf-8")
    configs = {entry["config_name"]: entry for entry in yaml.safe_load(text.split("---")[1])["configs"]}
    assert configs["parquet"]["data_files"] == [
        {"split": "train", "path": "output/parquet/*.parquet"},
        {"split": "validation", "path": "output/parquet-validation/*.parquet"},
    ]
    assert "## Validation split" in text and "jsonl-validation" not in configs


def test_nothing_on_one_side_is_a_warning(tmp_path):
    write(tmp_path / "docs", "a.jsonl", texts(5, 4))
    text = RECIPE.replace("0.3", "0.000001")
    made = carry_out(tmp_path / "docs", tmp_path / "run", text=text)
    assert warnings(RunTables(made.folder)) == [
        "the split gives none of 4 documents to validation: give `validation` another share"
    ]
    assert len(open_shards(made.output / "shards-validation")) == 0


@pytest.mark.parametrize(
    ("split", "message"),
    [
        ("0.01", "split is a mapping, as in: split: {validation: 0.01}; got"),
        ("{validation: 1}", "validation is a share above 0 and below 1, as 0.01; got 1"),
        ("{validation: .nan}", "validation must be a number, got the number .nan"),
        ("{by: domain}", "split needs"),
        ("{validation: 0.1, by: domains}", 'by must be|by is one of'),
        ("{validation: 0.1, by: cluster}", "by: cluster is by what dedup/minhash finds, and no step is that; add it"),
        ("{validation: 0.1, test: 0.1}", 'split has no parameter "test"'),
    ],
)  # fmt: skip
def test_what_is_no_split_is_refused(split, message):
    with pytest.raises(RecipeError, match=message.replace("{", r"\{")):
        Recipe.parse(f"read: {{jsonl: a.jsonl}}\nsteps: [dedup/exact]\nsplit: {split}\n")


def test_a_recipe_with_a_split_is_dumped_and_set_and_has_its_own_fingerprint():
    text = "read: {jsonl: a.jsonl}\nsplit: {validation: 0.01}\n"
    recipe = Recipe.parse(text)
    assert recipe.split == Split(validation=0.01) and Recipe.parse(recipe.dump()) == recipe
    assert Recipe(read={"jsonl": "a.jsonl"}, split={"validation": 0.01}) == recipe
    changed = Recipe.parse(text, overrides=["split.by=domain"])
    assert changed.split.by == "domain"
    assert len({made.fingerprint() for made in (recipe, changed, Recipe.parse("read: {jsonl: a.jsonl}"))}) == 3
