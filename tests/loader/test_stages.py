"""Stages of training: one function of the step, resumed across their borders by any number of ranks."""

import json

import numpy as np
import pytest

from corpusmill.errors import ShardError
from corpusmill.loader.stages import StageLoader, read_stages
from corpusmill.models.tokenizer import load
from corpusmill.shards.pack import UnitTokens
from corpusmill.shards.plan import plan_shards
from corpusmill.shards.writer import write_folder


def shards(folder, first, documents=40):
    """Documents of 16 tokens each, whose ids say which they are."""
    tokenizer = load("gpt2")
    lengths = np.full(documents, 16, np.int64)
    ids = np.repeat(np.arange(first, first + documents, dtype=np.uint16), 16)
    ids[15::16] = tokenizer.eos_id
    units = [UnitTokens(ids, lengths)]
    write_folder(folder, plan_shards([lengths], "concat", 16, 10**6), units, tokenizer)
    return str(folder)


@pytest.fixture(scope="module")
def stages(tmp_path_factory):
    root = tmp_path_factory.mktemp("stages")
    web, code, books = (shards(root / name, 1000 * i) for i, name in enumerate(("web", "code", "books")))
    return [
        {"name": "pretrain", "tokens": 12 * 128, "shards": {web: 3, code: 1}, "batch": 8},
        {"name": "anneal", "tokens": "0.5k", "shards": {books: 0.5, code: 0.5}, "batch": 4, "length": 32},
        {"name": "long", "tokens": 640, "shards": books, "batch": 4, "length": 64},
    ]


def joined(stages, world):
    """The tokens of every step of all ranks, in order."""
    ranks = [StageLoader(stages, seed=5, rank=rank, world=world) for rank in range(world)]
    return [np.concatenate([batch["tokens"] for batch in batches]).tolist() for batches in zip(*ranks, strict=True)]


def test_every_stage_has_its_steps_rows_and_mixture(stages):
    loader = StageLoader(stages, seed=5)
    assert loader.steps == (12, 3, 2)
    assert len(loader) == 17
    assert [loader.locate(step) for step in (0, 11, 12, 14, 15, 16)] == [
        (0, 0),
        (0, 11),
        (1, 0),
        (1, 2),
        (2, 0),
        (2, 1),
    ]
    batches = list(loader)
    assert [batch["tokens"].shape for batch in batches] == [(8, 16)] * 12 + [(4, 32)] * 3 + [(4, 64)] * 2
    first = np.concatenate([batch["tokens"][:, 0] for batch in batches[:12]]) // 1000
    assert set(first.tolist()) == {0, 1}
    assert 60 <= (first == 0).sum() <= 84
    assert {value // 1000 for value in batches[16]["tokens"].reshape(-1).tolist() if value != 50256} == {2}
    for step in range(17):
        assert loader.at(step)["tokens"].tolist() == batches[step]["tokens"].tolist()
        assert sum(piece.length for piece in loader.trace(step)) == batches[step]["tokens"].size


def test_the_samples_of_a_step_are_those_of_any_world(stages):
    one = joined(stages, 1)
    assert joined(stages, 2) == one
    assert joined(stages, 4) == one


@pytest.mark.parametrize("stop", [0, 5, 12, 13, 15, 16, 17])
def test_a_run_resumes_across_borders_with_another_world(stages, stop):
    whole = joined(stages, 1)
    before = StageLoader(stages, seed=5)
    seen = [batch["tokens"].tolist() for _, batch in zip(range(stop), before)]
    state = json.loads(json.dumps(before.state_dict()))
    ranks = [StageLoader(stages, seed=5, rank=rank, world=4) for rank in range(4)]
    for each in ranks:
        each.load_state_dict(state)
    seen += [np.concatenate([batch["tokens"] for batch in batches]).tolist() for batches in zip(*ranks, strict=True)]
    assert seen == whole


def test_later_stages_may_be_changed_and_those_that_have_begun_may_not(stages):
    loader = StageLoader(stages, seed=5)
    loader.step = 13  # in the second
    state = loader.state_dict()
    other = [*stages[:2], {**stages[2], "tokens": 6400}]
    changed = StageLoader(other, seed=5)
    changed.load_state_dict(state)
    assert changed.step == 13
    longer = StageLoader([stages[0], {**stages[1], "tokens": "1k"}, stages[2]], seed=5)
    longer.load_state_dict(state)
    for wrong in ([{**stages[0], "tokens": 1024}, *stages[1:]], [stages[0], {**stages[1], "length": 16}, stages[2]]):
        with pytest.raises(ShardError, match="the state belongs to other stages: stages was"):
            StageLoader(wrong, seed=5).load_state_dict(state)
    with pytest.raises(ShardError, match="seed was 5, is 6"):
        StageLoader(stages, seed=6).load_state_dict(state)


def test_mistakes_are_said_with_the_stage(stages, tmp_path):
    with pytest.raises(ShardError, match=r"pretrain: a step has 8 rows, which 3 ranks cannot share equally.*as 6"):
        StageLoader(stages, world=3)
    with pytest.raises(ShardError, match=r'stages\[0\]: a stage has no "batches"; did you mean "batch"'):
        StageLoader([{**stages[0], "batches": 8}])
    with pytest.raises(ShardError, match=r"stages\[0\] \(pretrain\): tokens must be a whole number.*'much'"):
        StageLoader([{**stages[0], "tokens": "much"}])
    with pytest.raises(ShardError, match="each with a name of its own; got none"):
        StageLoader([])
    (tmp_path / "s.json").write_text("[]")
    with pytest.raises(ShardError, match='has "stages", a list'):
        read_stages(tmp_path / "s.json")


def test_plan_prints_the_stages(stages, tmp_path, corpusmill):
    for name, text in (("s.json", json.dumps({"stages": stages})), ("s.yaml", json.dumps({"stages": stages}))):
        (tmp_path / name).write_text(text)
        code, out, _ = corpusmill("plan", tmp_path / name, "--json")
        made = json.loads(out)["stages"]
        assert code == 0
        assert [(one["stage"], one["steps"], one["first_step"]) for one in made] == [
            ("pretrain", 12, 0),
            ("anneal", 3, 12),
            ("long", 2, 15),
        ]
        (epochs,) = [source["epochs"] for source in made[2]["sources"].values()]
        assert epochs == 8 / 10
    _, out, _ = corpusmill("plan", tmp_path / "s.yaml")
    assert "pretrain" in out
    assert "tokens in a row" in out
