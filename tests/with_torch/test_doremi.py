"""DoReMi on sources of which the right weights are known."""

import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from corpusmill.errors import InputError
from corpusmill.recipe import Recipe

torch = pytest.importorskip("torch", reason="torch is not installed: make torch runs these tests")
torch.set_num_threads(1)  # the models are so small that threads wait for each other most of the time

from corpusmill.train import doremi
from corpusmill.train.sources import TokenSource

IDS, LENGTH = 40, 24


def chain(seed, tokens, choices):
    """Text in which a token says which `choices` tokens may follow."""
    random = np.random.default_rng(seed)
    follow = np.array([random.permutation(IDS)[:choices] for _ in range(IDS)])
    ids = [0]
    for choice in random.integers(0, choices, tokens - 1).tolist():
        ids.append(int(follow[ids[-1], choice]))
    return np.array(ids)


def source(name, ids):
    first = np.zeros(len(ids), bool)
    first[::100] = True
    return TokenSource(name, ids.astype(np.uint16), first)


def noise(seed, tokens):
    return np.random.default_rng(seed).integers(0, IDS, tokens)


def learnt(*sources, **changed):
    options = {"steps": 60, "length": LENGTH, "rows": 6, "width": 32, "layers": 1, "heads": 2, "rate": 1e-2}
    return doremi.learn(sources, doremi.MixtureSettings(**options | changed), device="cpu")


def test_what_can_be_learnt_gains_weight_and_noise_loses_it():
    mixture = learnt(source("noise", noise(1, 6000)), source("chain", chain(2, 6000, 2)))
    weights = mixture.shares()
    assert weights["chain"] > 0.65
    # Nothing below the entropy can be learnt of noise, by either model.
    assert mixture.reference[0] > np.log(IDS) - 0.1 and mixture.reference[1] < np.log(IDS) - 1


def test_what_is_known_at_once_loses_weight_to_what_is_hard():
    easy = np.zeros(6000, np.int64)
    weights = learnt(source("easy", easy), source("hard", chain(2, 6000, 2))).shares()
    assert weights["hard"] > 0.65


def test_two_sources_alike_get_equal_weights():
    one, two = chain(2, 12_000, 2).reshape(2, -1)
    weights = learnt(source("a", one), source("noise", noise(1, 6000)), source("b", two), step_size=0.1).shares()
    assert abs(weights["a"] - weights["b"]) < 0.03
    assert weights["noise"] < min(weights["a"], weights["b"]) - 0.05


def test_the_same_seed_gives_the_same_weights():
    sources = source("noise", noise(1, 2000)), source("chain", chain(2, 2000, 2))
    one, two, other = (learnt(*sources, steps=5, seed=seed) for seed in (3, 3, 4))
    assert one.history.tolist() == two.history.tolist() != other.history.tolist()


def slow_update(weights, excess, step_size, smoothing):
    """Algorithm 1, lines 6 and 7, read aloud."""
    raised = [w * 2.718281828459045 ** (step_size * e) for w, e in zip(weights, excess)]
    total = sum(raised)
    return [(1 - smoothing) * r / total + smoothing * (1 / len(weights)) for r in raised]


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.tuples(st.floats(1e-3, 1), st.floats(0, 12)), min_size=2, max_size=6),
    st.floats(0.1, 3),
    st.sampled_from([0.0, 1e-3, 0.2]),
)
def test_the_update_agrees_with_the_definition(pairs, step_size, smoothing):
    weights, excess = (np.array(column) for column in zip(*pairs))
    weights /= weights.sum()
    after = doremi.updated(weights, excess, step_size, smoothing)
    assert after == pytest.approx(slow_update(weights.tolist(), excess.tolist(), step_size, smoothing))
    assert after.sum() == pytest.approx(1) and (after >= smoothing / len(weights) * 0.999).all()


def test_the_weights_are_the_mean_over_the_steps_and_add_up_when_rounded():
    mixture = learnt(*(source(name, noise(i, 500)) for i, name in enumerate("abc")), steps=3)
    assert mixture.weights == pytest.approx(mixture.history.mean(0))
    assert sum(round(weight * 10_000) for weight in mixture.shares().values()) == 10_000


def test_rows_keep_documents_apart_and_lead_to_the_next_token():
    ids = np.arange(30) % 7
    batches = doremi.Batches([source("a", ids)] * 2, doremi.MixtureSettings(length=5, rows=4, steps=1))
    batches.sources[0].first[:] = np.arange(30) % 4 == 0
    tokens, targets, positions = batches.at(0)
    for row in range(8):
        begin = next(b for b in range(0, 30, 5) if ids[b : b + 5].tolist() == tokens[row].tolist())
        first = batches.sources[0].first
        want = [int(ids[b + 1]) if not first[b + 1] else -100 for b in range(begin, begin + 5)]
        assert targets[row].tolist() == want
        place, expected = 0, []
        for b in range(begin, begin + 5):
            place = 0 if b == begin or first[b] else place + 1
            expected.append(place)
        assert positions[row].tolist() == expected


def test_what_cannot_be_is_refused():
    with pytest.raises(InputError, match="two sources or more, got a"):
        learnt(source("a", noise(1, 500)))
    with pytest.raises(InputError, match="b: has 20 tokens, too few for a row of 24"):
        learnt(source("a", noise(1, 500)), source("b", noise(1, 20)))
    with pytest.raises(InputError, match="0 <= smoothing < 1"):
        doremi.MixtureSettings(smoothing=1.0)


def test_the_verb_writes_weights_that_a_recipe_takes(corpusmill, two_sources, tmp_path):
    out = tmp_path / "weights.yaml"
    words = f"train mixture {two_sources} --out {out} --steps 2 --length 16 --width 16 --layers 1 --heads 1 --json"
    status, said, _ = corpusmill(*words.split())
    assert status == 0
    card = json.loads(said)
    assert sum(card["weights"].values()) == pytest.approx(1) and set(card["weights"]) == {"news", "code"}
    assert card["about"]["sources"]["news"]["tokens"] > 0
    recipe = f"""
read:
  - jsonl: {{paths: news.jsonl, source: news}}
  - jsonl: {{paths: code.jsonl, source: code}}
steps:
  - mix/sources: {json.dumps({"weights": card["weights"]})}
  - tokenize/bpe: {{tokenizer: gpt2}}
  - pack/concat: {{length: 16}}
"""
    assert Recipe.parse(recipe).steps[0].weights == tuple(card["weights"].items())
