"""What other thresholds change: a pass over the codes of all documents."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from corpusmill.text.compile import kernel

SIGNAL_CODES = 256


class Moves(NamedTuple):
    """Documents that other thresholds keep, or drop, unlike the run.

    counts      (2, 2) newly kept and newly dropped: documents, and their tokens
    histograms  (2, rules, CODES) of both, how many documents have each code of each rule
    """

    counts: NDArray[np.int64]
    histograms: NDArray[np.int64]


@kernel
def moves(
    codes: NDArray[np.uint8],
    reasons: NDArray[np.uint32],
    tokens: NDArray[np.int32],
    others: NDArray[np.bool_],
    moved: NDArray[np.int64],
    drops: NDArray[np.bool_],
) -> Moves:
    """Compare the verdicts of other thresholds with those of the run.

    codes    (documents, rules) between which edges of the rule the value is
    reasons  (documents,) the combination of rules for which the run dropped it; 0: it was kept
    tokens   (documents,)
    others   (combinations,) whether a rule that is not moved is in it
    moved    (m,) the rules that are moved
    drops    (m, CODES) whether they now drop a document with this code
    """
    counts, histograms = np.zeros((2, 2), np.int64), np.zeros((2, codes.shape[1], SIGNAL_CODES), np.int64)
    for at in range(len(codes)):
        dropped = others[reasons[at]]
        for m in range(len(moved)):
            dropped |= drops[m, codes[at, moved[m]]]
        if dropped != (reasons[at] != 0):
            side = 1 if dropped else 0
            counts[side, 0] += 1
            counts[side, 1] += tokens[at]
            for rule in range(codes.shape[1]):
                histograms[side, rule, codes[at, rule]] += 1
    return Moves(counts, histograms)


def warm_up() -> None:
    """Compile the kernel."""
    single = np.zeros(1, np.int64)
    codes, drops = np.zeros((1, 1), np.uint8), np.zeros((1, SIGNAL_CODES), np.bool_)
    moves(codes, single.astype(np.uint32), single.astype(np.int32), drops[0, :1], single, drops)
