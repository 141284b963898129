"""The pass that counts what other thresholds change, beside the obvious one."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from corpusmill.inspect.moves import SIGNAL_CODES, moves


def slow(codes, reasons, tokens, others, moved, drops):
    counts, histograms = np.zeros((2, 2), int), np.zeros((2, codes.shape[1], SIGNAL_CODES), int)
    for row, reason, length in zip(codes, reasons, tokens):
        was = bool(reason)
        now = bool(others[reason]) or any(drops[m][row[rule]] for m, rule in enumerate(moved))
        if now != was:
            counts[int(now)] += [1, length]
            for rule, code in enumerate(row):
                histograms[int(now), rule, code] += 1
    return counts, histograms


@given(st.integers(0, 2**32 - 1), st.integers(0, 60), st.integers(1, 5), st.integers(0, 3))
def test_moves_are_those_of_the_obvious_loop(seed, documents, rules, chosen):
    draw = np.random.default_rng(seed)
    codes = draw.choice([0, 1, 7, 254, 255], (documents, rules)).astype(np.uint8)
    others = np.append(False, draw.random(4) < 0.5)
    reasons = draw.integers(0, len(others), documents).astype(np.uint32)
    tokens = draw.integers(0, 2**31 - 1, documents).astype(np.int32)
    moved = draw.choice(rules, min(chosen, rules), replace=False).astype(np.int64)
    drops = draw.random((len(moved), SIGNAL_CODES)) < 0.5
    given = (codes, reasons, tokens, others, moved, drops)
    for fast, obvious in zip(moves(*given), slow(*given)):
        assert np.array_equal(fast, obvious)
