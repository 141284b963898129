"""What stages, sources and buckets are worth: on planted truth, and on the demo's data."""

import json
import math
import random
import xml.etree.ElementTree as ET
from collections import Counter

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import corpusmill as mill
from benchmarks.ablation import planted
from corpusmill.assets.extras import TORCH
from corpusmill.errors import InputError
from corpusmill.execute.serial import Serial
from corpusmill.recipe.shipped import shipped
from corpusmill.report.tables import RunTables
from corpusmill.train.ablate import design
from corpusmill.train.ablate.ablation import ablate, interval
from corpusmill.train.ablate.documents import GROUPS, Cell, DocumentSample, draw, near_duplicates, sides
from corpusmill.train.ablate.experiment import MAX_EPOCHS, allotted, passes
from corpusmill.train.ablate.grams import MODELS, ORDER, STRENGTH, SYMBOLS, NgramModels, bits, counts, judged_text
from corpusmill.train.ablate.picture import picture
from corpusmill.train.ablate.weights import ShareLaw, best_weights

texts = st.lists(st.text("ab é", max_size=6), max_size=4)


def strings(values):
    return pa.array(list(values), pa.large_string())


def slow_bits(held_out, parts, weights):
    """The definition, read aloud: Dirichlet smoothing by n-grams of bytes between a start and an end."""
    following: dict[tuple, Counter] = {}
    for part, weight in zip(parts, weights):
        for text in part:
            symbols = ["start", *text.encode(), "end"]
            for at in range(1, len(symbols)):
                for length in range(min(ORDER, at + 1)):
                    context = tuple(symbols[at - length : at])
                    following.setdefault(context, Counter())[symbols[at]] += weight
    total = 0.0
    for text in held_out:
        symbols = ["start", *text.encode(), "end"]
        for at in range(1, len(symbols)):
            p = 1 / SYMBOLS
            for length in range(min(ORDER, at + 1)):
                seen = following.get(tuple(symbols[at - length : at]), Counter())
                if not seen.total():
                    break
                p = (seen[symbols[at]] + STRENGTH * p) / (seen.total() + STRENGTH)
            total -= math.log2(p)
    return total


@settings(max_examples=50)
@given(texts, st.lists(st.tuples(texts, st.integers(0, 3)), max_size=3))
def test_models_of_parts_agree_with_the_definition(held_out, weighted):
    parts, weights = [part for part, _ in weighted], [weight for _, weight in weighted]
    judged = judged_text(strings(held_out))
    counted = counts(judged, [strings(part) for part in parts])
    edges = np.array([0, len(judged.gram)])
    answer = bits(judged, counted, np.array(weights, np.float64), edges)
    assert answer.tolist() == pytest.approx([slow_bits(held_out, parts, weights)], rel=1e-5)


@pytest.mark.parametrize("factors", [1, 9, 40])
def test_a_design_is_balanced_and_mixes_no_factor_with_two_others(factors):
    models = NgramModels().models(factors)
    levels = design.levels(models, factors, np.random.default_rng(1)) * 2 - 1
    assert len(levels) == models >= max(MODELS, 4 * factors)
    assert (levels.sum(axis=0) == 0).all()
    assert (levels.T @ levels == len(levels) * np.eye(factors)).all()
    assert not any(((levels[:, i] * levels[:, j]) @ levels).any() for i in range(factors) for j in range(i))


@given(st.lists(st.tuples(st.floats(0, 9), st.floats(0, 100)), min_size=1, max_size=5), st.floats(1, 200))
def test_a_budget_is_divided_within_limits(sources, budget):
    weights, limits = (np.array(column) for column in zip(*sources))
    drawn = allotted(weights, limits, budget)
    assert (drawn <= limits * (1 + 1e-9)).all() and not drawn[weights == 0].any()
    usable = limits[weights > 0].sum()
    assert drawn.sum() == pytest.approx(min(budget, usable), abs=1e-6)


def test_random_rounding_of_blocks_reads_as_much_as_is_wanted():
    sizes = np.array([30.0, 0.0, 50.0, 20.0])
    chance = np.random.default_rng(3).random(4000)
    read = [(passes(sizes, 245.0, one) * sizes).sum() for one in chance]
    assert np.mean(read) == pytest.approx(245, abs=1) and set(read) == {230.0, 280.0}


def test_the_best_weights_cost_less_than_others_within_the_limits():
    law, limits = ShareLaw(np.array([-0.3, -0.1, 0.05, -0.2])), np.array([0.4, 0.4, 0.4, 0.4])
    before = np.array([0.1, 0.2, 0.3, 0.4])
    best = best_weights(law, before, limits)
    assert best.sum() == pytest.approx(1) and (best <= limits + 1e-12).all() and best[2] == 0
    others = np.random.default_rng(2).dirichlet(np.ones(4), 5000)
    others = others[(others <= limits).all(axis=1)]
    assert (law.slopes @ np.sqrt(best) <= np.sqrt(others) @ law.slopes).all()
    assert best_weights(ShareLaw(np.zeros(4)), before, limits).tolist() == before.tolist()  # nothing is known


def test_slopes_that_are_noise_are_none():
    laws = [ShareLaw(np.array([-1.0, value])) for value in (0.2, -0.1, 0.1, -0.3)]
    assert ShareLaw.of_all(laws).slopes.tolist() == [-1.0, 0.0]


def test_near_duplicates_are_on_one_side_and_in_one_group():
    random = np.random.default_rng(4)
    originals = [" ".join(random.choice(planted.Chain().words, 80)) for _ in range(120)]
    copies = [text + " And a word more." for text in originals[:60]]
    everything = strings([*originals, *copies, *originals[:10], "", ""])
    keys = near_duplicates(everything)
    assert (keys[:60] == keys[120:180]).all() and (keys[:10] == keys[180:190]).all() and keys[190] == keys[191]
    assert len(set(keys.tolist())) == 121
    cell = np.where(np.arange(192) < 120, 0, 1).astype(np.int32)
    target = np.where(cell == 0, 0, -1).astype(np.int32)
    cells = (Cell("web", -1, frozenset()), Cell("web", -1, frozenset({"exact"})))
    divided = sides(DocumentSample(everything, cells, cell, target, ("web",), 1.0, ()), seed=1)
    assert not set(keys[divided.held_out].tolist()) & set(keys[divided.train].tolist())
    assert 0 < divided.held_out.sum() < 60 and not divided.held_out[120:].any()
    assert all(len(set(divided.group[keys == key].tolist())) == 1 for key in keys)


def test_an_interval_of_one_value_in_twenty_misses():
    random = np.random.default_rng(5)
    holds = [
        each.low <= 1.5 <= each.high for each in (interval(random.normal(1.5, 2, 8).tolist()) for _ in range(2000))
    ]
    assert np.mean(holds) == pytest.approx(0.95, abs=0.015)


@pytest.fixture(scope="module")
def demo(tmp_path_factory):
    folder = tmp_path_factory.mktemp("ablate") / "demo"
    return mill.run(shipped("demo").path, folder=folder, executor=Serial(), progress=False).folder


@pytest.fixture(scope="module")
def of_demo(demo):
    return ablate(RunTables(demo), workers=1)


def test_the_demo_has_an_effect_for_all_that_drops(of_demo):
    effects = {effect.name: effect for effect in of_demo.effects}
    stages = {name for name, effect in effects.items() if effect.kind == "stage"}
    assert stages == {
        *("url", "language", "gopher_quality", "gopher_repetition", "c4", "fineweb", "exact", "minhash"),
    }
    assert of_demo.without == ("blocks", "normalize", "pii")
    assert effects["language"].change.verdict == "better"  # half of a megabyte in other languages than those held out
    assert set(effects["language"].targets) == {"pages", "wet", "extra"}
    assert of_demo.mix is not None and sum(of_demo.mix.weights.values()) == pytest.approx(1, abs=1e-3)
    assert all(of_demo.mix.weights[name] <= MAX_EPOCHS * share for name, share in of_demo.mix.before.items())


def test_threads_change_nothing(demo, of_demo):
    assert json.dumps(ablate(RunTables(demo), workers=3).to_json()) == json.dumps(of_demo.to_json())


def test_the_command_prints_effects_and_what_is_not_shown(corpusmill, demo, tmp_path, of_demo):
    status, out, err = corpusmill("ablate", demo, "--out", tmp_path / "a.svg")
    assert status == 0 and "8 of 8 groups of documents" in err
    assert "1,792 models" in out and "in 8 groups that share no document, from all documents" in out
    assert "not shown: " in out and "not measured: blocks, normalize, pii. They drop nothing" in out
    assert "not shown to be better than the run as it is: keep its shares" in out  # all have the same kinds of text
    svg = ET.fromstring((tmp_path / "a.svg").read_text("utf-8"))
    names = [each.text for each in svg.iter("{http://www.w3.org/2000/svg}text")]
    assert {effect.name for effect in of_demo.effects} <= set(names)
    assert (tmp_path / "a.svg").read_text("utf-8") == picture(of_demo)


def test_models_are_judged_by_text_of_the_users(corpusmill, demo, tmp_path):
    chain = planted.Chain()
    prose = [text for text, _ in planted.documents("noise-0", 1, 60_000, chain)]
    (tmp_path / "own.jsonl").write_text("".join(json.dumps({"text": text}) + "\n" for text in prose))
    target = f"own={tmp_path / 'own.jsonl'}"
    status, out, _ = corpusmill("ablate", demo, "--target", target, "--target", "wet", "--json")
    record = json.loads(out)
    assert status == 0 and list(record["targets"]) == ["wet", "own"]
    language = next(effect for effect in record["effects"] if effect["name"] == "language")
    assert set(language["targets"]) == {"wet", "own"} and language["change"]["high"] < 0


@pytest.mark.parametrize(
    "words, said",
    [
        (("--target", "wett"), 'the run has no source "wett"; did you mean "wet"? It has: pages, wet, extra'),
        (("--bytes", "lots"), '--bytes: "lots" is not an amount above 0'),
        (("--out", "effects.png"), "effects.png: the picture ends in .svg"),
    ],
)
def test_a_mistake_is_named(corpusmill, demo, words, said):
    status, _, err = corpusmill("ablate", demo, *words)
    assert status == 2 and said in err


@pytest.mark.skipif(not TORCH.missing, reason="PyTorch is installed")
def test_gpts_without_pytorch_name_the_extra(corpusmill, tmp_path):
    status, _, err = corpusmill("ablate", tmp_path / "no run yet", "--models", "gpt")
    assert status == 2 and "ablate --models gpt" in err and "pip install 'corpusmill[torch]'" in err


def test_a_recipe_is_run(corpusmill, tmp_path):
    (tmp_path / "d.jsonl").write_text(json.dumps({"text": "The ferry leaves at eight."}) + "\n")
    recipe = tmp_path / "r.yaml"
    recipe.write_text(f"read: {{jsonl: {tmp_path}/d.jsonl}}\nsteps: [filter/url]\nrun: {{folder: {tmp_path}/run}}\n")
    status, _, err = corpusmill("ablate", recipe)
    assert status == 2 and "nothing to compare: the run has one source, no buckets" in err
    assert (tmp_path / "run" / "run.json").exists()


def test_too_little_text_is_said(tmp_path):
    for name in ("left", "right"):
        (tmp_path / f"{name}.jsonl").write_text(json.dumps({"text": f"The {name} ferry leaves at eight."}) + "\n")
    recipe = {"read": [{"jsonl": {"paths": str(tmp_path / f"{n}.jsonl"), "source": n}} for n in ("left", "right")]}
    (tmp_path / "r.yaml").write_text(json.dumps(recipe | {"steps": ["filter/url"]}))
    run = mill.run(tmp_path / "r.yaml", folder=tmp_path / "run", executor=Serial(), progress=False)
    with pytest.raises(InputError, match="too little text: 2 documents, of which 0 of 8 groups have 2,000 bytes"):
        ablate(RunTables(run))


SMALL = ("noise-0", "noise-30", "noise-60", "noise-100", "foreign-100", "shuffled-100")


@pytest.fixture(scope="module")
def of_planted(tmp_path_factory):
    """Six sources and six stages whose worth is known, judged by prose that no source has."""
    folder = planted.mill(tmp_path_factory.mktemp("planted") / "corpus", 3, 400_000, SMALL)
    prose = strings(text for text, _ in planted.documents("noise-0", 99, 100_000, planted.Chain()))
    return ablate(RunTables(folder), own={"prose": prose}, budget=10_000)


def test_planted_sources_come_out_in_their_order(of_planted):
    changes = planted.changes(of_planted)
    noise = [changes[name] for name in ("noise-0", "noise-30", "noise-60", "noise-100")]
    assert noise == sorted(noise)
    verdicts = {effect.name: effect.change.verdict for effect in of_planted.effects if effect.kind == "source"}
    assert verdicts["noise-0"] == verdicts["noise-30"] == "better"
    assert verdicts["noise-100"] == verdicts["foreign-100"] == "worse"


def test_stages_that_drop_by_chance_are_not_shown_to_do_anything(of_planted):
    effects = planted.named(of_planted.effects)
    assert [effects[name].change.verdict for name in planted.NULL] == ["not shown"] * 3
    assert [effects[name].change.verdict for name in planted.GOOD] == ["better"] * 2
    assert effects[planted.BAD].change.verdict == "worse"


def test_the_mix_that_follows_is_measured_to_be_better(of_planted):
    mix = of_planted.mix
    assert mix.change.verdict == "better" and mix.weights["noise-0"] > mix.before["noise-0"]
    assert mix.weights["noise-100"] == mix.weights["foreign-100"] == 0


def test_buckets_are_compared(tmp_path):
    recipe = {
        "read": {"jsonl": {"paths": "demo://extra.jsonl.gz", "source": "extra"}},
        "steps": ["annotate/quality", {"annotate/bucket": {"buckets": 20}}],
    }
    (tmp_path / "r.yaml").write_text(json.dumps(recipe))
    run = mill.run(tmp_path / "r.yaml", folder=tmp_path / "run", executor=Serial(), progress=False)
    answer = ablate(RunTables(run))
    names = [effect.name for effect in answer.effects]
    assert names[:2] == ["bucket 0 to 1", "bucket 2 to 3"] and len(names) == 10
    assert {effect.kind for effect in answer.effects} == {"bucket"} and answer.mix is None


def test_documents_come_back_only_without_all_stages_that_drop_them(demo):
    documents = draw(RunTables(demo), ["wet"], {}, 1 << 30)
    together = [cell for cell in documents.cells if {"language", "gopher_quality"} <= cell.drops]
    assert together and any(cell.drops == {"minhash"} for cell in documents.cells)
    share = draw(RunTables(demo), ["wet"], {}, 1 << 20)
    assert 0.1 < share.share < 0.5 and len(share.texts) < 0.6 * len(documents.texts)
    assert set(share.texts.to_pylist()) <= set(documents.texts.to_pylist()) and GROUPS == 8


@pytest.mark.parametrize("stored", ["all", "sample", "none"])
def test_kept_and_dropped_documents_are_sampled_alike(tmp_path, stored):
    """Of a run that stores some texts of dropped documents alone, as much is drawn of those that it keeps."""
    chain, chance = planted.Chain(), random.Random(6)
    words = [" ".join(chain.sentence(chance)) for _ in range(4000)]
    (tmp_path / "d.jsonl").write_text(
        "".join(json.dumps({"text": f"{i} {text}"}) + "\n" for i, text in enumerate(words))
    )
    step = {"filter/function": f"{planted.__name__}:second_by_chance"}
    recipe = {"read": {"jsonl": str(tmp_path / "d.jsonl")}, "steps": [step], "run": {"dropped_text": stored}}
    (tmp_path / "r.yaml").write_text(json.dumps(recipe))
    run = mill.run(tmp_path / "r.yaml", folder=tmp_path / "run", executor=Serial(), progress=False)
    documents = draw(RunTables(run), ["jsonl"], {}, 1 << 30)
    dropped = sum(bool(documents.cells[cell].drops) for cell in documents.cell.tolist())
    if stored == "none":
        assert dropped == 0 and len(documents.texts) == run.waterfall.documents_out
    else:
        assert dropped / len(documents.texts) == pytest.approx(0.3, abs=0.05)
        assert len(documents.texts) == pytest.approx(4000 * documents.share, rel=0.1)
        assert (documents.share < 1) == (stored == "sample")


def test_the_shares_of_a_mix_stay_whatever_stages_drop(tmp_path):
    recipe = {
        "read": [
            {"wet": {"paths": "demo://pages.warc.wet.gz", "source": "web"}},
            {"jsonl": {"paths": "demo://extra.jsonl.gz", "source": "extra"}},
        ],
        "steps": [
            {"filter/language": {"languages": ["en"]}},
            {"mix/sources": {"weights": {"web": 0.3, "extra": 0.7}}},
            {"tokenize/bpe": {"tokenizer": "gpt2"}},
            {"pack/concat": {"length": 1024}},
        ],
    }
    (tmp_path / "r.yaml").write_text(json.dumps(recipe))
    run = mill.run(tmp_path / "r.yaml", folder=tmp_path / "run", executor=Serial(), progress=False)
    answer = ablate(RunTables(run), targets=["web"])
    assert answer.mix is not None and answer.mix.before == pytest.approx({"web": 0.3, "extra": 0.7}, abs=1e-6)
    assert [effect.name for effect in answer.effects if effect.kind == "stage"] == ["language"]
    assert "sources" in answer.without  # what the mix leaves out is no stage: here the design draws
