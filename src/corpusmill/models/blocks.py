"""Which blocks of a page are worth keeping, by boosted trees, and of which type the page is.

Pages that look like those of the benchmarks of 2007 to 2022 have two stages of trees. The first gives each block a
probability from what is measured of it alone; the second sees those of its neighbours too. There are two second stages:
one leaves readers' comments out, one keeps them. All other pages have trees of their own, learned from pages of 2025 of
seven types, where posts of a forum and the items of a list are the text. Trees on measures of the whole page say which
pages are older, and the type.

The model's file holds arrays (`arrays.write_arrays`): the tables of weights as `hint_keys` and `hint_values`,
`word_keys` and `word_values` (hashes and numbers, no words); for each of STAGES the arrays of `Trees`, as
`first_column` and so on; and `card`, JSON in UTF-8.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from corpusmill.errors import AssetError
from corpusmill.models.model_file import read_model, write_model
from corpusmill.text.array_types import Bools, Float32s, Int32s
from corpusmill.text.blocks.columns import COLUMNS, columns
from corpusmill.text.blocks.context import ALL_COLUMNS, add_context
from corpusmill.text.blocks.names import IN_COMMENTS, Weights, table
from corpusmill.text.blocks.page import FLAGS, INNER, BlockPage
from corpusmill.text.blocks.scan import scan
from corpusmill.text.blocks.summary import PAGE_COLUMNS, page_columns
from corpusmill.text.blocks.trees import Trees, probabilities, several_probabilities

BLOCKS_MODEL = "blocks"  # ships; scripts/train_blocks.py makes it
FORMAT = 3  # changes if the same file would give other probabilities
PAGE_TYPES = ("article", "collection", "documentation", "forum", "listing", "product", "service")
QUESTIONS = ("older", *PAGE_TYPES)  # what the stage `page` is asked of a page
STAGES = ("first", "drop", "keep", "modern", "page")  # the second for comments: drop, the third for comments: keep
TABLES = {"hint_keys": np.uint32, "hint_values": np.float32, "word_keys": np.uint32, "word_values": np.float32}
TYPES = Trees(np.int16, np.float32, np.int16, np.int16, np.float32, np.int16)  # type: ignore[arg-type]
WIDTHS = {"first": COLUMNS, "drop": ALL_COLUMNS, "keep": ALL_COLUMNS, "modern": COLUMNS, "page": PAGE_COLUMNS}
PARTS = {**TABLES, **{f"{stage}_{part}": kind for stage in STAGES for part, kind in TYPES._asdict().items()}}
TABLE_BITS = 13  # bits; at most half of the slots of a table are taken
POSSIBLE = 0.02  # of a block that is kept if the structure of the text asks for it
Comments = Literal["keep", "drop"]
Favour = Literal["precision", "balance", "recall"]
THRESHOLDS: Mapping[Favour, float] = {"precision": 0.65, "balance": 0.45, "recall": 0.2}
# Probability that a page is an older one, up to which the trees of modern pages judge it, and from which those of older
# pages do. Between, both do: on pages that nobody trained on the mean of their log odds is better than either.
MODERN, OLDER = 0.3, 0.7
# Expected F1 of a page for which THRESHOLDS hold; where they are lowered, a block needs less in proportion, down to a
# share: an older page without text has hardly a block that is likelier.
Lowered = tuple[float, float]
UNSURE: Lowered = (0.75, 0.45)
BEST_F1: Lowered = (2 * THRESHOLDS["balance"], 0.0)


@dataclass(frozen=True)
class BlocksModel:
    """The trees, and the weights of words."""

    card: Mapping[str, Any]
    hints: Weights
    words: Weights
    stages: Mapping[str, Trees]

    @classmethod
    def load(cls, path: Path) -> "BlocksModel":
        """Raises AssetError if the file is not such a model, or has a format that this version cannot read."""
        card, arrays = read_model(path, "blocks", FORMAT, PARTS, "scripts/train_blocks.py makes it.")
        hints, words = (
            table(zip(arrays[f"{kind}_keys"].tolist(), arrays[f"{kind}_values"].tolist()), TABLE_BITS, np.float32)
            for kind in ("hint", "word")
        )
        stages = {
            stage: Trees(*(np.array(arrays[f"{stage}_{part}"], type) for part, type in TYPES._asdict().items()))
            for stage in STAGES
        }
        for stage, trees in stages.items():
            questions = len(QUESTIONS) if stage == "page" else 1
            if not _fits(trees, WIDTHS[stage]) or len(trees.root) % questions:
                raise AssetError(f"{path}: the trees of the stage {stage} are damaged. Get the model again.")
        return cls(card, hints, words, stages)

    def save(self, path: Path) -> None:
        arrays: dict[str, NDArray[Any]] = {}
        for kind, weights in (("hint", self.hints), ("word", self.words)):
            used = np.flatnonzero(weights.keys)
            order = used[np.argsort(weights.keys[used])]
            arrays[f"{kind}_keys"], arrays[f"{kind}_values"] = weights.keys[order], weights.values[order]
        for stage, trees in self.stages.items():
            arrays |= {f"{stage}_{part}": array for part, array in trees._asdict().items()}
        write_model(path, FORMAT, self.card, arrays)

    def scan(self, page: bytes) -> BlockPage:
        """The blocks of a page in UTF-8, with the weights of this model."""
        return scan(page, self.hints, self.words)

    def judge(self, raw: bytes, page: BlockPage, comments: Comments = "drop") -> "Judged":
        """What the trees say of a page.

        raw    the page in UTF-8, of which `page` is the scan
        """
        if not len(page.blocks):
            return Judged(np.zeros(0, np.float32), "", False)
        features, around = columns(page, ALL_COLUMNS)
        whole = page_columns(raw, page, features)
        looks_older, *types = several_probabilities(self.stages["page"], whole, len(QUESTIONS))[0].tolist()
        page_type = PAGE_TYPES[int(np.argmax(types))]
        if page_type == "documentation":  # of which the older benchmarks have hardly any
            looks_older = 0.0
        older = looks_older > OLDER
        likely = None if older else probabilities(self.stages["modern"], features)
        if likely is None or looks_older > MODERN or comments == "keep":
            first = probabilities(self.stages["first"], features)
            add_context(page, around, first, features)
            second = probabilities(self.stages[comments], features)
            if likely is None:
                likely = second
            elif looks_older > MODERN:
                likely = between(likely, second)
            if comments == "keep":  # the modern trees have learned from texts without them
                likely = np.where(in_comments(page), np.maximum(likely, second), likely)
        return Judged(likely, page_type, older)


def between(one: Float32s, other: Float32s) -> Float32s:
    """The probabilities whose log odds are the mean of those of two others.

    >>> between(np.float32([0.5, 0.9]), np.float32([0.5, 0.1])).tolist()
    [0.5, 0.5]
    """
    both, neither = np.sqrt(one * other), np.sqrt((1 - one) * (1 - other))
    made: Float32s = both / np.maximum(both + neither, np.finfo(np.float32).tiny)
    return made


@dataclass(frozen=True)
class Judged:
    """What trees say of a page.

    likely      (blocks,) float32: how likely each block belongs to the text
    page_type   one of PAGE_TYPES; "" for a page without blocks
    older       whether the trees of older pages have judged it
    """

    likely: Float32s
    page_type: str
    older: bool

    @property
    def lowered(self) -> Lowered | None:
        """How `chosen` lowers the thresholds of the page."""
        return None if self.older else BEST_F1


def chosen(likely: Float32s, words: Int32s, favour: Favour = "balance", lowered: Lowered | None = None) -> Bools:
    """(blocks,) whether each block of a page is kept: those above the threshold, or else the most likely one.

    lowered   for pages of which the trees are unsure the threshold is lower: the one that makes the expected F1
              greatest is half of that F1 (Lipton, Elkan, Naryanaswamy 2014, arXiv:1402.1892)
    """
    share = 1.0
    if lowered is not None:
        sure, least = lowered
        share = min(1.0, max(least, expected_f1(likely, words) / sure))
    keep = likely > np.float32(THRESHOLDS[favour] * share)
    if len(likely) and not keep.any():
        keep = likely >= likely.max()
    return keep


def possible(page: BlockPage, likely: Float32s, comments: Comments = "drop") -> Bools:
    """(blocks,) what the structure of the text may ask for: all but what is surely no part of it, and comments."""
    may = likely >= np.float32(POSSIBLE)
    return may & ~in_comments(page) if comments == "drop" else may


def in_comments(page: BlockPage) -> Bools:
    """(blocks,) whether each is among readers' comments, by the names of the elements around it."""
    inside: Bools = (page.elements[page.blocks[:, INNER], FLAGS] & IN_COMMENTS) != 0
    return inside


def expected_f1(likely: Float32s, words: Int32s) -> float:
    """The greatest F1, in words, that is expected of any choice among the blocks of a page; 0 if it has no text.

    >>> round(expected_f1(np.float32([1, 0.5, 0]), np.int32([9, 9, 9])), 4)
    0.8571
    """
    order = np.argsort(-likely, kind="stable")
    chosen_words = np.cumsum(words[order], dtype=np.float64)
    right = np.cumsum(words[order] * likely[order].astype(np.float64))
    return float((2 * right / (chosen_words + right[-1])).max()) if len(order) and right[-1] > 0 else 0.0


def _fits(trees: Trees, count: int) -> bool:
    """Whether trees can be evaluated on rows of that many columns: all numbers are within bounds, and every child comes
    after its parent, so that each walk ends."""
    nodes, leaves = len(trees.column), len(trees.leaf)
    if not all(array.ndim == 1 for array in trees) or any(len(array) != nodes for array in trees[1:4]):
        return False
    children = np.concatenate([trees.left, trees.right])
    after = np.tile(np.arange(nodes), 2)
    inner = children >= 0
    return bool(
        ((trees.column >= 0) & (trees.column < count)).all()
        and ((children >= -leaves) & (children < nodes)).all()
        and (children[inner] > after[inner]).all()
        and ((trees.root >= -leaves) & (trees.root < nodes)).all()
    )
