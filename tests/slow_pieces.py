"""Lines and paragraphs, and texts without some of them, in plain Python."""

from collections.abc import Sequence
from itertools import groupby, pairwise

import numpy as np
from numpy.typing import NDArray


def slow_pieces(text: str, of: str) -> list[tuple[int, int]]:
    """(first character, end) of the lines or paragraphs of a text."""
    lines, at = [], 0
    for line in text.split("\n"):
        lines.append((at, at + len(line)))
        at += len(line) + 1
    runs = [(blank, list(run)) for blank, run in groupby(lines, key=lambda span: not text[slice(*span)].strip())]
    filled = [run for blank, run in runs if not blank]
    return (
        [(run[0][0], run[-1][1]) for run in filled] if of == "paragraphs" else [span for run in filled for span in run]
    )


def slow_without(text: str, spans: Sequence[tuple[int, int]], gone: Sequence[bool] | NDArray[np.bool_]) -> str:
    """The text without some of its pieces: those that stay, and between each two the widest gap that was there."""
    stays = [i for i in range(len(spans)) if not gone[i]]
    if not stays:
        return "" if spans else text
    gaps = [text[one[1] : other[0]] for one, other in pairwise(spans)]
    made = text[: spans[0][0]]
    for i, following in zip(stays, [*stays[1:], None]):
        made += text[slice(*spans[i])]
        if following is not None:
            made += max(gaps[i:following], key=lambda gap: gap.count("\n"))
    return made + text[spans[-1][1] :]
