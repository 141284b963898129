"""A mix draws what was planned of each source: exactly these tokens, whatever the work was cut into."""

import gzip
import json
import re
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import corpusmill
from corpusmill import Recipe, Source
from corpusmill.errors import RecipeError
from corpusmill.execute.processes import Processes
from corpusmill.execute.serial import Serial
from corpusmill.models.tokenizer import load
from corpusmill.read.jsonl import JsonlReader
from corpusmill.recipe import RunSettings, check_order
from corpusmill.report.figures.mix import mixes
from corpusmill.report.tables import RunTables
from corpusmill.schema import document_id
from corpusmill.shards import open_shards
from corpusmill.steps.dedup.exact import Exact
from corpusmill.steps.dedup.line import Line
from corpusmill.steps.filter.basic import Basic
from corpusmill.steps.mix._presets import PRESETS
from corpusmill.steps.mix.sources import Sources
from corpusmill.steps.pack.best_fit import BestFit
from corpusmill.steps.pack.concat import Concat
from corpusmill.steps.tokenize.bpe import Bpe
from corpusmill.tokens.sampling import sampling_hash
from corpusmill.write.shards import ShardsWriter

WORDS = "river stone winter garden letter window market silver morning captain forest bridge candle harbour".split()


def texts(count, seed, longest=40):
    """So many texts, no two the same."""
    random = np.random.default_rng(seed)
    lengths = random.integers(1, longest, count)
    return [f"{seed} {i} " + " ".join(random.choice(WORDS, n)) for i, n in enumerate(lengths)]


def write(folder: Path, corpus: dict[str, list[str]]) -> dict[str, Path]:
    """A file a source; the id of a document is its number."""
    folder.mkdir(parents=True, exist_ok=True)
    for source, found in corpus.items():
        lines = [json.dumps({"id": f"{source}-{i}", "text": text}) for i, text in enumerate(found)]
        (folder / f"{source}.jsonl").write_text("".join(line + "\n" for line in lines), "utf-8")
    return {source: folder / f"{source}.jsonl" for source in corpus}


def recipe(files, *steps, write=(), **settings):
    read = [Source(JsonlReader(), str(path), source) for source, path in files.items()]
    return Recipe(read=read, steps=steps, write=write, run=RunSettings(**settings))


def packed(files, mix, *before, pack=None, write=(), **settings):
    """The recipe of a mix that is packed into small shards."""
    shards = ShardsWriter(tokens_per_shard=4096)
    return recipe(files, *before, mix, Bpe(), pack or Concat(length=64), write=(shards, *write), **settings)


def appearances(shards_folder: Path) -> list[tuple[str, str, int]]:
    """(id, source, tokens) of every document of the shards in the order of the stream."""
    found = []
    for path in sorted((shards_folder / "documents").glob("*.parquet")):
        table = pq.read_table(path, columns=["id", "source", "tokens"])
        found += list(zip(*(column.to_pylist() for column in table.columns)))
    return found


def slowly_drawn(corpus, wanted, seed=0):
    """id -> times: one document at a time, in the order of their hashes, over and over."""
    tokenizer = load("gpt2")
    times: dict[str, int] = {}
    for source, found in corpus.items():
        ids = [document_id(source, f"{source}-{i}") for i in range(len(found))]
        sizes = [int(tokenizer.count(pa.array([text], pa.large_string()))[0]) + 1 for text in found]
        order = np.argsort(sampling_hash(pa.array(ids), seed, "mix"), kind="stable").tolist()
        room = wanted[source]
        full, room = room // sum(sizes), room % sum(sizes)
        times |= dict.fromkeys(ids, full)
        for i in order:
            if sizes[i] <= room:
                times[ids[i]] += 1
                room -= sizes[i]
    return {name: n for name, n in times.items() if n}


CORPUS = {"web": texts(400, 1), "wiki": texts(120, 2), "code": texts(60, 3)}


@pytest.fixture(scope="module")
def mixed(tmp_path_factory):
    """A run of a mix that takes a part of the web, the wiki more than twice, and no code."""
    folder = tmp_path_factory.mktemp("mixed")
    files = write(folder, CORPUS)
    mix = Sources(weights={"web": 0.5, "wiki": 0.5, "code": 0}, budget="12k")
    return corpusmill.run(packed(files, mix), folder=folder / "run", executor=Serial())


def test_exactly_the_documents_are_drawn_that_the_definition_says(mixed):
    shown = Counter(name for name, _, _ in appearances(mixed.shards))
    assert shown == slowly_drawn(CORPUS, {"web": 6000, "wiki": 6000, "code": 0})
    assert set(shown.values()) >= {1, 2, 3}


def test_what_stands_in_the_shards_is_what_was_planned(mixed):
    (mix,) = mixes(RunTables(mixed.folder))
    assert [(one.source, one.wanted) for one in mix.sources] == [("web", 6000), ("wiki", 6000), ("code", 0)]
    assert open_shards(mixed.shards).verify() == []
    tokens: Counter[str] = Counter()
    for _, source, length in appearances(mixed.shards):
        tokens[source] += length
    for one in mix.sources:
        assert tokens[one.source] == one.drawn
        assert one.drawn == pytest.approx(one.wanted, rel=0.001)
    assert mixed.waterfall.packed["tokens"] == sum(tokens.values())


def test_a_document_comes_again_after_all_have_come(mixed):
    """First all that are drawn, in order, then those that are drawn twice; each time with the same tokens."""
    stream = [name for name, _, _ in appearances(mixed.shards)]
    times = Counter(stream)
    first = list(dict.fromkeys(stream))
    assert stream == [name for n in range(max(times.values())) for name in first if times[name] > n]
    in_files = [document_id(s, f"{s}-{i}") for s, found in CORPUS.items() for i in range(len(found))]
    assert first == [name for name in in_files if name in times]

    shards = open_shards(mixed.shards)
    tokenizer = load("gpt2")
    spans = shards.spans(0, len(shards))
    ends = np.append(spans.start[1:], len(shards))
    last = len(stream) - 1
    again = np.flatnonzero(spans.document == last)
    ids = np.concatenate([shards.tokens(int(spans.start[i]), int(ends[i])) for i in again])
    source, number = next(
        (s, i) for s, found in CORPUS.items() for i in range(len(found)) if document_id(s, f"{s}-{i}") == stream[last]
    )
    assert tokenizer.decode(ids[:-1].tolist()) == CORPUS[source][number]


def test_copies_are_a_signal_and_the_others_have_their_reason(mixed):
    tables = RunTables(mixed.folder)
    rows = tables.tuples(
        f'SELECT "sources.copies", reasons, count(*) FROM ({tables.table("signals", 1)}) GROUP BY 1, 2 ORDER BY 1'
    )
    assert {copies: reason for copies, reason, _ in rows} == {0: "sources.down_sampled", 1: None, 2: None, 3: None}
    assert mixed.waterfall.rows[-1].reasons == {"down_sampled": rows[0][2]}


def test_a_token_that_begins_documents_is_counted_as_well_as_the_one_that_ends_them(tmp_path):
    files = write(tmp_path, {"web": CORPUS["web"]})
    gpt2 = json.loads(gzip.decompress(Path(load("gpt2").definition.path).read_bytes()))
    gpt2["added_tokens"].append(gpt2["added_tokens"][0] | {"id": 50257, "content": "<|begin|>"})
    (tmp_path / "tokenizer.json").write_text(json.dumps(gpt2), "utf-8")
    both = Bpe(tokenizer=str(tmp_path / "tokenizer.json"), bos="<|begin|>", eos="<|endoftext|>")
    steps = (Sources(weights={"web": 1}, budget=6000), both, Concat(length=64))
    done = corpusmill.run(recipe(files, *steps, write=(ShardsWriter(),)), folder=tmp_path / "run", executor=Serial())
    (web,) = mixes(RunTables(done.folder))[0].sources
    assert web.there == sum(load("gpt2").count(pa.array(CORPUS["web"], pa.large_string()))) + 2 * len(CORPUS["web"])
    assert done.waterfall.packed["tokens"] == web.drawn == pytest.approx(6000, rel=0.001)


@pytest.mark.parametrize(("pack", "executor"), [(Concat(length=64), Processes(2)), (BestFit(length=64), Serial())])
def test_units_workers_and_executors_change_no_byte(tmp_path, pack, executor):
    files = write(tmp_path, {"web": texts(700, 4, 600), "wiki": texts(100, 5, 600)})  # 1.6 MB
    mix = Sources(weights={"web": 1, "wiki": 1}, budget="150k")
    runs = {
        "one": (packed(files, mix, pack=pack), Serial()),
        "two": (packed(files, mix, pack=pack, unit_mb=1), executor),
    }
    found: dict[str, dict[str, Any]] = {}
    for name, (made, at) in runs.items():
        done = corpusmill.run(made, folder=tmp_path / name, executor=at)
        assert done.units["pass-1"].units == (1 if name == "one" else 3)
        found[name] = {p.name: p.read_bytes() for p in done.shards.iterdir() if p.is_file()}
        found[name] |= {"documents": appearances(done.shards)}
    assert found["one"] == found["two"]


def test_the_order_of_the_input_decides_nothing(tmp_path):
    mix = Sources(weights={"web": 1, "wiki": 2}, budget=9000)
    drawn = []
    for name, step in (("there", 1), ("back", -1)):
        files = write(tmp_path / name, {"web": CORPUS["web"], "wiki": CORPUS["wiki"]})
        for path in files.values():
            path.write_text("".join(path.read_text("utf-8").splitlines(keepends=True)[::step]), "utf-8")
        done = corpusmill.run(packed(files, mix), folder=tmp_path / name / "run", executor=Serial())
        drawn.append(Counter(appearances(done.shards)))
    assert drawn[0] == drawn[1]


def copies(run) -> dict[str, int]:
    """id -> times, of what came to the mix."""
    tables = RunTables(run.folder)
    (number,) = [n for n, (_, labels) in enumerate(tables.passes) if "sources" in labels]
    labels = tables.passes[number][1]
    before = [label for label in labels if label != "sources"]
    came = "".join(f" AND dropped_by IS DISTINCT FROM '{label}'" for label in before)
    return dict(tables.tuples(f'SELECT id, "sources.copies" FROM ({tables.table("signals", number)}) WHERE true{came}'))


shares = st.dictionaries(st.sampled_from(["a", "b", "c"]), st.integers(0, 9), min_size=3).filter(
    lambda s: any(s.values())
)


@settings(max_examples=10, deadline=None)
@given(shares, st.integers(1, 400), st.sampled_from(["bytes", "documents"]), st.integers(0, 3))
def test_planned_is_drawn_for_any_shares(tmp_path_factory, weights, budget, unit, seed):
    folder = tmp_path_factory.mktemp("any")
    corpus = {"a": texts(9, 6, 5), "b": texts(5, 7, 9), "c": texts(1, 8, 3)}
    mix = Sources(weights=weights, budget=budget, unit=unit, seed=seed, max_epochs=1000)
    done = corpusmill.run(recipe(write(folder, corpus), mix), folder=folder / "run", executor=Serial())
    times = copies(done)
    for one in mixes(RunTables(done.folder))[0].sources:
        sizes = {
            document_id(one.source, f"{one.source}-{i}"): len(text) if unit == "bytes" else 1
            for i, text in enumerate(corpus[one.source])
        }
        assert abs(one.wanted - budget * weights[one.source] / sum(weights.values())) <= 0.5 + 1e-9
        assert one.drawn == sum(times[name] * size for name, size in sizes.items()) <= one.wanted
        least = min(times[name] for name in sizes)
        once_more = [size for name, size in sizes.items() if times[name] == least]
        assert one.wanted - one.drawn < min(once_more)


def test_what_earlier_steps_drop_is_neither_counted_nor_drawn(tmp_path):
    """In the same pass, and in a pass of its own after a step that cuts texts."""
    twice = [text for text in CORPUS["wiki"] for _ in range(2)]
    for before in ([Exact()], [Exact(), Line()]):
        files = write(tmp_path, {"web": CORPUS["web"], "wiki": twice})
        mix = Sources(weights={"web": 0.5, "wiki": 0.5}, budget=5000)
        done = corpusmill.run(packed(files, mix, *before), folder=tmp_path / str(len(before)), executor=Serial())
        web, wiki = mixes(RunTables(done.folder))[0].sources
        assert wiki.documents == len(CORPUS["wiki"]) and web.documents == len(CORPUS["web"])
        assert len(copies(done)) == wiki.documents + web.documents
        assert done.waterfall.packed["tokens"] == web.drawn + wiki.drawn == pytest.approx(5000, rel=0.001)


def test_without_a_budget_nothing_comes_twice_and_the_scarcest_source_is_used_up(tmp_path):
    files = write(tmp_path, CORPUS)
    mix = Sources(weights={"web": 1, "wiki": 1, "code": 1})
    done = corpusmill.run(recipe(files, mix, Bpe()), folder=tmp_path / "run", executor=Serial())
    web, wiki, code = mixes(RunTables(done.folder))[0].sources
    assert code.drawn == code.there == code.wanted == web.wanted == wiki.wanted
    assert max(copies(done).values()) == 1


def test_another_budget_reads_nothing_again(tmp_path):
    files = write(tmp_path, CORPUS)
    for budget in (1000, 2000):
        mix = Sources(temperature=2, budget=budget)
        done = corpusmill.run(recipe(files, mix, Bpe()), folder=tmp_path / "run", executor=Serial())
        assert sum(one.wanted for one in mixes(RunTables(done.folder))[0].sources) == budget
    commits = [path.parent.parent.name for path in (tmp_path / "run").glob("stages/*/commits/*.json")]
    stages = Counter(name.rpartition("-")[0] for name in commits)
    assert stages["pass-1"] == stages["sources-count"] == 1 and stages["sources-verdicts"] == 2


def test_a_larger_budget_draws_the_same_documents_and_others(tmp_path):
    files = write(tmp_path, {"web": CORPUS["web"]})
    small, large = (
        copies(
            corpusmill.run(
                recipe(files, Sources(temperature=1, budget=n, unit="documents")),
                folder=tmp_path / str(n),
                executor=Serial(),
            )
        )
        for n in (100, 150)
    )
    assert sum(small.values()) == 100 and sum(large.values()) == 150
    assert all(small[name] <= large[name] for name in small)


# ------------------------------------------------------------------ the plan


def found(**tokens):
    return {source: {"documents": size, "size": size} for source, size in tokens.items()}


def test_too_many_epochs_are_refused_with_what_would_help():
    mix = Sources(weights={"web": 0.9, "wiki": 0.1}, budget="20k")
    with pytest.raises(RecipeError) as error:
        mix.plan(found(web=100_000, wiki=400))
    assert str(error.value) == (
        "10.00% of 20,000 tokens are 2,000 of wiki, which has 400: 5.00 epochs, and max_epochs allows 4. Text repeated "
        "more than 4 times teaches little that is new (Muennighoff et al. 2023). What helps: a budget of at most 16,000; "
        "or no more than 8.00% of wiki; or 100 tokens more of it; or max_epochs: {wiki: 5}."
    )
    for helps in (
        Sources(weights={"web": 0.9, "wiki": 0.1}, budget=16_000),
        Sources(weights={"web": 0.92, "wiki": 0.08}, budget="20k"),
        Sources(weights={"web": 0.9, "wiki": 0.1}, budget="20k", max_epochs={"wiki": 5}),
        Sources(weights={"web": 0.9, "wiki": 0.1}, budget="20k", max_epochs=5),
    ):
        assert helps.plan(found(web=100_000, wiki=400))[1].epochs >= 4
    assert mix.plan(found(web=100_000, wiki=500))[1].epochs == 4


def test_a_plan_that_is_refused_stops_the_run_before_anything_is_drawn(tmp_path):
    files = write(tmp_path, {"web": CORPUS["web"], "wiki": CORPUS["wiki"][:2]})
    made = packed(files, Sources(weights={"web": 1, "wiki": 1}, budget=5000))
    with pytest.raises(RecipeError, match=r"50.00% of 5,000 tokens are 2,500 of wiki, which has \d+: \d+\.\d\d epochs"):
        corpusmill.run(made, folder=tmp_path / "run", executor=Serial())
    assert not list((tmp_path / "run").glob("*sources-verdicts*/verdicts"))


def test_a_source_of_which_nothing_is_left_is_refused():
    with pytest.raises(RecipeError, match=r"50.00% of the mix are to come from wiki, and no document of it is left"):
        Sources(weights={"web": 1, "wiki": 1}).plan(found(web=10, wiki=0))
    assert [quota.wanted for quota in Sources(weights={"web": 1, "wiki": 0}).plan(found(web=10, wiki=0))] == [10, 0]
    assert [quota.wanted for quota in Sources(temperature=3).plan(found(web=10, wiki=0))] == [10, 0]
    assert [quota.wanted for quota in Sources(temperature=3).plan(found(web=0, wiki=0))] == [0, 0]


def test_epochs_say_how_often_a_source_comes():
    own = Sources(epochs={"own": 4}).plan(found(web=100, own=10))
    assert [quota.wanted for quota in own] == [100, 40]
    assert [quota.wanted for quota in Sources(epochs={"own": 0}).plan(found(web=100, own=10))] == [100, 0]
    assert [quota.wanted for quota in Sources(epochs={"own": 4}, budget=70).plan(found(web=100, own=10))] == [50, 20]
    with pytest.raises(RecipeError, match=r"5.00 epochs, and max_epochs allows 4"):
        Sources(epochs={"own": 5}).plan(found(web=100, own=10))


def test_a_preset_deals_its_shares_to_our_sources():
    of = {"common_crawl": ("cc_1", "cc_2"), "wikipedia": "wiki", "github": "code"}
    quotas = Sources(preset="llama", preset_sources=of, budget=7600).plan(
        found(cc_1=3000, cc_2=9000, wiki=5000, code=5000)
    )
    # 67 : 4.5 : 4.5 of 76, and common_crawl by size.
    assert [quota.wanted for quota in quotas] == [1675, 5025, 450, 450]


def test_presets_are_as_published():
    assert sum(PRESETS["llama"].values()) == sum(PRESETS["llama3"].values()) == sum(PRESETS["falcon"].values()) == 100
    assert sum(PRESETS["redpajama"].values()) == 1210  # "1.2 trillion"
    taught = {name: sum(shares.values()) for name, shares in PRESETS.items() if name.endswith("_taught")}
    assert taught == dict.fromkeys(("llama2_taught", "falcon_taught", "redpajama_taught", "llama3_taught"), 100)
    with pytest.raises(RecipeError, match=r'there is no preset "llama2": its paper .* neither which nor by how much'):
        Sources(preset="llama2", preset_sources={"common_crawl": "web"})


# ------------------------------------------------------------------ what is refused


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({}, "give one of weights, epochs, temperature and preset; got none of them"),
        ({"weights": {"a": 1}, "temperature": 2}, "got weights and temperature"),
        ({"preset": "llama"}, "preset_sources and preset need each other"),
        ({"weights": {"a": 1}, "preset_sources": {"c4": "a"}}, "preset_sources and preset need each other"),
        ({"preset": "lama", "preset_sources": {"c4": "a"}}, 'there is no preset "lama"; did you mean "llama"?'),
        (
            {"preset": "llama", "preset_sources": {"wikipdia": "a"}},
            'llama has no source "wikipdia"; did you mean "wikipedia"?',
        ),
        ({"weights": {"a": 1, "b": -1}}, "weights are 0 or more, and one at least is more; got b: -1"),
        ({"weights": {"a": 0}}, "got all 0"),
        ({"weights": {"a": float("nan")}}, "got a: nan"),
        ({"epochs": {"a": -1}}, "epochs are 0 or more, got a: -1"),
        ({"temperature": 0}, "need temperature > 0, got 0"),
        ({"temperature": 1, "max_epochs": {"a": 0}}, "max_epochs is above 0, got a: 0"),
        ({"temperature": 1, "max_epochs": 0}, "max_epochs is above 0, got all: 0"),
        ({"temperature": 1, "unit": "words"}, 'unit is "tokens", "bytes" or "documents", got "words"'),
        ({"temperature": 1, "budget": "20X"}, 'budget: "20X" is not an amount above 0'),
    ],
)
def test_wrong_parameters_are_refused(wrong, message):
    with pytest.raises(RecipeError, match=re.escape(message)):
        Sources(**wrong)


READ = "read:\n  - jsonl: {paths: x, source: web}\n  - jsonl: {paths: y, source: wiki}\nsteps:\n"


@pytest.mark.parametrize(
    ("steps", "message"),
    [
        (
            "  - mix/sources: {weights: {web: 1, wkii: 1}}\n  - tokenize/bpe\n",
            'mix/sources names "wkii", and no source is called that; did you mean "wiki"? The recipe reads: web, wiki',
        ),
        (
            "  - mix/sources: {weights: {web: 1}}\n  - tokenize/bpe\n",
            "mix/sources has no weight for wiki; give it a weight, as in {wiki: 0} to leave it out",
        ),
        (
            "  - mix/sources: {preset: llama, preset_sources: {c4: web}}\n  - tokenize/bpe\n",
            "mix/sources has no weight for wiki; map a source of llama to it in `preset_sources`",
        ),
        (
            "  - mix/sources: {preset: llama, preset_sources: {c4: [web, wiki], books: web}}\n  - tokenize/bpe\n",
            'mix/sources names "web" twice; every source has one place in a mix',
        ),
        (
            "  - mix/sources: {temperature: 2, max_epochs: {wkii: 2}}\n  - tokenize/bpe\n",
            'mix/sources names "wkii", and no source is called that; did you mean "wiki"?',
        ),
        (
            "  - mix/sources: {temperature: 2}\n",
            "mix/sources counts tokens, and no step makes them; add tokenize/bpe below it, or count in bytes: "
            "{unit: bytes}",
        ),
        (
            "  - tokenize/bpe\n  - mix/sources: {temperature: 2}\n",
            "mix/sources works on text, but comes after tokenize/bpe; move it above tokenize/bpe",
        ),
        (
            "  - mix/sources: {temperature: 2, unit: bytes}\n  - dedup/exact\n",
            "dedup/exact would change what mix/sources has drawn; move it above mix/sources",
        ),
        (
            "  - mix/sources: {temperature: 2, unit: bytes}\n  - mix/sources: {temperature: 1, unit: bytes}\n",
            "mix/sources is a second mix, after mix/sources; keep one of them",
        ),
    ],
)
def test_a_recipe_in_which_it_cannot_work_is_refused_with_the_line(steps, message):
    with pytest.raises(RecipeError) as error:
        Recipe.parse(READ + steps, "web.yaml")
    assert message in str(error.value)
    assert re.search(r"web\.yaml:[56]: ", str(error.value))


def test_a_recipe_says_a_mix_as_yaml_and_as_python():
    text = READ + (
        "  - filter/basic\n"
        "  - mix/sources: {weights: {web: 0.8, wiki: 0.2}, budget: 20B, max_epochs: {wiki: 2}}\n"
        "  - tokenize/bpe\n"
    )
    parsed = Recipe.parse(text, "web.yaml")
    assert parsed.steps[1] == Sources(weights={"web": 0.8, "wiki": 0.2}, budget="20B", max_epochs={"wiki": 2})
    assert Recipe.parse(parsed.dump()) == parsed
    python = recipe({"web": Path("x"), "wiki": Path("y")}, Basic(), *parsed.steps[1:])
    check_order(python)
    preset = Sources(preset="llama", preset_sources={"c4": ("web", "wiki"), "books": "code"}, unit="bytes")
    python = recipe({"web": Path("x"), "wiki": Path("y"), "code": Path("z")}, preset)
    assert Recipe.parse(python.dump()).steps == (preset,)
