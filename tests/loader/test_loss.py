"""The goldfish mask beside its obvious twin."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from corpusmill.shards.loss import HASH_BASE, LossRule, goldfish

ALL = (1 << 64) - 1


def mixed(x):
    x = ((x ^ (x >> 30)) * 0xBF58476D1CE4E5B9) & ALL
    x = ((x ^ (x >> 27)) * 0x94D049BB133111EB) & ALL
    return x ^ (x >> 31)


def obvious(ids, k, h):
    """For each token of a piece, whether the next has no loss."""
    out = []
    for i in range(len(ids)):
        window = ids[i - h + 1 : i + 1] if i >= h - 1 else []
        value = 0
        for back, token in enumerate(reversed(window)):
            value += (token + 1) * pow(HASH_BASE, -back, 1 << 64)
        out.append(bool(window) and mixed(value & ALL) % k == 0)
    return out


@given(
    st.lists(st.lists(st.integers(0, 2**32 - 1), min_size=1, max_size=30), min_size=1, max_size=5),
    st.integers(2, 5),
    st.integers(1, 40),
)
def test_goldfish_is_its_obvious_twin(pieces, k, h):
    ids = np.array([token for piece in pieces for token in piece], np.int64)
    positions = np.concatenate([np.arange(len(piece)) for piece in pieces])
    assert goldfish(ids, positions, k, h).tolist() == [one for piece in pieces for one in obvious(piece, k, h)]


def test_the_same_passage_lacks_the_same_tokens_and_one_of_k():
    ids = np.random.default_rng(0).integers(0, 50_000, 40_000)
    mask = goldfish(ids, np.arange(len(ids)), 4, 13)
    assert abs(mask.mean() - 0.25) < 0.01
    moved = goldfish(np.concatenate([ids[:500], ids[100:300]]), np.arange(700), 4, 13)
    assert moved[500 + 12 :].tolist() == mask[112:300].tolist()


def test_a_rule_is_what_json_says():
    for loss in (LossRule(without=(5, 6, 7), k=4, h=13), LossRule(begin=(1, 2), end=(3,))):
        assert LossRule.from_json(loss.to_json()) == loss
